"""``qcore gui``: the inspector, where it is installed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from qcore import errors
from qcore.cli.output import Result
from qcore.cli.settings import Settings


def run(
    settings: Settings,
    file: Annotated[Path | None, typer.Argument(help="File to open.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Open the weights that ship with qcore.")] = False,
    scheme: Annotated[str | None, typer.Option(help="Scheme to begin with.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Neither read nor write settings.")] = False,
    theme: Annotated[str, typer.Option(help="auto, light or dark.")] = "auto",
) -> Result:
    """Needs the extra gui: pip install qcore-quant[gui]. The command ends when the window is closed."""
    words = [] if file is None else [str(file)]
    words += [flag for flag, given in (("--sample", sample), ("--fresh", fresh)) if given]
    words += [] if scheme is None else ["--scheme", scheme]
    try:
        import_module("PyQt6.QtWidgets")
        import_module("pyqtgraph")
        app = import_module("qcore_inspector.app")
    except ImportError as problem:
        raise errors.build(
            "package-missing", package=problem.name or "PyQt6", purpose="the inspector (the extra gui)"
        ) from problem
    code = int(app.main([*words, "--theme", theme]))
    return Result({"closed": code == 0}, (), code)
