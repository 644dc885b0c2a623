"""Opening costs time in proportion to the header, up to the limit on the number of tensors."""

import time

import bpk
import pytest

import qcore
from qcore import errors

pytestmark = pytest.mark.reliability

ONE = bpk.cbor(bpk.tensor("U8", (0,), 0, 0))


def _written(path, number):
    many = b"".join(bpk.cbor(f"layer.{index}.weight") + ONE for index in range(number))
    path.write_bytes(bpk.file({"tensors": bpk.Raw(bpk.head(5, number) + many)}))
    return path


def _seconds(path):
    started = time.process_time()
    with qcore.open(path) as f:
        assert len(f) >= 50_000
    return time.process_time() - started


def test_a_burnpack_of_a_hundred_thousand_tensors_opens_and_one_more_does_not(tmp_path):
    half = _seconds(_written(tmp_path / "half.bpk", 50_000))
    whole = _seconds(_written(tmp_path / "whole.bpk", 100_000))
    assert whole < 20, "a hang: two seconds are usual"
    assert whole < 4 * half, "twice the tensors, twice the time"
    with pytest.raises(errors.QuantError, match="100001"):
        qcore.open(_written(tmp_path / "more.bpk", 100_001))
