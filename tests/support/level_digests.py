"""What one instruction-set level makes of every scheme of the matrix, as one digest per group; run to print them.

The tensors are those of the matrix and one that fills whole vectors, with rests at the end of every line.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
from matrix import GROUPS, TENSORS, expected_refusal, group_id, roundings, schemes, table_for

import qcore

LONG = (3, 331)
DTYPES = (np.float32, np.float16)


def digests() -> dict[str, str]:
    """Values, scales and numbers after the way back, of every group that quantizes at all."""
    return {group_id(group): _of_group(group) for group in GROUPS}


def _of_group(group: tuple[str, str, bool]) -> str:
    found = hashlib.sha256()
    for fields, shape in schemes(group):
        kept = {"codebook": qcore.Codebook(table_for(fields.value))} if fields.lookup else {}
        blocks = len(fields.block or ())
        for tried in (shape, LONG) if blocks < 3 else (shape,):
            if expected_refusal(fields, tried, "quantize", "cpu"):
                continue
            rounding, rule = list(roundings(fields))[-1]
            for name in TENSORS:
                x = TENSORS[name](tried)
                q = qcore.quantize(x, fields.text, rounding=rounding, scale_rounding=rule, **kept)
                found.update(q.values.tobytes() + q.scales.tobytes())
                for dtype in DTYPES:
                    with np.errstate(over="ignore"):
                        found.update(q.dequantize(dtype=dtype).tobytes())
    return found.hexdigest()


if __name__ == "__main__":
    print(json.dumps(digests()))
