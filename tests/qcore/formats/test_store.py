import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import qcore
from qcore import errors, formats
from qcore.formats.limits import LIMITS, Limits
from qcore.formats.source import Source

X = np.arange(64, dtype=np.float32).reshape(2, 32)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.safetensors"
    qcore.save(path, {"w": qcore.quantize(X, "nf4"), "b": X}, {"k": "v"}, provenance=True)
    return path


def test_a_format_is_recognised_by_content_whatever_the_suffix(tmp_path):
    for suffix in ("safetensors", "npz", "npy"):
        qcore.save(tmp_path / f"x.{suffix}", {"x": X})
        renamed = tmp_path / f"x.{suffix}.model"
        renamed.write_bytes((tmp_path / f"x.{suffix}").read_bytes())
        with qcore.open(renamed) as f:
            assert f.format == suffix


def test_a_header_length_that_looks_like_a_pickle_is_still_safetensors(tmp_path):
    for length in (0x0280, 0x0380, 0x0480, 0x0580):
        text = b"{}" + b" " * (length - 2)
        for name in ("x.safetensors", "x"):
            (tmp_path / name).write_bytes(length.to_bytes(8, "little") + text)
            qcore.open(tmp_path / name).close()


@pytest.mark.parametrize(
    "content", [b"", b"hello world, this is a text", b"version https://git-lfs.github.com/spec/v1\n"]
)
def test_what_is_no_tensor_file_is_not_recognised(tmp_path, refused, content):
    (tmp_path / "x.dat").write_bytes(content)
    refused(qcore.open, tmp_path / "x.dat", code="file-not-recognised")


@pytest.mark.parametrize("name", ["x.pt", "x.bin", "x.ckpt", "x.pkl", "x"])
def test_pickles_are_refused_by_suffix_and_by_content(tmp_path, refused, name):
    (tmp_path / name).write_bytes(b"\x80\x04\x95\x0b\0\0\0\0\0\0\0\x8c\x02os\x94.")
    refused(qcore.open, tmp_path / name, code="file-pickle-refused")


def test_a_suffix_that_names_no_format_is_refused_by_save(tmp_path, refused):
    error = refused(qcore.save, tmp_path / "x.foo", {"x": X}, code="unknown-name")
    assert ".safetensors" in str(error)


def test_errors_of_the_system_pass_unchanged(tmp_path):
    with pytest.raises(FileNotFoundError):
        qcore.open(tmp_path / "none.safetensors")


def test_a_folder_and_a_pipe_are_refused_at_once(tmp_path, refused):
    os.mkfifo(tmp_path / "pipe.npy")
    begin = time.monotonic()
    refused(qcore.open, tmp_path, code="folder-not-a-checkpoint")
    refused(qcore.open, tmp_path / "pipe.npy", code="file-not-regular")
    refused(Source, tmp_path, code="file-not-regular")
    assert time.monotonic() - begin < 5


def test_a_tensor_that_is_not_there_is_refused_with_what_is_close(model, refused):
    with qcore.open(model) as f:
        assert "close to it: w" in str(refused(f.tensor, "ww", code="file-tensor-missing"))
        refused(f.info, "nothing like it", code="file-tensor-missing")


def test_reading_after_closing_is_a_documented_error(model, refused):
    f = qcore.open(model)
    f.close()
    f.close()
    refused(f.tensor, "b", code="file-closed")


def test_opening_reads_no_data_and_leaves_no_descriptor_behind(model, tmp_path, refused):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with qcore.open(model) as f:
            assert len(os.listdir("/proc/self/fd")) == before + 1
            assert f.info("w").kind == "q4f/u32/lookup/b64:f32"
    (tmp_path / "bad.safetensors").write_bytes(b"garbage")
    refused(qcore.open, tmp_path / "bad.safetensors")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("change", ["truncated", "appended", "rewritten"])
def test_a_file_that_changes_while_it_is_open_is_an_error(model, refused, change):
    with qcore.open(model) as f:
        data = model.read_bytes()
        time.sleep(0.02)
        with open(model, "r+b") as file:
            if change == "truncated":
                file.truncate(len(data) - 8)
            elif change == "appended":
                file.seek(0, 2)
                file.write(b"x")
            else:
                file.seek(len(data) - 4)
                file.write(b"\1\2\3\4")
        refused(f.tensor, "b", code="file-changed")


def test_a_file_that_is_replaced_while_it_is_open_stays_what_it_was(model):
    with qcore.open(model) as f:
        qcore.save(model, {"b": X + 1}, overwrite=True)
        assert np.array_equal(f.tensor("b"), X)


@pytest.mark.parametrize("alias", ["itself", "symbolic link", "hard link", "relative path"])
def test_a_file_can_be_written_over_the_one_it_is_read_from(model, monkeypatch, alias):
    target = {
        "itself": model,
        "symbolic link": model.with_name("s.safetensors"),
        "hard link": model.with_name("h.safetensors"),
        "relative path": model.with_name("..") / model.parent.name / model.name,
    }[alias]
    if alias == "symbolic link":
        target.symlink_to(model)
    if alias == "hard link":
        os.link(model, target)
    elsewhere = model.with_name("elsewhere.safetensors")
    for keep in (True, False):
        with qcore.open(model) as f:
            given = f if keep else {name: f.tensor(name) for name in f.names()}
            qcore.save(elsewhere, given, overwrite=True)
            qcore.save(target, given, overwrite=True)
        assert target.read_bytes() == elsewhere.read_bytes()


def test_an_open_file_of_the_same_format_is_copied_byte_for_byte(model, safetensors, tmp_path):
    odd = safetensors(
        ' {"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":[1]} }  ', b"\7", name="odd.safetensors"
    )
    for source in (model, odd):
        with qcore.open(source) as f:
            qcore.save(tmp_path / "copy.safetensors", f, overwrite=True)
        assert (tmp_path / "copy.safetensors").read_bytes() == source.read_bytes()


def test_texts_of_the_convention_are_not_the_callers(model):
    with qcore.open(model) as f:
        assert f.metadata == {"k": "v", "format": "pt"}


def test_arguments_of_the_wrong_type_are_refused(tmp_path, refused):
    refused(qcore.save, tmp_path / "x.npz", {1: X}, code="argument-type")
    refused(qcore.save, tmp_path / "x.npz", {"x": X}, {"k": 1}, code="argument-type")


def test_threads_read_one_open_file_at_the_same_time(model):
    with qcore.open(model) as f, ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: np.array_equal(f.tensor("b"), X), range(200)))


@pytest.mark.parametrize("missing", [("preadv",), ("preadv", "pread")])
def test_systems_without_positional_reads_seek_and_read(model, monkeypatch, missing):
    for name in missing:
        monkeypatch.delattr(os, name)
    with qcore.open(model) as f:
        assert np.array_equal(f.tensor("b"), X)


def test_an_unreadable_read_names_the_file(model, monkeypatch):
    source = Source(model)

    def failing(*args):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "preadv", failing)
    with pytest.raises(OSError, match=r"m\.safetensors"):
        source.read(0, 8)
    source.close()


def test_a_gap_of_the_size_of_a_tensor_is_never_allocated(tmp_path, safetensors, refused):
    claim = 2**62
    header = {"x": {"dtype": "U8", "shape": [claim], "data_offsets": [0, claim]}}
    refused(qcore.open, safetensors(header, b"x"), code="file-truncated")


def test_a_sparse_file_of_three_gigabytes_opens_and_reads_its_end(tmp_path):
    size = 3 * 2**30
    header = json.dumps(
        {
            "a": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]},
            "b": {"dtype": "U8", "shape": [2], "data_offsets": [size, size + 2]},
        }
    ).encode()
    path = tmp_path / "big.safetensors"
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.seek(8 + len(header) + size)
        file.write(b"\1\2")
    with qcore.open(path) as f:
        assert f.tensor("b").tolist() == [1, 2]


def test_limits_have_a_ceiling_and_a_name(refused):
    assert set(LIMITS) >= {"safetensors-header", "npy-header", "rank", "name", "elements"}
    refused(Limits, {"rank": 9}, code="option-value")
    refused(Limits, {"nothing": 1}, code="unknown-name")
    assert formats.LIMITS is LIMITS


@pytest.mark.parametrize("row", LIMITS.values(), ids=LIMITS)
def test_each_limit_holds_at_its_value_and_refuses_one_more(row):
    Limits().hold(row.name, row.value, path="x")
    with pytest.raises(errors.FormatError, match=row.name) as caught:
        Limits().hold(row.name, row.value + 1, path="x")
    assert type(caught.value).__name__ == row.breach
