"""A save that dies leaves the complete old file or the complete new one, and the next save tidies up."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from qcore.formats.atomic import atomic_write

pytestmark = pytest.mark.reliability

OLD, NEW = b"old " * 5_000, b"new " * 300_000
LEFTOVER = re.compile(r"\.qcore-[0-9a-f]{16}-[0-9a-f]{16}\.tmp")

# Dies before the n-th line that `atomic_write` executes, writes of the content counted in: every boundary between
# two calls of the operating system is one of them.
DIES_AT_LINE = """
import os, signal, sys
from qcore.formats import atomic

path, overwrite, left = sys.argv[1], sys.argv[2] == "yes", int(sys.argv[3])

def tick():
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

def trace(frame, event, argument):
    if frame.f_code.co_filename != atomic.__file__:
        return None
    if event == "line":
        tick()
    return trace

sys.settrace(trace)
with atomic.atomic_write(path, overwrite=overwrite) as file:
    content = b"new " * 300_000
    for start in range(0, len(content), 400_000):
        file.write(content[start : start + 400_000])
        tick()
"""

# Saves two contents in turn for ever; somebody will end it.
SAVES_IN_TURN = """
import sys
from qcore.formats.atomic import atomic_write

turn = 0
print("ready", flush=True)
while True:
    with atomic_write(sys.argv[1], overwrite=True) as file:
        file.write((b"old " * 5_000, b"new " * 300_000)[turn % 2])
    turn += 1
"""


def _leftovers(folder):
    return [name for name in os.listdir(folder) if name != "model.bin"]


@pytest.mark.parametrize("overwrite", ["yes", "no"])
def test_a_kill_at_any_line_of_a_save_leaves_the_old_file_or_the_new_one(tmp_path, overwrite):
    path = tmp_path / "model.bin"
    seen = set()
    for line in range(400):
        for name in os.listdir(tmp_path):
            (tmp_path / name).unlink()
        if overwrite == "yes":
            path.write_bytes(OLD)
        child = subprocess.run(
            [sys.executable, "-c", DIES_AT_LINE, path, overwrite, str(line)], capture_output=True, check=False
        )
        content = path.read_bytes() if path.exists() else None
        assert content in ({OLD, NEW} if overwrite == "yes" else {None, NEW}), f"torn at line {line}"
        assert all(LEFTOVER.fullmatch(name) for name in _leftovers(tmp_path))
        seen.add((child.returncode, content == NEW))
        if child.returncode == 0:
            break
        assert child.returncode == -signal.SIGKILL, child.stderr
        with atomic_write(path, overwrite=True) as file:
            file.write(b"next")
        assert not _leftovers(tmp_path), f"the save after a kill at line {line} leaves {_leftovers(tmp_path)}"
    assert line >= 20, "the child has hardly been killed"
    assert seen == {(-signal.SIGKILL, False), (-signal.SIGKILL, True), (0, True)}


def test_a_kill_at_any_moment_leaves_a_complete_file(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(OLD)
    moments = random.Random(1)
    for _ in range(60):
        child = subprocess.Popen([sys.executable, "-c", SAVES_IN_TURN, path], stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(moments.uniform(0, 0.05))
        child.kill()
        child.wait()
        child.stdout.close()
        assert path.read_bytes() in {OLD, NEW}
    with atomic_write(path, overwrite=True) as file:
        file.write(NEW)
    assert not _leftovers(tmp_path)
