"""What a call asks for, settled: words read, a preset's implications applied, nothing left to default."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple, Self

from qcore import errors
from qcore.calibration import methods
from qcore.capability import BackendRow, Problem, Verdict, backend_row, check_problem, tied_scheme
from qcore.plan import ROUNDINGS, SCALE_RULES, Plan, make_plan
from qcore.scheme import Preset, QuantScheme
from qcore.scheme.codebook import Codebook
from qcore.scheme.resolve import resolve
from qcore.tensor.tables import check_table, table_for

_SCHEMES: Final = (str, QuantScheme, Preset)
_CODEBOOKS: Final = (type(None), str, Codebook)
NONFINITE: Final = ("raise", "saturate")
TIED: Final = ("row",)
EXACT: Final = "exact"


@dataclass(frozen=True, slots=True)
class Options:
    """Settled options of one quantization."""

    scheme: QuantScheme
    row: BackendRow
    method: methods.Method
    explicit: bool
    codebook: Codebook | None
    rounding: str
    scale_rounding: str
    tied: str | None
    nonfinite: str
    threads: int | None
    arithmetic: str

    @property
    def is_plain_minmax(self) -> bool:
        """Whether measuring, solving and encoding fold into one pass."""
        return self.method.row.measure == "peaks" and self.tied is None

    def for_shape(self, shape: tuple[int, ...]) -> Self:
        """Give tied rows the blocks their scales are repeated over, where the scheme names none."""
        if self.tied is None:
            return self
        block = self.scheme.block_size
        if block is not None and len(block) > 1:
            raise errors.build("tied-needs-rows", block=block.debug())
        return replace(self, scheme=tied_scheme(self.scheme, shape))

    def check(
        self, shape: tuple[int, ...], dtype: str = "F32", *, op: str = "quantize", global_given: bool | None = None
    ) -> Verdict:
        """Ask the rules about this call."""
        problem = Problem(
            scheme=self.scheme, shape=shape, op=op, dtype=dtype,
            calibration=None if self.explicit else self.method.name, params=self.explicit, global_given=global_given,
            codebook=self.codebook is not None, scale_rounding=self.scale_rounding,
        )  # fmt: skip
        return check_problem(problem, self.row)

    def plan(self, shape: tuple[int, ...]) -> Plan:
        """The numbers of this call for its backend."""
        return make_plan(
            self.scheme, shape, codebook=self.codebook, rounding=self.rounding, scale_rounding=self.scale_rounding,
            zero_substitute=self.row.zero_substitute,
        )  # fmt: skip

    def record(self) -> dict[str, Any]:
        """What an output says of how it was made."""
        return {
            "calibration": "params" if self.explicit else str(self.method),
            "rounding": self.rounding,
            "scale_rounding": self.scale_rounding,
            "tied": self.tied,
            "nonfinite": self.nonfinite,
            "arithmetic": self.arithmetic,
        }


class Call(NamedTuple):
    """What a caller wrote, word for word, about one shape and dtype: the key under which the answer is remembered."""

    scheme: Any
    calibration: Any
    explicit: bool
    global_given: bool | None
    codebook: Any
    rounding: Any
    scale_rounding: Any
    tied: Any
    nonfinite: Any
    backend: Any
    threads: int | None
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A legal call: settled options, the plan, and what the output will say of how it was made."""

    options: Options
    plan: Plan
    record: dict[str, Any]


def prepare(call: Call) -> Prepared:
    """Settle and check a call. Calls made of words and values are remembered; errors never are."""
    known = isinstance(call.scheme, _SCHEMES) and isinstance(call.codebook, _CODEBOOKS)
    return _remembered(call) if known else _prepare(call)


def _prepare(call: Call) -> Prepared:
    options = settle(call).for_shape(call.shape)
    options.check(call.shape, call.dtype, global_given=call.global_given).demand()
    check_table(options.scheme, options.codebook)
    return Prepared(options, options.plan(call.shape), options.record())


_remembered = lru_cache(maxsize=4096)(_prepare)


def settle(call: Call) -> Options:
    """Read every word of a call; a preset fills what is not given."""
    found = resolve(call.scheme)
    preset = found.preset
    row = backend_row(call.backend)
    if call.explicit and call.calibration is not None:
        raise errors.build("params-and-calibration")
    table = call.codebook if call.codebook is not None else found.table_hint
    implied = preset.calibration if preset is not None and not call.explicit else None
    own = preset is not None and not call.explicit and call.calibration is None
    rule = call.scale_rounding
    if rule is None and preset is not None:
        rule = preset.scale_rounding
    return Options(
        scheme=found.scheme,
        row=row,
        method=methods.parse(call.calibration or implied or "minmax"),
        explicit=call.explicit,
        codebook=table_for(found.scheme, table),
        rounding=one_of("rounding", call.rounding, ROUNDINGS),
        scale_rounding=one_of("scale rounding", "up" if rule is None else rule, SCALE_RULES),
        tied=one_of("tie", call.tied, TIED) if call.tied is not None else preset.tied if preset is not None else None,
        nonfinite=one_of("nonfinite policy", call.nonfinite, NONFINITE),
        threads=call.threads,
        arithmetic=preset.arithmetic if own and preset is not None else EXACT,
    )


def one_of(kind: str, word: Any, choices: tuple[str, ...]) -> str:
    """Read one word of an option, in any case and with either dash."""
    spelled = word.strip().lower().replace("_", "-") if isinstance(word, str) else word
    if spelled not in choices:
        raise errors.build("unknown-name", kind=kind, name=str(word), choices=choices)
    return str(spelled)
