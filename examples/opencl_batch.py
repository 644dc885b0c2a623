"""Quantize every .safetensors file of a folder on an OpenCL device, with progress, times and a summary.

    python opencl_batch.py FOLDER OUTPUT [--scheme int4-b32] [--backend opencl] [--check]

Tensors of two and more dimensions are quantized, the rest is kept as it is. Without a folder, the example writes the
sample weights that ship with qcore into one and works on those. Where there is no OpenCL device it says what is missing
and uses the processor, whose bytes are the same; --check quantizes once more on the processor and compares.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import qcore
from qcore import sample


@dataclass
class Totals:
    files: int = 0
    tensors: int = 0
    kept: int = 0
    before: int = 0
    after: int = 0
    seconds: float = 0.0
    different: int = 0


def backend_here(asked: str) -> str:
    """The backend asked for, or the processor where there is no device, and why."""
    if not asked.startswith("opencl"):
        return asked
    try:
        qcore.quantize(np.ones(8, np.float32), "int8", backend=asked)
    except qcore.errors.DeviceError as problem:
        print(f"{problem}; using the processor instead", file=sys.stderr)
        for solution in problem.solutions:
            print(f"  {solution}", file=sys.stderr)
        return "cpu"
    return asked


def quantized(x: np.ndarray, scheme: str, backend: str, totals: Totals, check: bool) -> qcore.QTensor:
    begin = time.perf_counter()
    q = qcore.quantize(x, scheme, backend=backend)
    totals.seconds += time.perf_counter() - begin
    if check and q.to_data() != qcore.quantize(x, scheme).to_data():
        totals.different += 1
    return q


def convert(source: Path, target: Path, scheme: str, backend: str, totals: Totals, check: bool) -> None:
    """One file: read a tensor at a time, quantize what can be, write the whole."""
    result = {}
    with qcore.open(source) as file:
        for name in file.names():
            x = file.tensor(name)
            totals.before += x.nbytes
            floats = (
                isinstance(x, np.ndarray)
                and x.ndim >= 2
                and x.dtype.name in ("float32", "float16", "bfloat16")
            )
            if floats and qcore.check(scheme, x.shape, on=backend):
                result[name] = quantized(x, scheme, backend, totals, check)
                totals.tensors += 1
            else:
                result[name] = x
                totals.kept += 1
            totals.after += result[name].nbytes
    qcore.save(target, result, overwrite=True, provenance=True)
    totals.files += 1


def sample_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="qcore-samples-"))
    for shipped in sample.SAMPLES:
        x = sample.load(shipped.name)
        qcore.save(
            folder / f"{shipped.name}.safetensors", {"weight": x, "bias": np.zeros(x.shape[0], np.float32)}
        )
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("output", nargs="?", type=Path)
    parser.add_argument("--scheme", default="int4-b32")
    parser.add_argument("--backend", default="opencl", help="opencl, opencl:0:1, opencl:nvidia, auto, cpu")
    parser.add_argument("--check", action="store_true", help="compare with the processor's bytes")
    asked = parser.parse_args()
    folder = asked.folder or sample_folder()
    output = asked.output or folder / "quantized"
    output.mkdir(parents=True, exist_ok=True)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        print(f"no .safetensors file in {folder}", file=sys.stderr)
        return 1
    backend = backend_here(asked.backend)
    print(f"{len(files)} files, {asked.scheme} on {backend}, into {output}")
    totals, begin = Totals(), time.perf_counter()
    for at, source in enumerate(files, 1):
        since = time.perf_counter()
        convert(source, output / source.name, asked.scheme, backend, totals, asked.check)
        print(f"[{at}/{len(files)}] {source.name}: {time.perf_counter() - since:.2f} s")
    whole = time.perf_counter() - begin
    print(
        f"{totals.files} files, {totals.tensors} tensors quantized, {totals.kept} kept: "
        f"{totals.before / 1e6:.1f} -> {totals.after / 1e6:.1f} MB in {whole:.2f} s, "
        f"{totals.seconds:.2f} s of it quantizing"
    )
    if asked.check:
        print(f"tensors whose bytes differ from the processor's: {totals.different}")
    return 5 if totals.different else 0


if __name__ == "__main__":
    sys.exit(main())
