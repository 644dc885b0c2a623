"""Bits are the same on every machine because the compiler is told not to be clever."""

import re

import source

FORBIDDEN = (
    "-Ofast",
    "-fassociative-math",
    "-ffast-math",
    "-ffinite-math-only",
    "-freciprocal-math",
    "-funsafe-math-optimizations",
    "-march=native",
    "-mtune=native",
    "/fp:fast",
    "fast-relaxed-math",
    "fast_math",
)


def _build_files():
    return [
        source.ROOT / "setup.py",
        *source.files("tools", ".sh"),
        *source.files("qcore_ext", ".pyx", ".pxd", ".h"),
    ]


def test_no_flag_lets_the_compiler_change_a_result():
    found = [
        f"{source.named(path)}: {flag}"
        for path in _build_files()
        for flag in FORBIDDEN
        if flag in _code(path.read_text(encoding="utf-8"))
    ]
    assert not found


def test_multiplications_and_additions_are_never_contracted():
    assert "-ffp-contract=off" in (source.ROOT / "setup.py").read_text(encoding="utf-8")
    headers = source.files("qcore_ext", ".h")
    assert headers
    assert any("FP_CONTRACT OFF" in path.read_text(encoding="utf-8") for path in headers)


def test_no_kernel_counts_elements_in_32_bits():
    # 2^31 elements and more are legal: what indexes must be Py_ssize_t, size_t or 64 bits wide
    loops = re.compile(r"^\s*cdef\s+(unsigned\s+)?int\s+(i|j|k|n|size|count|start|stop|index|offset)\b")
    found = [
        f"{source.named(path)}:{number}"
        for path in source.files("qcore_ext", ".pyx", ".pxd")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if loops.match(line)
    ]
    assert not found


def _code(text):
    """Drop comments: they may name what is forbidden."""
    return "\n".join(re.sub(r"(#|//).*", "", line) for line in text.splitlines() if "#pragma" not in line)
