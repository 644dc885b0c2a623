"""``qcore inspect``: one tensor, looked at closely."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore import errors
from qcore.cli.output import Result, columns, printable
from qcore.cli.portrait import corner, histogram, statistics
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    import numpy as np

    from qcore.tensor import QTensor

_SHOWN = 64


def run(
    settings: Settings,
    file: Annotated[Path, typer.Argument(help="A .safetensors, .gguf, .bpk, .npz, .npy or .pt file.")],
    tensor: Annotated[
        str | None, typer.Argument(help="The tensor's name; may be left out where there is one.")
    ] = None,
    *,
    scheme: Annotated[
        str | None, typer.Option("--scheme", "-s", help="Quantize a plain tensor under this.")
    ] = None,
    block: Annotated[
        str | None, typer.Option(help="Show one block: its place in the grid, as in 0,3.")
    ] = None,
    bits: Annotated[bool, typer.Option("--bits", help="Show the block's codes in binary.")] = False,
) -> Result:
    """Statistics of a quantized tensor are those of what it decodes to."""
    import numpy as np

    from qcore import ops
    from qcore.tensor import QTensor

    with settings.open(file) as reader:
        names = reader.names()
        if tensor is None and len(names) != 1:
            raise errors.build(
                "option-value", option="TENSOR", expected=f"one of {len(names)} names", got="nothing"
            )
        name = names[0] if tensor is None else tensor
        info, value = reader.info(name), reader.tensor(name)
    foreign: Any = None if isinstance(value, QTensor | np.ndarray) else value
    quantized = value if isinstance(value, QTensor) else None
    source = None if isinstance(value, QTensor) else np.asarray(value)
    if scheme is not None and source is not None:
        try:
            quantized = ops.quantize(source, scheme, backend=settings.backend, threads=settings.threads)
        except errors.QuantError as error:
            raise error.for_tensor(name) from None
    shown = value.dequantize() if isinstance(value, QTensor) else np.asarray(value)
    facts = statistics(shown)
    counts, bars = histogram(shown)
    dims = "x".join(map(str, info.shape)) or "scalar"
    lines = [
        f"{printable(name)}: {dims}, {info.kind}, {info.nbytes:,} bytes ({info.bits_per_weight:.2f} bits/weight)"
    ]
    lines += columns(
        ("", ""), [(key, f"{v:.6g}" if isinstance(v, float) else f"{v:,}") for key, v in facts.items()]
    )[1:]
    lines += ["histogram:", *bars, "values:", *corner(shown)]
    document: dict[str, Any] = {
        "path": str(file),
        "name": name,
        "shape": list(info.shape),
        "dtype": info.dtype,
        "scheme": None if info.scheme is None else str(info.scheme),
        "nbytes": info.nbytes,
        "rules": dict(info.rules),
        "statistics": facts,
        "histogram": counts,
    }
    if foreign is not None:
        more, text = _foreign_part(foreign, info.origin)
        document["foreign"], lines = more, [*lines, *text]
    if quantized is not None:
        more, text = _quantized_part(quantized, source)
        document["quantized"], lines = more, [*lines, *text]
        if block is not None or bits:
            more, text = _block_part(
                quantized, source, block or ",".join("0" * max(quantized.scales.ndim, 1)), bits
            )
            document["block"], lines = more, [*lines, *text]
    elif block is not None or bits:
        raise errors.build(
            "option-value", option="--block", expected="given with --scheme for a plain tensor", got="alone"
        )
    return Result(document, lines)


def _foreign_part(tensor: Any, origin: str) -> tuple[dict[str, Any], list[str]]:
    """What a form that no scheme expresses consists of."""
    document: dict[str, Any] = {"origin": origin}
    lines = [f"stored as {origin}, which no scheme expresses: the values are what it decodes to"]
    for word in ("scales", "minima", "zeros"):
        grid = getattr(tensor, word, None)
        document[word] = None if grid is None else statistics(grid)
        if grid is not None:
            shape, facts = "x".join(map(str, grid.shape)), document[word]
            lines.append(f"  {word} {shape}: {facts.get('min', 0):.6g} to {facts.get('max', 0):.6g}")
    return document, lines


def _quantized_part(q: QTensor, source: np.ndarray | None) -> tuple[dict[str, Any], list[str]]:
    from qcore import analysis

    scales = q.effective_scales
    facts = statistics(scales)
    grid = "x".join(map(str, q.scales.shape))
    document: dict[str, Any] = {
        "scheme": str(q.scheme),
        "nbytes": q.nbytes,
        "bits_per_weight": q.bits_per_weight,
        "grid": list(q.scales.shape),
        "scales": facts,
        "global_scale": None if q.global_scale is None else float(q.global_scale),
        "report": None,
    }
    level = "" if q.global_scale is None else f", global {float(q.global_scale):.6g}"
    span = f"{facts.get('min', 0):.6g} to {facts.get('max', 0):.6g}, {facts['zeros']:,} zero"
    lines = [
        f"as {q.scheme}: {q.nbytes:,} bytes, {q.bits_per_weight:.2f} bits/weight",
        f"  scales {grid} {q.scales.dtype}{level}: effective {span}",
    ]
    if source is not None:
        report = analysis.compare(source, q)
        document["report"] = report.to_dict()
        lines.append(f"  {report}")
    return document, lines


def _block_part(
    q: QTensor, source: np.ndarray | None, text: str, bits: bool
) -> tuple[dict[str, Any], list[str]]:
    place, window = _window(q, text)
    codes, decoded = q.codes[window], q.dequantize()[window]
    scale = float(q.effective_scales[place] if q.scheme.block_size is not None else q.effective_scales[0])
    width = q.scheme.value.bits
    fields = [int(code) & ((1 << width) - 1) for code in codes.reshape(-1)]
    document: dict[str, Any] = {
        "block": list(place),
        "start": [s.start for s in window],
        "shape": list(codes.shape),
        "scale": scale,
        "codes": codes.reshape(-1).tolist(),
        "decoded": decoded.reshape(-1).tolist(),
    }
    shape = "x".join(map(str, codes.shape)) or "scalar"
    start = ",".join(str(s.start) for s in window)
    rows: list[tuple[object, ...]] = []
    sources = None if source is None else source[window].reshape(-1)
    for index, (code, number) in enumerate(
        zip(codes.reshape(-1)[:_SHOWN], decoded.reshape(-1), strict=False)
    ):
        was = "" if sources is None else f"{float(sources[index]):.6g}"
        rows.append(
            (index, was, int(code), f"{fields[index]:0{width}b}" if bits else "", f"{float(number):.6g}")
        )
    lines = [f"block {','.join(map(str, place))}: {shape} elements from {start}, effective scale {scale:.9g}"]
    lines += columns(("index", "source", "code", "bits" if bits else "", "decoded"), rows, right="rrrrr")
    if codes.size > _SHOWN:
        lines.append(f"  ... {codes.size - _SHOWN:,} more elements")
    if bits:
        document["bits"] = [f"{field:0{width}b}" for field in fields]
    return document, lines


def _window(q: QTensor, text: str) -> tuple[tuple[int, ...], tuple[slice, ...]]:
    """Find a block by its place in the grid: where it is, and the elements it covers."""
    words = text.split(",")
    grid = q.scales.shape if q.scheme.block_size is not None else (1,)
    if not all(word.strip().isdecimal() for word in words):
        raise errors.build("option-value", option="--block", expected="whole numbers, as in 0,3", got=text)
    place = tuple(int(word) for word in words)
    if q.scheme.block_size is None:
        place = place[-1:]
    if len(place) != len(grid) or any(at >= count for at, count in zip(place, grid, strict=False)):
        expected = f"a place in the grid {'x'.join(map(str, grid))}"
        raise errors.build("option-value", option="--block", expected=expected, got=text)
    if q.scheme.block_size is None:
        return place, tuple(slice(0, dim) for dim in q.shape)
    extents = q.plan().extents
    return place, tuple(
        slice(at * extent, min((at + 1) * extent, dim))
        for at, extent, dim in zip(place, extents, q.shape, strict=True)
    )
