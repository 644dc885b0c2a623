"""Typer's side of the program: a group whose commands are words until one is run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from qcore import __version__
from qcore.cli import output
from qcore.cli.settings import merge, shared_options
from qcore.cli.table import COMMANDS, Command

__all__ = ["UsageError", "application", "build"]

# Typer carries click's exceptions, under its own roof in newer versions; this is their base, wherever it lives.
UsageError: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
_ALWAYS = ("json", "verbose", "quiet")
_HELP = {"help_option_names": ["-h", "--help"]}
_EPILOG = (
    "Exit codes: 0 ok, 1 unexpected, 2 usage, 3 scheme refused, 4 input unreadable or corrupt, 5 check failed, \
6 device unavailable, 7 some tensors failed, 130 interrupted."
)


class _Commands(TyperGroup):
    """A group that lists the table and imports a command's module when it is run."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        row = COMMANDS.get(cmd_name)
        return None if row is None else _command(row)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, row.summary) for row in COMMANDS.values()])


def build() -> Any:
    """Build the program, ready to be called with words."""
    return get_command(application())


def application() -> typer.Typer:
    """Build Typer's application."""
    app = typer.Typer(
        cls=_Commands,
        help="Quantize, dequantize and bit-pack tensors under Burn's quantization schemes, right to the last bit.",
        epilog=_EPILOG,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_HELP,
    )
    app.callback()(_with_shared(_root, tuple(inspect.signature(shared_options).parameters)))
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"qcore {__version__}")
        raise typer.Exit


def _root(
    ctx: typer.Context,
    shared: dict[str, Any],
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    ctx.obj = shared


def _command(row: Command) -> Any:
    run: Callable[..., output.Result] = import_module(row.module).run

    def command(ctx: typer.Context, shared: dict[str, Any], **given: Any) -> None:
        settings = merge(ctx.obj or {}, shared)
        result = run(settings, **given)
        for note in result.notes:
            settings.note(note)
        output.write(result, command=row.name, as_json=settings.json)
        raise typer.Exit(result.code)

    wrapped = _with_shared(command, (*row.shared, *_ALWAYS), own=run)
    examples = "\n".join(f"  {example}" for example in row.examples)
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    text = f"{row.summary}\n\n{inspect.getdoc(run) or ''}"
    single.command(row.name, help=text, epilog=f"\b\nExamples:\n{examples}", context_settings=_HELP)(wrapped)
    return get_command(single)


def _with_shared(
    inner: Callable[..., Any], names: Sequence[str], *, own: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Give a callback the shared options of these names, and hand them over apart from its own."""
    declared = inspect.signature(shared_options, eval_str=True).parameters
    mine = [
        parameter
        for parameter in inspect.signature(own or inner, eval_str=True).parameters.values()
        if parameter.name not in ("ctx", "shared", "settings")
    ]

    def outer(ctx: typer.Context, **given: Any) -> Any:
        shared = {name: given.pop(name) for name in names}
        return inner(ctx, shared, **given)

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    taken = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in (*mine, *(declared[n] for n in names))
    ]
    outer.__signature__ = inspect.Signature([context, *taken])  # type: ignore[attr-defined]  # functions take attributes
    return outer
