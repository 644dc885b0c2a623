"""Start-up is quick because little is loaded, and only when used (benchmarks/startup.py has the times)."""

import ast
import sys

import pytest
import source

HEAVY = (
    "numpy",
    "ml_dtypes",
    "safetensors",
    "typer",
    "rich",
    "gguf",
    "torch",
    "pyopencl",
    "PyQt6",
    "pyqtgraph",
)


def _loaded(code):
    seen = source.in_fresh_python(
        f"import sys\n{code}\nprint(*sorted(m for m in sys.modules if m in {HEAVY!r}))"
    )
    return set(seen.splitlines()[-1].split()) if seen else set()


@pytest.mark.parametrize(
    "code",
    [
        "import qcore",
        "import qcore.errors",
        "import qcore.capability",
        "import qcore.layout",
        "from qcore import QuantScheme; QuantScheme.parse('q4s/u32/b32:f16').debug()",
        "import qcore; qcore.PRESETS['mxfp4']; qcore.check('q4s', on='burn-ndarray').refusals",
        "from qcore import sample; sample.SAMPLES",
    ],
)
def test_schemes_errors_and_rules_need_no_numpy(code):
    assert not _loaded(code)


def test_quantizing_needs_numpy_and_ml_dtypes_only():
    code = (
        "import numpy as np, qcore; np.asarray(qcore.quantize(np.ones(64, np.float32), 'q4s/u32/b32:bf16'))"
    )
    assert _loaded(code) == {"numpy", "ml_dtypes"}


@pytest.mark.parametrize("arguments", [["--help"], ["quantize", "--help"], ["--version"]])
def test_the_help_of_the_command_line_needs_no_numpy(arguments):
    code = f"""
import contextlib, io
sys.argv = ["qcore", *{arguments!r}]
from qcore.cli.app import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""
    assert not _loaded(code) & {"numpy", "ml_dtypes", "safetensors"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the registers as glibc saves them")
def test_importing_and_calling_change_nothing_in_the_process():
    state = (
        "(control(), np.geterr(), locale.setlocale(locale.LC_ALL), os.sched_getaffinity(0), dict(os.environ))"
    )
    code = f"""
import ctypes, locale, os, platform
import numpy as np
libm = ctypes.CDLL("libm.so.6")

def control():
    saved = (ctypes.c_uint32 * 16)()
    assert libm.fegetenv(saved) == 0
    # x86-64: the eighth word is MXCSR; its low six bits only note which exceptions there have been
    mxcsr = saved[7] & ~63 if platform.machine() == "x86_64" else None
    return libm.fegetround(), mxcsr

before = {state}
import qcore
q = qcore.quantize(np.linspace(-1, 1, 1 << 16, dtype=np.float32), "e4m3/native/b32:ue8m0")
q.dequantize()
assert {state} == before
tiny = np.float32(1e-40) * np.float32(1)
assert tiny != 0 and np.full(8, 1e-40, np.float32).max() * np.float32(0.5) != 0, "denormals are flushed"
print("unchanged")
"""
    assert source.in_fresh_python(code) == "unchanged"


def test_importing_warns_of_nothing():
    assert source.in_fresh_python("import qcore; qcore.quantize; print('quiet')", "-W", "error") == "quiet"


def test_torch_is_never_imported():
    for path, node in source.nodes("qcore", ast.Import, ast.ImportFrom):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        assert not any(name.split(".")[0] == "torch" for name in names), f"{source.named(path)}:{node.lineno}"
