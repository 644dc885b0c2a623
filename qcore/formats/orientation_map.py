r"""A map of tensors: a TOML file of rules, each with names it is for, a new name, and whether to transpose.

::

    version = 1
    [[rule]]
    match = "bert.encoder.*.weight"      # a glob; or regex = "..." for a whole name
    rename = "encoder.*.weight"          # each * takes what the glob's star in its place has found; a regex's \1
    transpose = true                     # or false; where nothing is said, the layout decides

Rules are asked in order, and the first that matches a name decides about it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from qcore import errors

__all__ = ["Rule", "make_rule", "read_map", "unmatched"]

_VERSION: Final = 1
_KEYS: Final = ("match", "regex", "rename", "transpose", "note")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: the names it is for, what they become, and whether their axes change places."""

    text: str
    pattern: re.Pattern[str]
    rename: str | None
    transpose: bool | None
    is_glob: bool

    def target(self, name: str) -> str | None:
        """The name a tensor is given; None where the rule is not for it."""
        found = self.pattern.fullmatch(name)
        if found is None or self.rename is None:
            return None if found is None else name
        if not self.is_glob:
            return found.expand(self.rename)
        parts = self.rename.split("*")
        return parts[0] + "".join(star + part for star, part in zip(found.groups(), parts[1:], strict=False))


def make_rule(said: Mapping[str, Any], where: str) -> Rule:
    """Read one rule, of a map or of a recipe.

    Parameters
    ----------
    said
        ``match`` or ``regex``, and what else the rule says.
    where
        How a message names the place.

    Examples
    --------
    >>> make_rule({"match": "model.*.weight", "rename": "*.weight"}, "rule 1").target("model.fc.weight")
    'fc.weight'
    """
    for key in said:
        if key not in _KEYS:
            raise _refusal(where, f"keys among {', '.join(_KEYS)}", repr(key))
    if ("match" in said) == ("regex" in said):
        raise _refusal(where, "match or regex", "both" if "match" in said else "neither")
    for key in ("match", "regex", "rename", "note"):
        if key in said and not isinstance(said[key], str):
            raise _refusal(where, f"a text for {key}", repr(said[key]))
    transpose, rename = said.get("transpose"), said.get("rename")
    if transpose is not None and not isinstance(transpose, bool):
        raise _refusal(where, "true or false for transpose", repr(transpose))
    is_glob = "match" in said
    text: str = said["match"] if is_glob else said["regex"]
    try:
        pattern = re.compile(_from_glob(text) if is_glob else text)
    except re.error as problem:
        raise _refusal(where, f"a regular expression ({problem})", repr(text)) from None
    if rename is not None:
        _hold_rename(rename, pattern, is_glob=is_glob, where=where)
    return Rule(text, pattern, rename, transpose, is_glob)


def _hold_rename(rename: str, pattern: re.Pattern[str], *, is_glob: bool, where: str) -> None:
    if is_glob:
        stars = rename.count("*")
        # without a star every match would be given the same name: right for one tensor only, and held elsewhere
        if stars not in (0, pattern.groups):
            raise _refusal(where, f"{pattern.groups} stars in rename, as in match", str(stars))
        return
    try:
        pattern.sub(rename, "")  # reads the template whether or not the pattern matches
    except (re.error, IndexError) as problem:
        raise _refusal(where, f"groups of its regex in rename ({problem})", repr(rename)) from None


def _from_glob(glob: str) -> str:
    """A glob as a regular expression whose groups are the stars."""
    return "".join("(.*)" if c == "*" else "." if c == "?" else re.escape(c) for c in glob)


def read_map(path: Path) -> tuple[Rule, ...]:
    """Read a map from a TOML file.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InvalidSchemeError
        ``option-value``, naming the rule and what it should say.
    """
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise _refusal(str(path), "TOML", str(problem)) from None
    rules = said.pop("rule", [])
    version = said.pop("version", _VERSION)
    if version != _VERSION:
        raise _refusal(str(path), f"version = {_VERSION}", repr(version))
    if said or not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise _refusal(
            str(path), "version and [[rule]] alone", ", ".join(sorted(said)) or "rules that are no tables"
        )
    return tuple(make_rule(rule, f"{path}, rule {number}") for number, rule in enumerate(rules, 1))


def unmatched(rules: Iterable[Rule], names: Iterable[str]) -> tuple[str, ...]:
    """The rules that no name matches: a mistake more often than a wish."""
    known = tuple(names)
    return tuple(rule.text for rule in rules if not any(rule.pattern.fullmatch(name) for name in known))


def _refusal(where: str, expected: str, got: str) -> errors.QuantError:
    return errors.build("option-value", option=where, expected=expected, got=got)
