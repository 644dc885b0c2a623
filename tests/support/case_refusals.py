"""Cases that end in a documented error, or that need a call of their own whatever their operation is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from case_calls import Case, quantized, run_stored_scales
from case_language import scheme_of, tensor

import qcore


def refused(case: Case, action: Callable[[], Any], code: str) -> None:
    """The action raises the documented error with the case's text."""
    with pytest.raises(qcore.errors.QuantError) as caught:
        action()
    assert caught.value.code == code
    assert_text(case, str(caught.value))


def assert_text(case: Case, text: str) -> None:
    """The whole message where the case has it, else the part it names."""
    scheme = scheme_of(case).debug()
    assert case["expected"][0].get("message_contains", "").replace("{scheme:?}", scheme) in text
    if "full_message" in case:
        assert text == case["full_message"]


def answered(case: Case, code: str, **question: Any) -> None:
    """A refusal of a place that is only asked about."""
    verdict = qcore.check(scheme_of(case), **question)
    assert not verdict
    found = {refusal.code: str(refusal) for refusal in verdict.refusals}
    assert_text(case, found[code])


def lookup_of(case: Case, backend: str, **options: Any) -> qcore.QTensor:
    """A small tensor in the case's lookup scheme, loaded from its codes."""
    scheme = scheme_of(case)
    table = np.linspace(-1, 1, 2**scheme.value.bits, dtype=np.float32)
    data = qcore.TensorData.quantized([0, 1, 2, 3], [4], scheme, [1.0])
    return qcore.from_data(data, backend=backend, **({"codebook": qcore.Codebook(table)} | options))


def run_strategy_lookup(case: Case, backend: str) -> None:
    """D1, from the strategy and from dequantizing there."""
    q = lookup_of(case, backend)
    refused(case, lambda: q.strategy(backend="ndarray"), "lookup-not-on-ndarray")
    refused(case, lambda: q.dequantize(backend="ndarray"), "lookup-not-on-ndarray")


def run_from_data_error(case: Case, backend: str) -> None:
    """D2 without a table, D4 on burn-ndarray."""
    if case["backends"] == ["cubecl"]:
        refused(case, lambda: lookup_of(case, backend, codebook=None), "lookup-does-not-travel")
    else:
        data = qcore.TensorData.quantized([0] * 8, [8], scheme_of(case), [1.0])
        refused(case, lambda: qcore.from_data(data, backend="burn-ndarray"), "from-data-unsupported-scheme")


def run_missing_global(case: Case, backend: str) -> None:
    """D5: block scales without the scale they are relative to."""
    refused(case, lambda: quantized(case, backend), "missing-global-scale")


def run_narrow_level(case: Case, backend: str) -> None:
    """A per-tensor level that is not f32 means nothing; the text is the one of the byte layout."""
    with pytest.raises(qcore.errors.InvalidSchemeError) as caught:
        qcore.quantize(np.ones(32, np.float32), scheme_of(case), backend=backend)
    assert (
        str(caught.value)
        == f"a two-level scheme stores its per-tensor scale as f32, got {scheme_of(case).debug()}"
    )


def run_table_error(case: Case, backend: str) -> None:
    """A lookup without a table; a lookup outside u32 words, for the places that only read those."""
    if case["table"]:
        answered(case, "lookup-needs-u32", shape=(4, 32), op="dequantize", on="burn-cubecl", codebook=True)
    else:
        x = np.ones(8, np.float32)
        refused(case, lambda: qcore.quantize(x, scheme_of(case), backend=backend), "lookup-needs-table")


def run_reshape_error(case: Case, backend: str) -> None:
    """Where Burn gives up on a reshape, whole blocks are kept exactly and anything else is refused."""
    q = qcore.quantize(tensor(case["inputs"]["x"]), scheme_of(case), backend=backend)
    shape = tuple(case["new_shape"])
    if case["scheme"]["block"] is None:
        np.testing.assert_array_equal(q.reshape(shape).dequantize(), q.dequantize().reshape(shape))
        return
    with pytest.raises(qcore.errors.ShapeError) as caught:
        q.reshape(shape)
    assert caught.value.code == "would-split-block"


def run_cat_error(case: Case, backend: str) -> None:
    """Shapes that do not join."""
    parts = [
        qcore.quantize(tensor(given), scheme_of(case, backend), backend=backend)
        for given in case["inputs"].values()
    ]
    with pytest.raises(qcore.errors.QuantError):
        qcore.concat(parts, case["args"]["dim"])


def run_permute_error(case: Case, backend: str) -> None:
    """An axis twice."""
    q = qcore.quantize(tensor(case["inputs"]["x"]), scheme_of(case, backend), backend=backend)
    with pytest.raises((qcore.errors.QuantError, ValueError)):
        q.reshape(tuple(case["args"]["after_reshape"])).transpose(*case["args"]["axes"])


BY_ID: dict[str, Callable[[Case, str], None]] = {
    "scale.f16_stored_round_up": run_stored_scales,
    "documented.strategy_lookup": run_strategy_lookup,
    "documented.q_from_data_lookup": run_from_data_error,
    "documented.from_data_unsupported": run_from_data_error,
    "documented.two_level_missing_global": run_missing_global,
    "documented.related.native_sub_byte": lambda case, backend: answered(
        case, "native-sub-byte", shape=(4, 8), op="load", on="burn-cubecl"
    ),
    "documented.related.flip": lambda case, backend: answered(
        case, "operation-not-implemented", shape=(4, 8), op="flip", on="burn-cubecl"
    ),
    "err.u32_store": lambda case, backend: answered(case, "u32-line", shape=(3, 2), on="burn-cubecl"),
    "err.bindings.narrow_tensor": run_narrow_level,
    "err.table.missing": run_table_error,
    "err.table.native": run_table_error,
    "err.reshape.q4s_recompute": run_reshape_error,
    "err.reshape.nd_block": run_reshape_error,
    "err.cat.mismatch": run_cat_error,
    "err.permute.edge_repeated_axes": run_permute_error,
}
