"""What a call asks for, settled: words read, a preset's implications applied, nothing left to default."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Self

from qcore import errors
from qcore.calibration import methods
from qcore.capability import BackendRow, Problem, Verdict, backend_row, check_problem, tied_scheme
from qcore.layout.dims import whole_number
from qcore.plan import ROUNDINGS, SCALE_RULES, Plan, make_plan
from qcore.scheme import QuantScheme
from qcore.scheme.codebook import Codebook
from qcore.scheme.resolve import resolve
from qcore.tensor.loading import table_for

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


def settle(
    scheme: Any,
    *,
    calibration: Any,
    params: Any,
    codebook: Any,
    rounding: Any,
    scale_rounding: Any,
    tied: Any,
    nonfinite: Any,
    backend: Any,
    threads: Any,
) -> Options:
    """Read every word of a call; a preset fills what is not given."""
    found = resolve(scheme)
    preset = found.preset
    row = backend_row(backend)
    explicit = params is not None
    if explicit and calibration is not None:
        raise errors.build("params-and-calibration")
    table = codebook if codebook is not None else found.table_hint
    implied = preset.calibration if preset is not None and not explicit else None
    arithmetic = preset.arithmetic if preset is not None and not explicit and calibration is None else EXACT
    rule = scale_rounding if scale_rounding is not None else preset.scale_rounding if preset is not None else None
    return Options(
        scheme=found.scheme,
        row=row,
        method=methods.parse(calibration or implied or "minmax"),
        explicit=explicit,
        codebook=table_for(found.scheme, table),
        rounding=one_of("rounding", rounding, ROUNDINGS),
        scale_rounding=one_of("scale rounding", "up" if rule is None else rule, SCALE_RULES),
        tied=_tied(tied, preset.tied if preset is not None else None, explicit),
        nonfinite=one_of("nonfinite policy", nonfinite, NONFINITE),
        threads=_threads(threads),
        arithmetic=arithmetic,
    )


def one_of(kind: str, word: Any, choices: tuple[str, ...]) -> str:
    """Read one word of an option, in any case and with either dash."""
    spelled = word.strip().lower().replace("_", "-") if isinstance(word, str) else word
    if spelled not in choices:
        raise errors.build("unknown-name", kind=kind, name=str(word), choices=choices)
    return str(spelled)


def _tied(given: Any, implied: str | None, explicit: bool) -> str | None:
    if given is not None:
        return one_of("tie", given, TIED)
    return implied


def _threads(threads: Any) -> int | None:
    if threads is None:
        return None
    count = whole_number(threads)
    if count is None or count < 1:
        raise errors.build("option-value", option="threads", expected="a whole number from 1", got=str(threads))
    return count
