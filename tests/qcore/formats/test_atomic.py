"""Whatever fails while a file is written, the old one stays and nothing else does."""

import errno
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import qcore
from qcore import errors
from qcore.formats import atomic
from qcore.formats.atomic import atomic_write

OLD, NEW = b"old", b"new" * 1000
LEFTOVER = re.compile(r"\.qcore-[0-9a-f]{16}-[0-9a-f]{16}\.tmp")
# every call of the system that a save makes, by the module that makes it
STEPS = ["fsync", "replace", "link", "unlink", "chmod"]


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(OLD)
    return path


def save(path, overwrite=True, pieces=3):
    with atomic_write(path, overwrite=overwrite) as file:
        for _ in range(pieces):
            file.write(NEW)


def save_and_raise(path, raised):
    with atomic_write(path, overwrite=True) as file:
        file.write(NEW)
        raise raised


def test_the_new_file_is_there_when_the_block_ends_and_not_before(target):
    with atomic_write(target, overwrite=True) as file:
        file.write(NEW)
        file.flush()
        assert target.read_bytes() == OLD
        (leftover,) = set(os.listdir(target.parent)) - {"model.bin"}
        assert LEFTOVER.fullmatch(leftover)
    assert target.read_bytes() == NEW
    assert os.listdir(target.parent) == ["model.bin"]


def test_an_exception_in_the_block_leaves_the_old_file_alone(target):
    for raised in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(raised):
            save_and_raise(target, raised)
        assert target.read_bytes() == OLD
        assert os.listdir(target.parent) == ["model.bin"]


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_failing_call_leaves_a_complete_file_and_no_other(target, monkeypatch, step, number, overwrite):
    real, calls = getattr(os, step), 0

    def count(*args, **kwargs):
        nonlocal calls
        calls += 1
        return real(*args, **kwargs)

    if not overwrite:
        target.unlink()
    with monkeypatch.context() as patched:
        patched.setattr(atomic.os, step, count)
        save(target, overwrite=overwrite)
    for fails in range(calls):
        target.unlink(missing_ok=True)
        if overwrite:
            target.write_bytes(OLD)
        left = fails

        def failing(*args, **kwargs):
            nonlocal left
            left -= 1
            if left == -1:
                raise OSError(number, os.strerror(number), *args[:1] if isinstance(args[0], str) else ())
            return real(*args, **kwargs)

        with monkeypatch.context() as patched:
            patched.setattr(atomic.os, step, failing)
            error = failure_of(save, target, overwrite=overwrite)
        assert error is None or (error.errno, error.filename) == (number, str(target))
        content = target.read_bytes() if target.exists() else None
        assert content in ({OLD, NEW * 3} if overwrite else {None, NEW * 3})
        assert set(os.listdir(target.parent)) <= {"model.bin"}


def failure_of(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except OSError as error:
        return error
    return None


REASONS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EACCES)


class Failing:
    """A file whose n-th write, or what follows, fails."""

    def __init__(self, file, left):
        self._file, self._left, self._number = file, left, left

    def write(self, data):
        self._left -= 1
        if self._left < 0:
            number = REASONS[self._number % len(REASONS)]
            raise OSError(number, os.strerror(number))
        return self._file.write(data)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._file.close()


@pytest.mark.parametrize("suffix", ["safetensors", "npz", "npy", "bpk", "gguf"])
def test_a_full_disk_at_any_write_leaves_the_old_file_and_names_the_real_one(tmp_path, monkeypatch, suffix):
    x = np.arange(128, dtype=np.float32).reshape(2, 64)
    tensors = (
        {"x": x} if suffix == "npy" else {f"t{i}": qcore.quantize(x, "nvfp4") for i in range(6)} | {"x": x}
    )
    path = tmp_path / f"x.{suffix}"
    qcore.save(path, {"x": x})
    before = path.read_bytes()
    for left in range(2000):
        with monkeypatch.context() as patched:
            patched.setattr("builtins.open", lambda *a, n=left, o=open, **k: Failing(o(*a, **k), n))
            error = failure_of(qcore.save, path, tensors, overwrite=True, provenance=suffix != "npy")
        if error is None:
            break
        assert error.filename == str(path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == [path.name]
    assert left >= (2 if suffix == "npy" else 8)
    with qcore.open(path) as f:
        assert set(f.names()) == tensors.keys()


def test_an_interrupt_while_a_tensor_is_made_leaves_the_old_file_and_nothing_else(tmp_path):
    from qcore.formats.content import Deferred
    from qcore.formats.protocol import TensorInfo

    def interrupted():
        raise KeyboardInterrupt

    late = Deferred(TensorInfo("x", (4,), "float32", None, 16, ("x",)), interrupted)
    for suffix in ("safetensors", "npz", "npy", "bpk", "gguf"):
        path = tmp_path / f"x.{suffix}"
        qcore.save(path, {"x": np.ones(4, np.float32)})
        before = path.read_bytes()
        with pytest.raises(KeyboardInterrupt):
            qcore.save(path, {"x": late}, overwrite=True)
        assert path.read_bytes() == before
        path.unlink()
        assert os.listdir(tmp_path) == []


def test_what_a_killed_writer_left_is_removed_by_the_next_save_of_the_same_file(target):
    other = target.with_name("other.bin")
    with atomic_write(target, overwrite=True) as file:
        (leftover,) = set(os.listdir(target.parent)) - {"model.bin"}
        copy = target.with_name(leftover[:-20] + "0" * 16 + ".tmp")
        copy.write_bytes(b"left behind")
        save(other)
        assert copy.exists()
        # the writer of this block is alive: another save leaves its file alone and removes the dead one
        save(target)
        assert not copy.exists()
        assert target.with_name(leftover).exists()
        file.write(b"last")
    assert target.read_bytes() == b"last"


def test_an_existing_file_is_kept_unless_overwriting_is_asked_for(target):
    with pytest.raises(errors.FormatError, match="exists"):
        save(target, overwrite=False)
    assert target.read_bytes() == OLD


def test_a_file_that_appears_meanwhile_is_kept_too(tmp_path):
    path = tmp_path / "model.bin"

    def save_late():
        with atomic_write(path) as file:
            file.write(NEW)
            path.write_bytes(OLD)

    with pytest.raises(errors.FormatError, match="exists"):
        save_late()
    assert path.read_bytes() == OLD
    assert os.listdir(tmp_path) == ["model.bin"]


def test_without_hard_links_a_rename_does_it(tmp_path, monkeypatch):
    def no_links(*args):
        raise OSError(errno.EPERM, "not here")

    monkeypatch.setattr(atomic.os, "link", no_links)
    save(tmp_path / "model.bin", overwrite=False)
    assert (tmp_path / "model.bin").read_bytes() == NEW * 3
    assert os.listdir(tmp_path) == ["model.bin"]


def test_a_symbolic_link_stays_one_and_its_target_is_replaced(target):
    link = target.with_name("link.bin")
    link.symlink_to(target)
    save(link)
    assert link.is_symlink()
    assert target.read_bytes() == NEW * 3


def test_the_permissions_of_the_old_file_are_kept(target):
    target.chmod(0o640)
    save(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_regular_file_is_never_replaced(tmp_path, kind):
    path = tmp_path / "x.bin"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(errors.FormatError, match="not a regular file"):
        save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["x.bin"]


def test_a_folder_that_is_not_there_is_the_systems_error_naming_the_file(tmp_path):
    path = tmp_path / "none" / "x.bin"
    with pytest.raises(FileNotFoundError) as caught:
        save(path)
    assert caught.value.filename == str(path)


def test_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "x.bin"

    def write(content):
        for _ in range(20):
            with atomic_write(path, overwrite=True) as file:
                file.write(content)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, [bytes([65 + i]) * 1000 for i in range(4)]))
    assert len(set(path.read_bytes())) == 1
    assert os.listdir(tmp_path) == ["x.bin"]
