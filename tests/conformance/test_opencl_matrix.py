"""OpenCL gives the processor's bits: the whole matrix of schemes, and the same refusals as predicted."""

from typing import Any

import numpy as np
import pytest
from matrix import GROUPS, TENSORS, exactly_equal, expected_refusal, group_id, roundings, schemes, table_for
from oracle import Fields, bits_of

import qcore
from qcore.layout.packing import quantized_data_len


def refusal(fields: Fields, shape: tuple[int, ...], op: str) -> str | None:
    """What cpu refuses, and values narrower than a byte that are to lie in a byte each."""
    first = expected_refusal(fields, shape, op, "cpu")
    narrow = fields.store == "native" and bits_of(fields.value) < 8
    return "native-sub-byte" if narrow and first in (None, "two-level-block-dtype") else first


def options(fields: Fields) -> dict[str, Any]:
    return {"codebook": qcore.Codebook(table_for(fields.value))} if fields.lookup else {}


def same(found: qcore.QTensor, wanted: qcore.QTensor, what: str) -> None:
    exactly_equal(found.values, wanted.values, what)
    exactly_equal(found.scales, wanted.scales, what)
    assert (found.global_scale is None) == (wanted.global_scale is None), what
    if found.global_scale is not None:
        exactly_equal(found.global_scale, wanted.global_scale, what)
    exactly_equal(found.dequantize(), wanted.dequantize(), what)


@pytest.mark.parametrize("group", GROUPS, ids=group_id)
def test_opencl_agrees_with_the_processor_or_refuses_as_predicted(group: tuple[str, str, bool]) -> None:
    for fields, shape in schemes(group):
        verdict = qcore.check(fields.text, shape, on="opencl", codebook=fields.lookup)
        code = refusal(fields, shape, "quantize")
        assert (None if verdict else verdict.refusals[0].code) == code, fields.text
        x = TENSORS["ordinary"](shape)
        if code is not None:
            with pytest.raises(qcore.errors.QuantError) as caught:
                qcore.quantize(x, fields.text, backend="opencl", **options(fields))
            assert caught.value.code == code, fields.text
            continue
        for rounding, rule in roundings(fields):
            asked = {"rounding": rounding, "scale_rounding": rule} | options(fields)
            what = f"{fields.text} {shape} {rounding} {rule}"
            same(
                qcore.quantize(x, fields.text, backend="opencl", **asked),
                qcore.quantize(x, fields.text, **asked),
                what,
            )
        extreme = TENSORS["extreme"](shape)
        asked = options(fields)
        same(
            qcore.quantize(extreme, fields.text, backend="opencl", **asked),
            qcore.quantize(extreme, fields.text, **asked),
            fields.text,
        )


@pytest.mark.parametrize("group", GROUPS, ids=group_id)
def test_loading_codes_and_repacking_agree_with_the_processor(group: tuple[str, str, bool]) -> None:
    for fields, shape in schemes(group):
        if fields.block_dtype not in (None, "f16") or refusal(fields, shape, "load") is not None:
            continue
        scheme = qcore.QuantScheme.parse(fields.text)
        raw = np.random.default_rng(len(shape)).integers(0, 256, quantized_data_len(scheme, shape), np.uint8)
        data = qcore.TensorData(raw.tobytes(), shape, scheme)
        found, wanted = (qcore.from_data(data, backend=b, **options(fields)) for b in ("opencl", "cpu"))
        exactly_equal(found.codes, wanted.codes, fields.text)
        assert found.to_data().bytes == data.bytes, fields.text
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(found.dequantize(), wanted.dequantize(), err_msg=fields.text)
