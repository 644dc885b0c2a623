import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import qcore
from qcore import errors
from qcore.cli import exits, program
from qcore.cli.table import COMMANDS


def test_help_lists_every_command_and_the_exit_codes(run):
    code, out, _ = run("--help")
    assert code == 0
    assert all(re.search(rf"^  {name} ", out, re.MULTILINE) for name in COMMANDS)
    assert "3 scheme refused" in out.replace("\n ", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(run, name):
    code, out, _ = run(name, "--help")
    assert code == 0
    assert "Examples:" in out
    assert all(f"  {example}" in out for example in COMMANDS[name].examples)
    assert "--json" in out


def test_help_needs_no_numpy(program):
    script = (
        "import sys; from qcore.cli.app import main; main(['--help']);"
        "print(sorted({'numpy', 'ml_dtypes', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_help_answers_within_ten_times_a_fifth_of_a_second(program):
    begin = time.perf_counter()
    assert program("--help").returncode == 0
    assert time.perf_counter() - begin < 2


def test_the_version_is_printed(run):
    assert run("--version")[:2] == (0, f"qcore {qcore.__version__}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("nothing",),
        ("quantize",),
        ("quantize", "x.npy"),
        ("info",),
        ("info", "--nothing", "x"),
        ("demo", "--threads", "0"),
        ("check", "--scheme", "int8"),
        ("check", "--scheme", "int8", "--shape", "a,b"),
        ("check", "--scheme", "int8", "--shape", "4", "--on", "nowhere"),
        ("schemes", "show"),
        ("schemes", "explain"),
        ("explain", "nothing"),
        ("demo", "nothing"),
        ("demo", "--backend", "nowhere"),
    ],
)
def test_what_is_typed_wrong_ends_with_two_and_nothing_on_standard_output(run, words):
    code, out, err = run(*words)
    assert (code, out) == (exits.USAGE, "")
    assert err


def test_an_error_is_printed_with_its_code_cause_and_solutions(run, model):
    code, out, err = run("quantize", model, "-o", "o.safetensors", "--scheme", "q8s/u32:1")
    assert (code, out) == (exits.REFUSED, "")
    head, *rest = err.splitlines()
    assert (
        head == "error[packing-axis]: enc.bias: the packing dim 1 is outside a tensor of rank 1"
        or head.startswith("error[packing-axis]: enc.bias: ")
    )
    assert any(line.startswith("  why: ") for line in rest)
    assert any(line.startswith("    - ") for line in rest)
    assert "qcore explain packing-axis" in err
    _, _, quiet = run("quantize", model, "-o", "o.safetensors", "--scheme", "q8s/u32:1", "-q")
    assert quiet == head + "\n"


@pytest.mark.parametrize(
    ("code", "params", "exit_code"),
    [
        ("native-sub-byte", {}, 3),
        ("scheme-text", {"text": "x", "reason": "y"}, 3),
        ("unknown-name", {"kind": "preset", "name": "x", "choices": ("y",)}, 3),
        ("unknown-name", {"kind": "calibration", "name": "x", "choices": ("y",)}, 2),
        ("input-dtype", {"dtype": "int8"}, 3),
        ("non-finite", {"count": 1, "index": 0, "value": "nan"}, 4),
        ("file-malformed", {"path": "x", "where": "y", "reason": "z"}, 4),
        ("file-exists", {"path": "x"}, 2),
        ("device-unavailable", {"device": "x", "reason": "y"}, 6),
        ("cancelled", {"operation": "x"}, 130),
    ],
)
def test_each_kind_of_error_has_its_exit_code(code, params, exit_code):
    assert exits.of_error(errors.build(code, **params)) == exit_code


def test_every_row_of_the_catalogue_ends_with_a_documented_code():
    documented = {1, 2, 3, 4, 5, 6, 7, 130}
    for row in errors.CATALOG.values():
        fields = set(re.findall(r"{(\w+)", row.message))
        assert exits.of_error(row.family(row, dict.fromkeys(fields, 0))) in documented


def test_a_missing_input_ends_with_four_and_its_name(run):
    code, out, err = run("info", "none.npy")
    assert (code, out) == (exits.CORRUPT, "")
    assert err == "error: none.npy: No such file or directory\n"


def test_a_fault_of_ours_ends_with_one_and_without_a_traceback(run, monkeypatch, model):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("qcore.formats.open", fail)
    code, out, err = run("info", model)
    assert (code, out) == (exits.UNEXPECTED, "")
    assert "Traceback" not in err
    assert "unexpected ZeroDivisionError" in err
    assert "Traceback" in run("info", model, "-v")[2]


def test_json_prints_one_document_also_when_there_is_only_an_error_to_tell(run):
    for words, code, schema in (
        (("info", "none.npy"), 4, "qcore.info/1"),
        (("explain", "nothing"), 2, "qcore.explain/1"),
        (("nothing",), 2, "qcore.error/1"),
        (("demo", "--threads", "0"), 2, "qcore.demo/1"),
    ):
        got, out, _ = run(*words, "--json")
        document = json.loads(out)
        assert (got, document["schema"], document["exit"]) == (code, schema, code)
        assert document["error"]["message"]


def test_shared_options_are_taken_before_and_after_the_command(run, model):
    for words in (("--json", "info", model), ("info", "--json", model)):
        assert json.loads(run(*words)[1])["schema"] == "qcore.info/1"
    code, _, err = run(
        "--overwrite", "quantize", model, "-o", model, "--scheme", "int8", "--backend", "nowhere"
    )
    assert (code, "nowhere" in err) == (2, True)


def test_typers_own_runner_sees_the_same_program():
    app = program.application()
    runner = CliRunner()
    assert runner.invoke(app, ["--help"]).exit_code == 0
    assert runner.invoke(app, ["limits"]).exit_code == 0
    assert runner.invoke(app, ["nothing"]).exit_code == 2


def test_names_from_files_cannot_steer_the_terminal(run, tmp_path):
    evil = "a\x1b[31m\x07\u202e\u2066\n<img>"
    qcore.save(tmp_path / "x.safetensors", {evil: np.ones((2, 32), np.float32)}, {evil: evil})
    for words in (
        ("info", "x.safetensors"),
        ("info", "x.safetensors", "--tree"),
        ("inspect", "x.safetensors"),
        ("check", "x.safetensors", "--scheme", "q8s/u32:5", "--on", "cpu"),
        ("quantize", "x.safetensors", "-o", "y.npz", "--scheme", "q8s/u32:5"),
        ("quantize", "x.safetensors", "-o", "y.npz", "--scheme", "int8"),
        ("info", evil),
        ("inspect", "x.safetensors", evil + "x"),
    ):
        _, out, err = run(*words)
        for character in "\x1b\x07\u202e\u2066":
            assert character not in out + err, words
        _, out, err = run(*words, "--json")
        assert "\x1b" not in out + err
        json.loads(out)


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    for words in ("explain", "schemes --json", "--help"):
        for unbuffered in ("", "1"):
            script = f"{sys.executable} -m qcore {words} | (read -n 1; sleep 0.1); echo ${{PIPESTATUS[0]}}"
            env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": unbuffered}
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, check=True)
            assert (done.stdout, done.stderr) == ("0\n", "")


def test_an_interrupt_ends_with_130_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.ones((4096, 2048), np.float32))
    out = tmp_path / "o.safetensors"
    out.write_bytes(b"old")
    command = [
        sys.executable,
        "-m",
        "qcore",
        "quantize",
        path,
        "-o",
        out,
        "--scheme",
        "nvfp4",
        "--calibration",
        "minmax",
    ]
    command += ["--backend", "reference", "--overwrite"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
        # a suite that runs in the background has interrupts ignored, and its children would inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as child:
        assert "x.npy" in child.stderr.readline()  # the settings are told, the work begins
        child.send_signal(signal.SIGINT)
        stdout, stderr = child.communicate(timeout=60)
    assert child.returncode == exits.INTERRUPTED
    assert "Traceback" not in stderr
    assert stdout == ""
    assert out.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["o.safetensors", "x.npy"]


def test_colours_are_for_terminals_only_and_can_be_refused(program, tmp_path):
    script = (
        "import pty, sys, os\n"
        "os.environ.update(dict(pair.split('=') for pair in sys.argv[1:]))\n"
        f"pty.spawn([{sys.executable!r}, '-m', 'qcore', 'explain', 'nothing'])\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"}
    env.pop("NO_COLOR", None)

    def seen(*pairs):
        return subprocess.run(
            [sys.executable, "-c", script, *pairs], capture_output=True, env=env, check=False
        ).stdout

    assert b"\x1b[1;31merror[unknown-name]" in seen()
    assert b"\x1b" not in seen("NO_COLOR=1")
    assert b"\x1b" not in seen("TERM=dumb")
    assert "\x1b" not in program("explain", "nothing").stderr
