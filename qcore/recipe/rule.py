"""One rule of a recipe: the names it is for, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from qcore import errors
from qcore.formats import orientation_map

__all__ = ["KEEP", "OPTIONS", "Rule"]

KEEP: Final = "keep"
QUANTIZE: Final = "quantize"
OPTIONS: Final = ("calibration", "scale_rounding", "rounding", "codebook", "tied", "nonfinite")
"""What ``qcore.quantize`` is told beside the scheme."""
_NAMING: Final = ("match", "regex", "rename", "transpose", "note")
_KEYS: Final = (*_NAMING, "action", "scheme", *OPTIONS)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``keep`` leaves a tensor as it is; ``scheme`` None stands for the recipe's default.

    Attributes
    ----------
    naming : orientation_map.Rule
        Matching, renaming and transposing: the rule of a map.
    options : mapping
        Words of ``qcore.quantize`` for this rule alone.

    Examples
    --------
    >>> rule = Rule.of(match="*.weight", scheme="int4-b32", calibration="mse")
    >>> rule.matches("fc.weight"), rule.matches("fc.bias"), dict(rule.options)
    (True, False, {'calibration': 'mse'})
    """

    naming: orientation_map.Rule
    keep: bool
    scheme: str | None
    note: str
    options: Mapping[str, str]

    @classmethod
    def of(cls, **said: Any) -> Rule:
        """Make a rule of what a ``[[rule]]`` of the file says."""
        return cls.read(said, "the rule")

    @classmethod
    def read(cls, said: Mapping[str, Any], where: str) -> Rule:
        """Read a rule; ``where`` is how a message names its place."""
        for key, value in said.items():
            if key not in _KEYS:
                raise refusal(where, f"keys among {', '.join(_KEYS)}", repr(key))
            if key != "transpose" and not isinstance(value, str):
                raise refusal(where, f"a text for {key}", repr(value))
        action = said.get("action", QUANTIZE)
        if action not in (KEEP, QUANTIZE):
            raise refusal(where, f'action = "{KEEP}" or "{QUANTIZE}"', repr(action))
        if action == KEEP and (extra := [key for key in ("scheme", *OPTIONS) if key in said]):
            raise refusal(where, "nothing about quantizing beside keep", ", ".join(extra))
        try:
            naming = orientation_map.make_rule({k: v for k, v in said.items() if k in _NAMING}, where)
        except errors.QuantError as error:
            raise refusal(where, str(error.params["expected"]), str(error.params["got"])) from None
        options = {key: said[key] for key in OPTIONS if key in said}
        return cls(naming, action == KEEP, said.get("scheme"), said.get("note", ""), options)

    @property
    def text(self) -> str:
        """The glob or the regular expression."""
        return self.naming.text

    def matches(self, name: str) -> bool:
        """Whether the rule is for a tensor of this name."""
        return self.naming.pattern.fullmatch(name) is not None

    def told(self) -> dict[str, Any]:
        """The rule as the file says it."""
        said: dict[str, Any] = {"match" if self.naming.is_glob else "regex": self.text}
        if self.keep:
            said["action"] = KEEP
        placed = {"scheme": self.scheme, "transpose": self.naming.transpose, "rename": self.naming.rename}
        said |= {key: value for key, value in placed.items() if value is not None}
        said |= self.options
        return said | ({"note": self.note} if self.note else {})


def refusal(where: str, expected: str, got: str) -> errors.QuantError:
    """The error of a text that is no recipe."""
    return errors.build("recipe-text", where=where, expected=expected, got=got)
