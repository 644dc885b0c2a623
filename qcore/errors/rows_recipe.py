"""Rows of recipes and of the choice of schemes for a model."""

from __future__ import annotations

from qcore.errors.base import ErrorDoc, InvalidSchemeError

__all__ = ["ROWS"]

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="recipe-text",
        family=InvalidSchemeError,
        message="{where}: expected {expected}, got {got}",
        cause="A recipe says nothing that is read over: a mistyped key would otherwise change a model silently.",
        when="Reading a recipe that is no TOML, has other keys, or says what no rule can mean.",
        solutions=(
            "Write what the message expects at the place it names.",
            'Begin with version = 1, default = "int4-b32" and one [[rule]] with match and action = "keep".',
        ),
        refs=("scheme-text", "unknown-name"),
    ),
    ErrorDoc(
        code="recipe-refused",
        family=InvalidSchemeError,
        message="{count} of {total} tensors are refused: {shown}",
        cause="Each of these tensors is given a scheme that cannot be used for it; nothing was written.",
        when="quantize and check with schemes that several tensors of a file cannot take.",
        solutions=(
            'Keep them as floats: a rule with action = "keep" before the others, or --exclude.',
            "Keep whatever cannot be quantized: --on-invalid float.",
            "See each refusal with what to do: qcore check FILE --recipe R.toml.",
        ),
        refs=("recipe-text", "recipe-tied-apart"),
    ),
    ErrorDoc(
        code="recipe-tied-apart",
        family=InvalidSchemeError,
        message="the tied tensors {tie} do not get the same scheme: {names}",
        cause="Runtimes fuse these tensors into one, and one tensor has one scheme.",
        when='A recipe with ties = ["qkv", "gate-up"] whose rules tell the tensors of one group apart.',
        solutions=(
            "Give all of them the same rule, with a glob or a regex that matches each.",
            "Strike the kind from ties, if what loads the model does not fuse them.",
        ),
        refs=("recipe-refused",),
    ),
)
