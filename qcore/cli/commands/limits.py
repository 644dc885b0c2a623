"""``qcore limits``: what a file may ask for at most."""

from __future__ import annotations

from dataclasses import asdict

from qcore.cli.output import Result, columns
from qcore.cli.settings import Settings
from qcore.formats.limits import LIMITS


def run(settings: Settings) -> Result:
    """A limit whose ceiling is above its value is raised with --limit NAME=NUMBER, in Python with limits=."""
    rows = [
        (
            row.name,
            f"{row.value:,}",
            f"{row.ceiling:,}" if row.ceiling > row.value else "fixed",
            row.unit,
            row.breach,
            row.what,
        )
        for row in LIMITS.values()
    ]
    lines = columns(("limit", "value", "ceiling", "unit", "error", "of"), rows, right="lrr")
    return Result({"limits": [asdict(row) for row in LIMITS.values()]}, lines)
