"""torchao: tensors taken apart under names of their own, described by JSON texts in the file's metadata.

Scales of NVFP4 and MX may lie in the tiles that tensor cores want; they are put back into a grid.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from qcore.formats.convention import strict_object
from qcore.formats.conventions.look import Fetch, Found, Look, Parts

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.protocol import Entry

__all__ = ["NAME", "find", "named_in"]

NAME = "torchao"
_LIST = "tensor_names"
_E8M0 = ("uint8", "float8_e8m0fnu")


def named_in(metadata: Any) -> bool:
    """Whether a file's texts list tensors as torchao does."""
    return str(metadata.get(_LIST, "")).lstrip().startswith("[")


def find(look: Look) -> Iterator[Found]:
    """Every listed tensor of a kind that has a scheme."""
    metadata = look.stored.metadata
    try:
        names = json.loads(metadata.get(_LIST, "[]"))
    except (ValueError, RecursionError):
        names = []
    for name in (
        dict.fromkeys(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
    ):
        text = metadata.get(name)
        if text is None or name in look.plain:
            continue
        look.limits.hold("metadata-record", len(text), path=look.path, tensor=name)
        told = strict_object(text, look.path, f"in the text of {name!a}", name)
        kind, data = told.get("_type"), told.get("_data")
        if not isinstance(data, dict):
            continue
        module, _, leaf = name.rpartition(".")
        prefix = f"{module}._{leaf}_" if module else f"_{leaf}_"
        codes, scale = look.plain.get(prefix + "qdata"), look.plain.get(prefix + "scale")
        if codes is None or scale is None or not codes.shape:
            continue
        if kind == "NVFP4Tensor":
            found = _small_floats(
                look, name, data, codes, scale, look.plain.get(prefix + "per_tensor_scale"), 16
            )
        elif kind == "MXTensor":
            found = _small_floats(look, name, data, codes, scale, None, 32)
        elif kind in ("Int8Tensor", "Float8Tensor") and (prefix + "zero_point") not in look.plain:
            found = _by_rows(look, name, codes, scale, str(kind))
        else:
            found = None
        if found is not None:
            yield found


def _small_floats(
    look: Look, name: str, data: dict[str, Any], codes: Entry, scale: Entry, level: Entry | None, block: int
) -> Found | None:
    four = codes.dtype == "uint8"
    values = {"uint8": "e2m1/packed", "float8_e4m3fn": "e4m3/native", "float8_e5m2": "e5m2/native"}.get(
        codes.dtype
    )
    nv = block == 16
    shape = (*codes.shape[:-1], codes.shape[-1] * (2 if four else 1))
    fits = scale.dtype == "float8_e4m3fn" and four if nv else scale.dtype in _E8M0
    if values is None or not fits or data.get("block_size", block) != block:
        return None
    if level is not None and (level.dtype != "float32" or prod(level.shape) != 1):
        return None
    lay = _layout(look, name, data, scale, shape, block)
    levels = f"b{block}:{'ue4m3' if nv else 'ue8m0'}" + ("" if level is None else "/t:f32")
    parts = (codes.name, scale.name, *(() if level is None else (level.name,)))

    def make(fetch: Fetch) -> Parts:
        import numpy as np

        from qcore.formats.dtypes import numpy_dtype

        kind = numpy_dtype("float8_e4m3fn" if nv else "float8_e8m0fnu")
        one: Any = None if level is None else fetch(level.name).reshape(-1)[0]
        return Parts(fetch(codes.name).view(np.uint8), lay(fetch(scale.name)).view(kind), one)

    word = "nvfp4" if nv else "mx"
    return look.quantized(name, parts, f"{values}/{levels}", shape, make, origin=f"{NAME} {word}")


def _layout(
    look: Look, name: str, data: dict[str, Any], scale: Entry, shape: tuple[int, ...], block: int
) -> Any:
    """How scales become a grid: as they lie, or out of their tiles."""
    import numpy as np

    from qcore.formats.conventions.bits import deswizzle, swizzled_count

    rows, cols = prod(shape[:-1]), -(-shape[-1] // block)
    grid = (*shape[:-1], cols)
    if data.get("is_swizzled_scales") is True:
        if len(shape) != 2 or scale.nbytes != swizzled_count(rows, cols):
            raise look.fault(
                name, "scales in tiles", f"{scale.nbytes} bytes", f"{swizzled_count(rows, cols)} for a matrix"
            )
        return lambda scales: deswizzle(scales.view(np.uint8).reshape(-1), rows, cols)
    if prod(scale.shape) != prod(grid):
        raise look.fault(name, "the number of scales", prod(scale.shape), prod(grid))

    def lay(scales: np.ndarray) -> np.ndarray:
        return scales.view(np.uint8).reshape(grid)

    return lay


def _by_rows(look: Look, name: str, codes: Entry, scale: Entry, kind: str) -> Found | None:
    import numpy as np

    from qcore.formats.conventions.bits import along_rows

    integer = kind == "Int8Tensor"
    if codes.dtype != ("int8" if integer else "float8_e4m3fn"):
        return None
    scales = along_rows(scale, codes.shape)
    if scales is None:
        return None
    return look.quantized(
        name, (codes.name, scale.name), f"{'q8f' if integer else 'e4m3'}/native/{scales.levels}", codes.shape,
        lambda fetch: Parts(
            fetch(codes.name).view(np.int8 if integer else np.uint8), scales.lay(fetch(scale.name))
        ),
        origin=f"{NAME} {'int8' if integer else 'fp8'}", fidelity=scales.fidelity,
        rules={"tied": "row"} if scales.tied else None,
    )  # fmt: skip
