"""Opening costs time in proportion to the header, up to the limit on the number of tensors."""

import time

import bpk
import pt_bytes as pt
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


def _archive(path, number):
    body = b"".join(pt.plain(f"layer.{index}.weight") + pt.tensor() for index in range(number))
    return pt.archive(path, pt.whole(b"}(" + body + b"u"))


def test_an_archive_of_pytorch_opens_in_proportion_to_its_pickle(tmp_path):
    half = _seconds(_archive(tmp_path / "half.pt", 50_000))
    whole = _seconds(_archive(tmp_path / "whole.pt", 100_000))
    assert whole < 40, "a hang: four seconds are usual"
    assert whole < 4 * half, "twice the tensors, twice the time"
    with pytest.raises(errors.QuantError, match="100001"):
        qcore.open(_archive(tmp_path / "more.pt", 100_001))


def test_a_burnpack_of_a_hundred_thousand_tensors_opens_and_one_more_does_not(tmp_path):
    half = _seconds(_written(tmp_path / "half.bpk", 50_000))
    whole = _seconds(_written(tmp_path / "whole.bpk", 100_000))
    assert whole < 20, "a hang: two seconds are usual"
    assert whole < 4 * half, "twice the tensors, twice the time"
    with pytest.raises(errors.QuantError, match="100001"):
        qcore.open(_written(tmp_path / "more.bpk", 100_001))
