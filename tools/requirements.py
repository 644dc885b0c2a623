"""Print what pyproject.toml asks for, one requirement a line, for `pip install -r /dev/stdin`.

    python tools/requirements.py build run dev

`build` is the build system's list, `run` the library's own, anything else the extra of that name. With this
the packages stand in one place, and pip can fetch them without building the project first.
"""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(groups: list[str]) -> list[str]:
    tables = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    named = {
        "build": tables["build-system"]["requires"],
        "run": tables["project"]["dependencies"],
        **tables["project"]["optional-dependencies"],
    }
    unknown = sorted(set(groups) - set(named))
    if unknown:
        sys.exit(f"no such group in pyproject.toml: {', '.join(unknown)} (there are: {', '.join(named)})")
    return [requirement for group in groups for requirement in named[group]]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
