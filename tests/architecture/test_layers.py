"""Imports point down only."""

import subprocess
import sys
import tomllib
from pathlib import Path

import source


def _contracts():
    project = tomllib.loads((source.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return project["tool"]["importlinter"]["contracts"]


def test_the_import_contracts_hold():
    command = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [command, "--no-cache"], capture_output=True, text=True, cwd=source.ROOT, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_room_of_the_package_stands_on_a_floor():
    floors = {
        room.strip()
        for contract in _contracts()
        if contract["type"] == "layers" and "containers" not in contract
        for floor in contract["layers"]
        for room in floor.replace(":", "|").split("|")
    }
    rooms = {
        f"qcore.{path.stem}"
        for path in (source.ROOT / "qcore").iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and not path.stem.startswith("__")
    }
    assert rooms <= floors, f"give a floor in pyproject.toml to {sorted(rooms - floors)}"


def test_the_backends_do_not_know_each_other():
    (contract,) = [c for c in _contracts() if c.get("containers") == ["qcore.backends"]]
    backends = {
        path.name
        for path in (source.ROOT / "qcore" / "backends").iterdir()
        if (path / "__init__.py").exists()
    }
    siblings = {name.strip(" ()") for name in contract["layers"][0].split("|")}
    assert backends <= siblings
