"""Inputs that the fuzzers found worth keeping, given to every reader again; while they are read, nothing may run.

``tests/data/corpus`` has a zip archive for each target of ``tools/fuzz.py``, made by running it with a folder to
collect in; a finding that was mended is added there.
"""

import importlib.util
import logging
import sys
import zipfile

import pytest
import source

FORBIDDEN = (
    *("compile", "exec", "import", "pickle.find_class", "marshal.loads", "ctypes.dlopen", "code.__new__"),
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect", "urllib.Request"),
)


def _fuzz():
    described = importlib.util.spec_from_file_location("fuzz", source.ROOT / "tools" / "fuzz.py")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


FUZZ = _fuzz()


class Watch:
    """An audit hook, which cannot be taken off again, so it is switched."""

    found: list | None = None
    on = False

    @classmethod
    def hook(cls, event, args):
        if cls.on and event in FORBIDDEN:
            cls.found.append((event, str(args[:1])))


@pytest.fixture(scope="module")
def watch():
    sys.addaudithook(Watch.hook)
    return Watch


@pytest.mark.parametrize("target", FUZZ.TARGETS)
def test_what_was_found_before_ends_well_and_nothing_runs(watch, target):
    inputs = FUZZ.saved(target)
    assert len(inputs) >= 30
    run = FUZZ.TARGETS[target][0]()
    logging.disable(logging.WARNING)
    try:
        for data in inputs:
            run(data)  # what readers import when they are first used is not what a file makes them do
        watch.found, watch.on = [], True
        for data in inputs:
            run(data)
    finally:
        watch.on = False
        logging.disable(logging.NOTSET)
    assert watch.found == []


def test_the_hook_sees_what_it_watches_for(watch):
    watch.found, watch.on = [], True
    compile("1", "x", "eval")
    watch.on = False
    assert [event for event, _ in watch.found] == ["compile"]


def test_every_target_has_a_corpus_and_every_corpus_a_target():
    kept = {path.stem for path in (source.ROOT / "tests" / "data" / "corpus").glob("*.zip")}
    assert kept == set(FUZZ.TARGETS)
    for path in (source.ROOT / "tests" / "data" / "corpus").glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
