"""A save of a folder that dies leaves the complete old one or the complete new one, and the next save tidies up."""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from qcore.formats.new_folder import new_folder

pytestmark = pytest.mark.reliability

LEFTOVER = re.compile(r"\.qcore-[0-9a-f]{16}-[0-9a-f]{16}\.(new|tmp|old)")
OLD, NEW = (
    {"a.safetensors": "old", "notes": "mine"},
    {"a.safetensors": "new", "config.json": "{}", "notes": "mine"},
)

# Dies before the n-th line that the module executes: every boundary between two calls of the system is one of them.
DIES_AT_LINE = """
import os, signal, sys
from qcore.formats import new_folder

path, left = sys.argv[1], int(sys.argv[2])

def trace(frame, event, argument):
    global left
    if frame.f_code.co_filename != new_folder.__file__:
        return None
    if event == "line":
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return trace

sys.settrace(trace)
with new_folder.new_folder(path, overwrite=True) as folder:
    for name, text in (("a.safetensors", b"new"), ("config.json", b"{}")):
        with new_folder.new_file(folder / name) as file:
            file.write(text)
"""


def _content(folder):
    return {path.name: path.read_text() for path in folder.iterdir()} if folder.is_dir() else None


def _written(folder, content):
    folder.mkdir()
    for name, text in content.items():
        (folder / name).write_text(text)


def test_a_kill_at_any_line_leaves_the_old_folder_or_the_new_one(tmp_path):
    target = tmp_path / "m"
    seen = set()
    for line in range(600):
        for name in os.listdir(tmp_path):
            shutil.rmtree(tmp_path / name)
        _written(target, OLD)
        child = subprocess.run(
            [sys.executable, "-c", DIES_AT_LINE, target, str(line)], capture_output=True, check=False
        )
        content = _content(target)
        others = [name for name in os.listdir(tmp_path) if name != "m"]
        assert all(LEFTOVER.fullmatch(name) for name in others)
        aside = [_content(tmp_path / name) for name in others if name.endswith(".old")]
        assert content in (OLD, NEW) or (content is None and aside == [OLD]), f"torn at line {line}"
        seen.add((child.returncode, content == NEW))
        if child.returncode == 0:
            break
        assert child.returncode == -signal.SIGKILL, child.stderr
        with new_folder(target, overwrite=True) as folder:
            (folder / "a.safetensors").write_text("next")
        left = [name for name in os.listdir(tmp_path) if name != "m" and not name.endswith(".new")]
        assert not left, f"the save after a kill at line {line} leaves {left}"
    assert line >= 40, "the child has hardly been killed"
    assert seen == {(-signal.SIGKILL, False), (-signal.SIGKILL, True), (0, True)}
