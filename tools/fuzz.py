"""Feed a reader with hostile input, guided by coverage (atheris).

    python tools/fuzz.py TARGET [libFuzzer options, corpus folders]
    python tools/fuzz.py --list

Any input must end in a valid object or in a QuantError; anything else is a finding, and so is an object that does not
come back equal from its own output.
"""

import contextlib
import importlib
import json
import sys
from collections.abc import Callable

import numpy as np

TEXTS = (
    b"q8f/u32",
    b"q4s/u32/b32:f16",
    b"e2m1/packed/b16:ue4m3/t:f32",
    b"e4m3/native/b32:ue8m0",
    b"q4f/u32:1/lookup:nf4/b2x16:f32",
    b"nvfp4",
    b"q2s/native/t:bf16",
)


def scheme_text(data: bytes) -> None:
    from qcore import QuantScheme, errors

    try:
        scheme = QuantScheme.parse(data.decode("utf-8", "replace"))
    except errors.QuantError:
        return
    assert QuantScheme.parse(str(scheme)) == scheme, str(scheme)


def scheme_json(data: bytes) -> None:
    from qcore import QuantScheme, errors

    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):  # Python's own reader, not ours
        return
    try:
        scheme = QuantScheme.from_dict(parsed)
    except errors.QuantError:
        return
    assert QuantScheme.from_dict(json.loads(json.dumps(scheme.to_dict()))) == scheme


def tensor_data(data: bytes) -> None:
    """One byte chooses the scheme, one the rank, one each dimension; the rest is the tensor's bytes."""
    import qcore
    from qcore import errors

    if len(data) < 3:
        return
    scheme = SCHEMES[data[0] % len(SCHEMES)]
    rank = data[1] % 4
    shape = tuple(data[2 : 2 + rank])
    body = data[2 + rank :]
    with contextlib.suppress(errors.QuantError):
        expected = qcore.quantized_data_len(scheme, shape)
        if data[1] & 64 and expected < 4096:  # half of the inputs have the right length
            body = body[:expected].ljust(expected, b"\x5a")
    codebook = qcore.Codebook.nf4() if data[1] & 128 else None
    try:
        q = qcore.from_data(qcore.TensorData(body, shape, scheme), codebook=codebook)
        y = q.dequantize()
    except errors.QuantError:
        return
    assert y.shape == shape
    assert y.dtype == np.float32
    again = qcore.from_data(q.to_data(), codebook=codebook)
    assert again.to_data().bytes == q.to_data().bytes


def _schemes() -> list[object]:
    from qcore import QuantScheme

    return [
        QuantScheme.parse(f"{value}{store}{lookup}{level}")
        for value in ("q8f", "q8s", "q4f", "q4s", "q2f", "q2s", "e4m3", "e5m2", "e2m1")
        for store in ("/native", "/u32", "/u32:1", "/packed")
        for lookup in ("", "/lookup")
        for level in ("", "/t:f32", "/b4:f16", "/b2x3:ue8m0", "/b4:ue4m3/t:f32")
    ]


TARGETS: dict[str, tuple[Callable[[bytes], None], tuple[bytes, ...]]] = {
    "scheme-text": (scheme_text, TEXTS),
    "scheme-json": (scheme_json, ()),
    "tensor-data": (tensor_data, ()),
}
SCHEMES: list[object] = []


def _seeds(name: str) -> tuple[bytes, ...]:
    """Valid inputs to start from."""
    from qcore import QuantScheme

    if name == "scheme-json":
        texts = [text.decode() for text in TEXTS if b"/" in text]
        return tuple(json.dumps(QuantScheme.parse(text).to_dict()).encode() for text in texts)
    if name == "tensor-data":
        return tuple(
            bytes([number, 66 | (number & 1) << 7, 3, 8]) + bytes(range(48)) for number in range(len(SCHEMES))
        )
    return TARGETS[name][1]


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in {*TARGETS, "--list"}:
        sys.exit(f"usage: fuzz.py {{{','.join(TARGETS)}}} [libFuzzer options]\n{__doc__}")
    if sys.argv[1] == "--list":
        print(*TARGETS, sep="\n")
        return
    import tempfile
    from pathlib import Path

    import atheris

    name = sys.argv.pop(1)
    # every module of ours that the target reaches is watched; NumPy is not
    with atheris.instrument_imports(include=["qcore"]):
        for module in ("qcore.ops", "qcore.scheme", "qcore.tensor"):
            importlib.import_module(module)
    SCHEMES.extend(_schemes())
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(_seeds(name)):
            (Path(corpus) / f"seed-{number}").write_bytes(seed)
        atheris.Setup([*sys.argv, corpus], TARGETS[name][0])
        atheris.Fuzz()


if __name__ == "__main__":
    main()
