"""The project's own source as data, for the tests of its house rules."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BUILT = {"__pycache__", "_v2", "_v3", "_v4", "_base", "_asan", "_build", "build"}


def files(folder: str, *suffixes: str) -> list[Path]:
    """Files under a folder of the repository that people wrote, not the build."""
    return sorted(
        path
        for path in (ROOT / folder).rglob("*")
        if path.suffix in suffixes and path.is_file() and not BUILT.intersection(path.relative_to(ROOT).parts)
    )


def named(path: Path) -> str:
    """A file as the repository names it."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def nodes(folder: str, *kinds: type[ast.AST]) -> Iterator[tuple[Path, ast.AST]]:
    """Every node of some kinds in the Python files of a folder."""
    for path in files(folder, ".py"):
        for node in ast.walk(tree(path)):
            if isinstance(node, kinds):
                yield path, node


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of a name or attribute, "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def in_fresh_python(code: str, *flags: str) -> str:
    """What a new interpreter prints."""
    result = subprocess.run(
        [sys.executable, *flags, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()
