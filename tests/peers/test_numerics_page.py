"""docs/numerics.md states measurements: they are measured again."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "numerics.md").read_text()


def test_the_table_of_scale_rules_is_what_the_tool_prints() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "measure_scale_rules.py"))
    table = [line for line in PAGE.splitlines() if line.startswith("| mxfp")]
    assert table == list(tool["rows"]())[2:]


def test_the_presets_take_the_best_rule_of_the_table() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "measure_scale_rules.py"))
    best = {"mxfp4": "even", "mxfp8": "up"}
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in best:
            measured = dict(zip(tool["RULES"], map(float, cells[2:]), strict=True))
            assert max(measured, key=measured.__getitem__) == best[cells[0]]
