"""Every value, store, mode, level, scale dtype, block and rounding: equal bits everywhere, or the predicted refusal."""

import math
from typing import Any

import numpy as np
import oracle
import pytest
from matrix import GROUPS, TENSORS, exactly_equal, expected_refusal, group_id, roundings, schemes, table_for
from oracle import Fields

import qcore


def options(fields: Fields) -> dict[str, Any]:
    return {"codebook": qcore.Codebook(table_for(fields.value))} if fields.lookup else {}


def predicted(fields: Fields, shape: tuple[int, ...], op: str, backend: str) -> qcore.Verdict:
    verdict = qcore.check(fields.text, shape, op=op, on=backend, codebook=fields.lookup)
    first = verdict.refusals[0].code if not verdict else None
    assert first == expected_refusal(fields, shape, op, backend), (fields.text, shape, op, backend)
    return verdict


def random_codes(fields: Fields, shape: tuple[int, ...]) -> np.ndarray:
    """Every field a store can hold, also codes outside the range of the value."""
    bits = oracle.bits_of(fields.value)
    unsigned = np.random.default_rng(len(fields.text)).integers(0, 2**bits, shape).astype(np.uint8)
    if fields.lookup or fields.value in oracle.MINIFLOATS:
        return unsigned
    return oracle.decode_table(fields.value)[unsigned].astype(np.int8)


def assert_answer(q: qcore.QTensor, answer: oracle.Answer, fields: Fields, what: str) -> None:
    """The tensor holds what the written rules say."""
    np.testing.assert_array_equal(q.codes, answer.codes, err_msg=what)
    exactly_equal(q.values, fields.values(answer.codes), what)
    found = np.asarray(q.scales).astype(np.float32)
    exactly_equal(found, answer.scales, what)
    if answer.global_scale is None:
        assert q.global_scale is None, what
    else:
        exactly_equal(q.global_scale, answer.global_scale, what)
    np.testing.assert_array_equal(q.dequantize(), answer.decoded, err_msg=what)


def assert_same(q: qcore.QTensor, wanted: qcore.QTensor, what: str) -> None:
    """Two tensors hold the same bits."""
    exactly_equal(q.values, wanted.values, what)
    exactly_equal(q.scales, wanted.scales, what)
    assert (q.global_scale is None) == (wanted.global_scale is None), what
    if q.global_scale is not None:
        exactly_equal(q.global_scale, wanted.global_scale, what)
    exactly_equal(q.dequantize(), wanted.dequantize(), what)


def variants(fields: Fields, shape: tuple[int, ...]) -> Any:
    """Tensors and roundings one scheme is tried on."""
    for name, make in TENSORS.items():
        for rounding, rule in roundings(fields):
            if name == "ordinary" or rounding == "half-away":
                yield name, make(shape), rounding, rule


@pytest.mark.parametrize("group", GROUPS, ids=group_id)
def test_cpu_reference_and_the_written_rules_agree(group: tuple[str, str, bool]) -> None:
    for fields, shape in schemes(group):
        verdicts = [predicted(fields, shape, "quantize", backend) for backend in ("cpu", "reference")]
        if not all(verdicts):
            continue
        scheme, kept = qcore.QuantScheme.parse(fields.text), options(fields)
        table = kept["codebook"].table if kept else None
        for name, x, rounding, rule in variants(fields, shape):
            what = f"{fields.text} {shape} {name} {rounding} {rule}"
            asked = {"rounding": rounding, "scale_rounding": rule} | kept
            answer = oracle.quantize(x, fields, table=table, rounding=rounding, scale_rounding=rule)
            reference = qcore.quantize(x, scheme, backend="reference", **asked)
            assert_answer(reference, answer, fields, "reference " + what)
            assert_same(qcore.quantize(x, scheme, backend="cpu", **asked), reference, "cpu " + what)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("group", GROUPS, ids=group_id)
def test_what_check_refuses_quantize_raises(group: tuple[str, str, bool], backend: str) -> None:
    for fields, shape in schemes(group):
        verdict = predicted(fields, shape, "quantize", backend)
        if not verdict:
            with pytest.raises(qcore.errors.QuantError) as caught:
                qcore.quantize(TENSORS["ordinary"](shape), fields.text, backend=backend, **options(fields))
            assert caught.value.code == verdict.refusals[0].code, fields.text
            assert str(caught.value) == str(verdict.refusals[0])
            assert type(caught.value) is type(verdict.refusals[0])


@pytest.mark.parametrize("group", GROUPS, ids=group_id)
def test_burn_ndarray_agrees_or_refuses_as_burn_does(group: tuple[str, str, bool]) -> None:
    for fields, shape in schemes(group):
        verdict = predicted(fields, shape, "quantize", "burn-ndarray")
        if not verdict:
            with pytest.raises(qcore.errors.QuantError) as caught:
                qcore.quantize(TENSORS["ordinary"](shape), fields.text, backend="ndarray", **options(fields))
            assert caught.value.code == verdict.refusals[0].code, fields.text
            assert str(caught.value) == str(verdict.refusals[0])
            continue
        for name, x, rounding, rule in variants(fields, shape):
            what = f"burn-ndarray {fields.text} {shape} {name} {rounding} {rule}"
            answer = oracle.quantize(x, fields, rounding=rounding, scale_rounding=rule, zero_substitute=0.1)
            q = qcore.quantize(x, fields.text, backend="burn-ndarray", rounding=rounding, scale_rounding=rule)
            assert_answer(q, answer, fields, what)


@pytest.mark.parametrize("backend", ["cpu", "reference", "burn-ndarray"])
@pytest.mark.parametrize("group", GROUPS, ids=group_id)
def test_loading_agrees_with_check(group: tuple[str, str, bool], backend: str) -> None:
    for fields, shape in schemes(group):
        verdict = predicted(fields, shape, "load", backend)
        scheme = qcore.QuantScheme.parse(fields.text)
        if verdict:
            codes = random_codes(fields, shape)
            scales = np.exp2(np.arange(math.prod(scheme.params_shape(shape))) % 8 - 4)
            data = qcore.TensorData.quantized(
                codes, shape, scheme, scales, 0.75 if fields.two_level else None
            )
            q = qcore.from_data(data, backend=backend, **options(fields))
            np.testing.assert_array_equal(q.codes, codes)
            stored = "native" if backend == "burn-ndarray" else fields.store
            assert str(q.scheme).split("/")[1] == stored
            assert q.to_data() == data or stored != fields.store
            assert len(q.to_data().bytes) == qcore.quantized_data_len(q.scheme, shape)
            continue
        data = qcore.TensorData(b"", shape, scheme)
        with pytest.raises(qcore.errors.QuantError) as caught:
            qcore.from_data(data, backend=backend, **options(fields))
        assert caught.value.code == verdict.refusals[0].code, fields.text
        assert str(caught.value) == str(verdict.refusals[0])


@pytest.mark.parametrize("group", [g for g in GROUPS if g[2] and g[0].startswith("q")], ids=group_id)
def test_a_lookup_tensor_is_refused_by_burn_ndarray_at_use(group: tuple[str, str, bool]) -> None:
    for fields, shape in schemes(group):
        if predicted(fields, shape, "load", "cpu"):
            assert not predicted(fields, shape, "dequantize", "burn-ndarray")
            scheme = qcore.QuantScheme.parse(fields.text)
            data = qcore.TensorData(bytes(qcore.quantized_data_len(scheme, shape)), shape, scheme)
            with pytest.raises(qcore.errors.QuantError, match="does not travel as a QFloat tensor"):
                qcore.from_data(data)
            q = qcore.from_data(data, **options(fields))
            for action in (q.strategy, q.dequantize):
                with pytest.raises(NotImplementedError, match="not supported by the ndarray backend"):
                    action(backend="ndarray")
            with pytest.raises(qcore.errors.QuantError, match="from_data not supported for scheme"):
                q.to("burn-ndarray")


def test_the_power_of_two_rules_are_refused_for_everything_else() -> None:
    for group in GROUPS:
        for fields, shape in schemes(group):
            fits = fields.scale_dtype == "ue8m0" and fields.value in oracle.MINIFLOATS
            if fits or expected_refusal(fields, shape, "quantize", "cpu"):
                continue
            for rule in ("floor", "even"):
                with pytest.raises(qcore.errors.InvalidSchemeError) as caught:
                    qcore.quantize(
                        np.ones(shape, np.float32), fields.text, scale_rounding=rule, **options(fields)
                    )
                assert caught.value.code == "scale-rounding-needs-ue8m0", fields.text
