"""``--scheme`` or ``--recipe``: what is asked for, and what a plan makes of a file, for check and quantize."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from qcore import errors
from qcore.cli.output import columns, human_bytes
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.recipe import Plan, Recipe

__all__ = ["RecipeOption", "SchemeOption", "asked_recipe", "describe_rules", "resolved_settings", "rule_lines"]

SchemeOption: TypeAlias = Annotated[
    str | None, typer.Option("--scheme", "-s", help="One scheme for all: its text or a preset's name.")
]
RecipeOption: TypeAlias = Annotated[
    Path | None, typer.Option("--recipe", "-r", help="A TOML file of rules; the first that matches a name decides.")
]


def asked_recipe(scheme: str | None, recipe: Path | None) -> Recipe:
    """The recipe that is asked for; one scheme for all is a recipe without rules."""
    from qcore.recipe import Recipe

    if (scheme is None) == (recipe is None):
        got = "neither" if scheme is None else "both"
        raise errors.build("option-value", option="--scheme or --recipe", expected="one of the two", got=got)
    return Recipe.load(recipe) if recipe is not None else Recipe.of(str(scheme))


def resolved_settings(plan: Plan, words: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The settings as they are in force, in the order of the documentation."""
    from qcore.recipe.words import ask_of, settled

    recipe = plan.recipe
    given = {key: value for key, value in words.items() if value is not None}
    if recipe.source:
        told = {key: value if isinstance(value, str) else "a table" for key, value in given.items()}
        return {
            "recipe": recipe.source, "recipe_digest": recipe.digest, "rules": len(recipe.rules), **told,
            "backend": settings.backend,
        }  # fmt: skip
    options = settled(ask_of(recipe, None, {**given, "backend": settings.backend}))
    book = options.codebook
    return {
        "scheme": str(options.scheme),
        "asked": recipe.default,
        "codebook": None if book is None else book.name or f"a table of {len(book.table)}",
        **options.record(),
        "backend": options.row.name,
    }


def rule_lines(plan: Plan) -> list[str]:
    """What each rule makes of the file, as a table."""
    rows = [
        (row.number or "", row.text, len(row.decisions), human_bytes(row.before), human_bytes(row.after),
         f"{row.bits_per_weight:.2f}" if row.decisions else "", row.scheme)
        for row in plan.by_rule()
        if row.number or row.decisions
    ]  # fmt: skip
    return columns(("rule", "for", "tensors", "before", "after", "bits/w", "becomes"), rows, right="rlrrrrl")


def describe_rules(plan: Plan) -> list[dict[str, Any]]:
    """The same as ``--json`` tells it."""
    return [
        {
            "rule": row.number or None,
            "for": row.text,
            "becomes": row.scheme,
            "tensors": [decision.name for decision in row.decisions],
            "nbytes_before": row.before,
            "nbytes_after": row.after,
            "bits_per_weight": round(row.bits_per_weight, 4),
        }
        for row in plan.by_rule()
    ]
