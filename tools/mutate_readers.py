"""Take one check of the readers away at a time, and see that a test misses it.

    python tools/mutate_readers.py [MODULE ...] [--list]

Every statement of a reader that refuses something (a raise, a call that holds a limit) is replaced by nothing, in a
copy of the sources, and the tests of that reader run until the first failure. A mutant that no test kills is printed,
unless EQUIVALENT says why it cannot be; the exit code is their number.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = {
    "safetensors_header": ("test_safetensors_header", "test_safetensors_file", "test_empty_shapes"),
    "json_cursor": ("test_safetensors_header", "test_checkpoint", "test_mutations"),
    "gguf_header": ("test_gguf_header", "test_gguf_file", "test_empty_shapes"),
    "gguf_cursor": ("test_gguf_header",),
    "gguf_split": ("test_gguf_split",),
    "gguf_values": ("test_gguf_values", "test_gguf_file"),
    "burnpack_header": ("test_burnpack_rules", "test_burnpack", "test_identities"),
    "burnpack_ranges": ("test_burnpack_rules", "test_burnpack"),
    "burnpack_words": ("test_burnpack_rules", "test_burnpack"),
    "cbor_cursor": ("test_burnpack_rules",),
    "npy_header": ("test_npy", "test_npz", "test_empty_shapes"),
    "zip_members": ("test_npz", "test_pt_rules"),
    "npz_file": ("test_npz",),
    "pt_machine": ("test_pt_rules",),
    "pt_values": ("test_pt_rules",),
    "pt_tensors": ("test_pt_rules",),
    "pt_file": ("test_pt_rules", "test_pt"),
    "convention": ("test_convention",),
    "checkpoint": ("test_checkpoint",),
    "source": ("test_store",),
    "limits": ("test_store", "test_safetensors_header", "test_empty_shapes"),
    "identities": ("test_identities",),
}
HOLDING = {"hold", "hold_shape", "_hold", "_hold_end", "_hold_ranges", "_hold_name", "_hold_parts", "room"}


# refusals that another one stands behind, or that only guard what Python's own modules never do
EQUIVALENT = {
    "raise OSError('before the first byte')": "the zip module never seeks there; io asks for the check",
    "raise self._fault(at, 'the pickle', 'without an end', 'complete')": "the disassembler has refused it before",
    "raise malformed(path, 'in the records', 'a part', part, f'one tensor, not {taken[part]!r} too', tensor=name)": (
        "scales are never of a dtype that values have, so that two records cannot both fit an array"
    ),
    "raise cursor.fault('weight_map a second time', 'each key once', at=at, rule='the index')": (
        "its value, which is then not read, is refused where a comma should be"
    ),
    "raise truncated(path, size, 'its data', needed)": "the same is held again when notes are taken",
    "raise errors.build('file-not-regular', path=self.name, kind='a folder')": (
        "on Linux a folder opens, and is no regular file; elsewhere it does not open"
    ),
    "limits.hold_shape(dims, path=path, tensor=name)": "the scheme has been held against the shape before",
}


def places(text: str) -> list[ast.stmt]:
    """Statements that refuse: a raise that is not a bare one, a call of a function that holds something."""
    found: list[ast.stmt] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            found.append(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            name = getattr(node.value.func, "attr", getattr(node.value.func, "id", ""))
            if name in HOLDING:
                found.append(node)
    return sorted(found, key=lambda node: node.lineno)


def without(text: str, node: ast.stmt) -> str:
    """The source with a statement replaced by nothing."""
    lines = text.splitlines(keepends=True)
    indent = " " * node.col_offset
    assert node.end_lineno is not None
    return "".join(lines[: node.lineno - 1]) + f"{indent}pass\n" + "".join(lines[node.end_lineno :])


def survivors(module: str, copy: Path) -> list[str]:
    path = copy / "qcore" / "formats" / f"{module}.py"
    text = path.read_text(encoding="utf-8")
    tests = [f"tests/qcore/formats/{name}.py" for name in TESTS[module]]
    left = []
    for node in places(text):
        path.write_text(without(text, node), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
        env = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        result = subprocess.run(command, cwd=copy, env=env, capture_output=True, timeout=600, check=False)
        if result.returncode == 0 and ast.unparse(node) not in EQUIVALENT:
            left.append(f"{module}:{node.lineno} {ast.unparse(node)[:110]}")
            print(left[-1], flush=True)
    path.write_text(text, encoding="utf-8")
    return left


def main() -> None:
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")] or list(TESTS)
    if "--list" in sys.argv:
        for module in chosen:
            text = (ROOT / "qcore" / "formats" / f"{module}.py").read_text(encoding="utf-8")
            print(f"{module}: {len(places(text))}")
        return
    left: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("qcore", "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("qcore_ext", "gui", "tools", "docs"):
            (copy / name).symlink_to(ROOT / name)
        shutil.copy(ROOT / "pyproject.toml", copy)
        for module in chosen:
            left += survivors(module, copy)
    print(f"{len(left)} survived")
    sys.exit(min(len(left), 100))


if __name__ == "__main__":
    main()
