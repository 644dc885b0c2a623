"""Quantize a matrix of real weights to 4 bits, look at the error, save it, and read it back.

Run it from anywhere: python quantize_weights.py [output.safetensors]
"""

import sys
import tempfile
from pathlib import Path

import qcore
from qcore import sample

weights = sample.load("minilm_l0_query")

# which scheme, at what size, with what error?
print(f"{'scheme':<12} {'bits/weight':>11} {'SQNR dB':>8} {'max error':>10}")
for scheme in ("int8-b32", "int4-b32", "nvfp4", "mxfp4", "nf4", "int2-b32"):
    quantized = qcore.quantize(weights, scheme)
    report = qcore.compare(weights, quantized)
    print(f"{scheme:<12} {quantized.bits_per_weight:>11.2f} {report.sqnr_db:>8.2f} {report.max_abs:>10.4f}")

# does it load where it is needed? A refusal says what to do instead.
for target in ("burn-cubecl", "burn-ndarray", "gguf"):
    verdict = qcore.check("int4-b32", weights.shape, op="load", on=target)
    print(f"\nint4-b32 on {target}: {'fine' if verdict else verdict.refusals[0]}")

# one file, whole or not at all; the scheme travels with it
folder = Path(tempfile.mkdtemp())
path = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "query.safetensors"
quantized = qcore.quantize(weights, "int4-b32", calibration="mse")
qcore.save(path, {"query": quantized}, overwrite=True, provenance=True)
with qcore.open(path) as file:
    again = file.tensor("query")
    print(
        f"\n{path.name}: {file.info('query').kind}, {file.info('query').nbytes:,} bytes, equal: {again == quantized}"
    )
