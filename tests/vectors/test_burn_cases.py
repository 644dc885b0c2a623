"""Burn's own numbers: every case that qcore can run, on every backend it belongs to."""

from pathlib import Path
from typing import Any

import pytest
from case_calls import CALLS
from case_language import CASES, STEPS, Machine, hold
from case_refusals import BY_ID

import qcore

NOT_COVERED = {
    line
    for line in (Path(__file__).parent / "not_covered.txt").read_text().splitlines()
    if line and not line.startswith("#")
}
KINDS = {"qfloat": "QTensor", "float": "ndarray"}
COVERED = [case for case in CASES if case["id"] not in NOT_COVERED]


def backends_of(case: dict[str, Any]) -> list[str]:
    """What Burn's CPU backend pins must hold on ours of that name too; everything holds on the general ones."""
    theirs = "ndarray" in case["backends"] and (case["class"] != "error" or "inputs" in case)
    return ["cpu", "reference", *(["burn-ndarray"] if theirs else [])]


RUNS = [
    pytest.param(case, backend, id=f"{case['id']}-{backend}")
    for case in COVERED
    for backend in backends_of(case)
]


@pytest.mark.parametrize(("case", "backend"), RUNS)
def test_a_case_of_burn_gives_what_burn_expects(case: dict[str, Any], backend: str) -> None:
    if call := BY_ID.get(case["id"]) or (CALLS.get(case["op"]) if "steps" not in case else None):
        call(case, backend)
        return
    machine = Machine(case, backend)
    env = machine.run(case["steps"])
    for expectation in case["expected"]:
        hold(expectation, env)
        if kind := KINDS.get(expectation.get("kind", "")):
            assert machine.kinds[expectation["var"]].__name__ == kind


def test_covered_and_not_covered_cases_are_exactly_the_file() -> None:
    ids = [case["id"] for case in CASES]
    assert len(ids) == len(set(ids))
    assert set(ids) >= NOT_COVERED
    runnable = {
        case["id"] for case in COVERED if case["id"] in BY_ID or case["op"] in CALLS or "steps" in case
    }
    assert runnable | NOT_COVERED == set(ids)
    assert not runnable & NOT_COVERED


@pytest.mark.parametrize("case", [c for c in CASES if c["id"] in NOT_COVERED], ids=lambda case: case["id"])
def test_nothing_here_could_run_what_is_not_covered(case: dict[str, Any]) -> None:
    assert case["id"] not in BY_ID
    missing = {step["op"] for step in case.get("steps", ())} - set(STEPS) or {case["op"]} - set(CALLS)
    callable_here = {op for op in missing if hasattr(qcore.QTensor, op) or hasattr(qcore, op)}
    assert missing
    assert not callable_here
