"""Whether the words of a recipe mean anything, asked once for each combination before any tensor is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.ops.options import Call, Options, settle
from qcore.recipe.rule import OPTIONS

if TYPE_CHECKING:
    from qcore.recipe.recipe import Recipe
    from qcore.recipe.rule import Rule

__all__ = ["ask_of", "hold_words", "settled"]


def ask_of(recipe: Recipe, rule: Rule | None, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``qcore.quantize`` that a rule (None: the default) stands for."""
    said = {key: recipe.settings[key] for key in OPTIONS if key in recipe.settings}
    scheme = recipe.default
    if rule is not None:
        said |= rule.options
        scheme = rule.scheme if rule.scheme is not None else scheme
    return {"scheme": scheme, **said, **overrides}


def settled(ask: Mapping[str, Any]) -> Options:
    """Read every word of such arguments."""
    given = {"rounding": "half-away", "nonfinite": "raise", "backend": "cpu", **ask}
    return settle(Call(**{**_NOTHING, **given}))


_NOTHING: dict[str, Any] = {**dict.fromkeys(Call._fields), "explicit": False, "shape": (), "dtype": "F32"}


def hold_words(recipe: Recipe) -> None:
    """Refuse words that mean nothing, naming the rule."""
    for number, rule in enumerate((None, *recipe.rules)):
        ask = ask_of(recipe, rule, {})
        place = f"{recipe.source}, " + ("default" if rule is None else f"rule {number}")
        if rule is not None and rule.keep:
            continue
        if ask["scheme"] is None:
            if rule is not None:
                raise errors.build(
                    "recipe-text", where=place, expected="a scheme, since there is no default", got="none"
                )
            continue
        try:
            settled(ask)
        except errors.QuantError as error:
            raise (error.for_tensor(place) if recipe.source else error) from None
