"""The rules, one row each: a code of the catalogue and the finding that makes it a refusal.

A finding looks at the question alone and returns the parameters of the message, or None. What differs between
backends and targets comes as sets, from the table. What depends on the data (NaN, counts of scales) is no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from qcore import errors
from qcore.capability.families import LOOKUP, MINIFLOATS, PACKED, U32, WIDE_SCALES, Family, Form
from qcore.capability.problem import FLOATS, Problem
from qcore.scheme import QuantMode, QuantValue, ScaleDtype

Params = Mapping[str, Any]
Finding = Callable[[Problem], Params | None]

_NOTHING: Final[Params] = {}


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason to refuse."""

    code: str
    finds: Finding
    variant: str | None = None

    def refusal(self, problem: Problem) -> errors.QuantError | None:
        """Build the error of this rule for a question, or None where it has nothing to say."""
        params = self.finds(problem)
        return None if params is None else errors.build(self.code, variant=self.variant, **params)


# ---- rules over sets: the table says which -----------------------------------------------------------------------


def within(code: str, *families: Family, variant: str | None = None, reason: str = "") -> Rule:
    """Make the rule that refuses what lies in one of the families."""
    return Rule(
        code, lambda p: _about(p, reason) if any(p in family for family in families) else None, variant
    )


def outside(code: str, *families: Family, variant: str | None = None, reason: str = "") -> Rule:
    """Make the rule that refuses what lies in none of the families."""
    return Rule(
        code, lambda p: None if any(p in family for family in families) else _about(p, reason), variant
    )


def misread(reason: str, *families: Family) -> Rule:
    """Make the rule for what a target takes without complaint and reads as something else."""
    return within("unsupported-scheme", *families, variant="misread", reason=reason)


def lacks(operation: str) -> Rule:
    """Make the rule for an operation that a place does not have at all."""
    return Rule(
        "operation-not-implemented",
        lambda p: {"operation": p.op, "backend": p.place} if p.op == operation else None,
    )


def only(*operations: str) -> Rule:
    """Make the rule for places that have no operations but these."""
    return Rule(
        "operation-not-implemented",
        lambda p: {"operation": p.op, "backend": p.place} if p.op not in operations else None,
    )


def one_of_forms(forms: tuple[Form, ...], reason: str, ranks: tuple[int, int]) -> tuple[Rule, ...]:
    """Make the rules of an exchange format: a form for the scheme, whole blocks in a row, a rank within limits."""

    def no_form(p: Problem) -> Params | None:
        return None if any(form.takes(p) for form in forms) else _about(p, reason)

    def short_rows(p: Problem) -> Params | None:
        multiples = [form.multiple(p) for form in forms if form.takes(p)]
        if p.line is None or not multiples or any(p.line % multiple == 0 for multiple in multiples):
            return None
        return _about(p, f"rows of {p.line} values are not a multiple of {min(multiples)}")

    def wrong_rank(p: Problem) -> Params | None:
        if p.shape is None or ranks[0] <= len(p.shape) <= ranks[1]:
            return None
        wanted = str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]} to {ranks[1]}"
        return _about(p, f"a quantized tensor has {wanted} dimensions there, this one has {len(p.shape)}")

    return tuple(
        Rule("unsupported-scheme", finding, "no-form") for finding in (no_form, wrong_rank, short_rows)
    )


def _about(p: Problem, reason: str = "") -> Params:
    """Everything a message about a scheme may want to name."""
    scheme = p.scheme
    return {
        "scheme": scheme.debug(),
        "value": scheme.value.debug(),
        "store": scheme.store.debug(),
        "dtype": scheme.scale_dtype.debug(),
        "target": p.place,
        "reason": reason,
    }


# ---- meaningless anywhere ----------------------------------------------------------------------------------------


def _native_packing(p: Problem) -> Params | None:
    packs = p.scheme.store.kind in PACKED and p.scheme.value is not QuantValue.E2M1
    return {"value": p.scheme.value.debug()} if packs else None


def _lookup_minifloat(p: Problem) -> Params | None:
    meant = p.scheme.mode in LOOKUP and p.scheme.value in MINIFLOATS
    return {"value": p.scheme.value.debug()} if meant else None


def _global_not_f32(p: Problem) -> Params | None:
    level = p.scheme.global_scale_dtype
    return None if level in (None, ScaleDtype.F32) else {"scheme": p.scheme.debug()}


def _block_rank(p: Problem) -> Params | None:
    block = p.scheme.block_size
    if block is None or p.rank is None or p.shape is None or len(block) <= p.rank:
        return None
    return {"block": block.debug(), "rank": len(p.shape)}


def _packing_axis(p: Problem) -> Params | None:
    if p.rank is None or p.shape is None or p.scheme.store.dim < p.rank:
        return None
    return {"dim": p.scheme.store.dim, "rank": len(p.shape)}


NATIVE_PACKING: Final = Rule("native-packing-unsupported", _native_packing)
MEANINGLESS: Final = (
    NATIVE_PACKING,
    Rule("lookup-minifloat", _lookup_minifloat),
    Rule("global-scale-not-f32", _global_not_f32),
    Rule("block-rank", _block_rank),
    Rule("packing-axis", _packing_axis),
)
"""What means nothing on any backend; it can be written down and asked about, not used."""


# ---- arguments ---------------------------------------------------------------------------------------------------


def _input_dtype(p: Problem) -> Params | None:
    return None if p.dtype in FLOATS.values() else {"dtype": p.dtype}


def _needs_f32(p: Problem) -> Params | None:
    return {"dtype": p.dtype} if p.dtype != "F32" else None


def _params_and_calibration(p: Problem) -> Params | None:
    return {"calibration": p.calibration} if p.params and p.calibration is not None else None


def _needs_table(p: Problem) -> Params | None:
    return _NOTHING if p.scheme.mode is QuantMode.LOOKUP and not p.codebook else None


def _table_without_lookup(p: Problem) -> Params | None:
    return _NOTHING if p.scheme.mode is not QuantMode.LOOKUP and p.codebook else None


def _missing_global(p: Problem) -> Params | None:
    return _NOTHING if p.params and p.scheme.is_two_level and p.global_given is False else None


def _superfluous_global(p: Problem) -> Params | None:
    return _NOTHING if p.params and not p.scheme.is_two_level and p.global_given else None


INPUT_DTYPE: Final = Rule("input-dtype", _input_dtype)
NEEDS_F32: Final = Rule("ndarray-needs-f32", _needs_f32)
PARAMS_AND_CALIBRATION: Final = Rule("params-and-calibration", _params_and_calibration)
NEEDS_TABLE: Final = Rule("lookup-needs-table", _needs_table)
DOES_NOT_TRAVEL: Final = Rule("lookup-does-not-travel", _needs_table)
LOOKUP_STAYS: Final = within("lookup-does-not-travel", Family(modes=LOOKUP))
TABLE_WITHOUT_LOOKUP: Final = Rule("table-without-lookup", _table_without_lookup)
MISSING_GLOBAL: Final = Rule("missing-global-scale", _missing_global)
SUPERFLUOUS_GLOBAL: Final = Rule("superfluous-global-scale", _superfluous_global)


# ---- calibration and scales --------------------------------------------------------------------------------------


def _absmean_two_level(p: Problem) -> Params | None:
    return _NOTHING if p.calibrating and p.calibration == "absmean" and p.scheme.is_two_level else None


def _two_level_block_dtype(p: Problem) -> Params | None:
    wide = p.scheme.is_two_level and p.scheme.scale_dtype in WIDE_SCALES
    return {"dtype": p.scheme.scale_dtype.debug()} if p.calibrating and wide else None


def _wide_two_level(p: Problem) -> Params | None:
    wide = p.scheme.is_two_level and p.scheme.scale_dtype in WIDE_SCALES
    return {"dtype": p.scheme.scale_dtype.debug()} if wide else None


def _ocp_rounding(p: Problem) -> Params | None:
    if p.scale_rounding not in ("floor", "even"):
        return None
    scheme = p.scheme
    fits = scheme.scale_dtype is ScaleDtype.UE8M0 and scheme.value in MINIFLOATS and scheme.mode not in LOOKUP
    return None if fits else {"rule": p.scale_rounding, "scheme": scheme.debug()}


def _ue8m0(p: Problem) -> Params | None:
    levels = (p.scheme.scale_dtype, p.scheme.global_scale_dtype)
    return _NOTHING if ScaleDtype.UE8M0 in levels else None


ABSMEAN_TWO_LEVEL: Final = Rule("absmean-two-level", _absmean_two_level)
TWO_LEVEL_BLOCK_DTYPE: Final = Rule("two-level-block-dtype", _two_level_block_dtype)
WIDE_TWO_LEVEL: Final = Rule("two-level-block-dtype", _wide_two_level)
OCP_ROUNDING: Final = Rule("scale-rounding-needs-ue8m0", _ocp_rounding)
UE8M0: Final = Rule("ue8m0-unsupported", _ue8m0)


# ---- geometry ----------------------------------------------------------------------------------------------------


def _not_divisible(p: Problem) -> Params | None:
    block = p.scheme.block_size
    if block is None or p.shape is None or len(block) > len(p.shape):
        return None
    extents = block.expand(len(p.shape))
    if all(dim % extent == 0 for dim, extent in zip(p.shape, extents, strict=True)):
        return None
    return {"dims": str(list(p.shape)), "block": str(list(extents))}


def _ragged_calibration(p: Problem) -> Params | None:
    return _not_divisible(p) if p.calibrating else None


def _u32_line(p: Problem) -> Params | None:
    per_word = p.scheme.num_quants
    if p.scheme.store.kind not in U32 or p.line is None or p.line % per_word == 0:
        return None
    return {"dim": p.line, "per_word": per_word, "target": p.place}


def _block_not_packed(p: Problem) -> Params | None:
    block = p.scheme.block_size
    if block is None or p.scheme.num_quants == 1:
        return None
    last = (tuple(block) or (1,))[-1]
    return {"div": p.scheme.num_quants, "block_size": last} if last % p.scheme.num_quants else None


def _sub_byte(p: Problem) -> Params | None:
    return _NOTHING if p.scheme.store.kind == "native" and p.scheme.value.bits < 8 else None


def _packed_outside(p: Problem) -> Params | None:
    return _NOTHING if p.scheme.store.kind in U32 and p.scheme.store.dim > 0 else None


def _lookup_not_u32(p: Problem) -> Params | None:
    other = p.scheme.mode in LOOKUP and p.scheme.store.kind not in U32
    return {"store": p.scheme.store.debug()} if other else None


NOT_DIVISIBLE: Final = Rule("not-divisible", _not_divisible)
RAGGED_CALIBRATION: Final = Rule("not-divisible", _ragged_calibration)
U32_LINE: Final = Rule("u32-line", _u32_line)
FLAT_U32_LINE: Final = Rule("u32-line", _u32_line, "flat")
BLOCK_NOT_PACKED: Final = Rule("block-not-packed", _block_not_packed)
SUB_BYTE: Final = Rule("native-sub-byte", _sub_byte)
PACKED_OUTSIDE: Final = Rule("packing-not-innermost", _packed_outside)
LOOKUP_NOT_U32: Final = Rule("lookup-needs-u32", _lookup_not_u32)
