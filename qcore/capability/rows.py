"""What a row of the table holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from qcore.capability.problem import OPS
from qcore.capability.rules import Rule

Rules = Mapping[str, tuple[Rule, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A place that can be asked about: what it is called and its ordered reasons to refuse, per operation.

    Parameters
    ----------
    name
        What it is called.
    summary
        One sentence.
    rules
        Rules per operation; the order decides which refusal comes first.
    aliases
        Other names.
    revision
        What the rules were taken from.
    survey_op
        The operation that a survey asks about.
    """

    name: str
    summary: str
    rules: Rules
    aliases: tuple[str, ...] = ()
    revision: str = "qcore"
    versioned: bool = False
    """Whether ``@version`` may follow the name."""
    survey_op: str = "load"


@dataclass(frozen=True, slots=True, eq=False)
class BackendRow(Row):
    """A place that runs.

    Parameters
    ----------
    loader
        ``module:function`` of what opens the engine.
    zero_substitute
        What an effective scale of 0 becomes at use (an f32 number).
    loads_native
        Whether data that is loaded is brought into the Native store.
    exact_scale_count
        Whether explicit scales must be one per block, and one for all blocks is refused.
    has_devices
        Whether ``:`` and a device may follow the name.
    """

    loader: str = ""
    zero_substitute: float = 0.0
    loads_native: bool = False
    exact_scale_count: bool = False
    has_devices: bool = False
    survey_op: str = "quantize"


def per_op(default: tuple[Rule, ...] = (), **named: tuple[Rule, ...]) -> Rules:
    """Spell the rules of every operation out; those not named get the default."""
    return MappingProxyType({op: named.get(op, default) for op in OPS})
