"""``qcore dequantize``: quantized tensors of a file to floats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore import errors
from qcore.cli.arranging import LayoutOption, MapOption, arrange
from qcore.cli.jobs import Job, describe, kept_lines, totals
from qcore.cli.output import Result, printable
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.formats.content import Deferred

_DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


def run(
    settings: Settings,
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="A .safetensors, .bpk, .gguf or .npz file, or a folder.")
    ],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The file to write: .safetensors, .bpk, .npz or .npy.")
    ],
    dtype: Annotated[str, typer.Option(help="f32, bf16 or f16.")] = "f32",
    layout: LayoutOption = None,
    map_file: MapOption = None,
) -> Result:
    """Values are computed in f32 and rounded once. Plain tensors are kept as they are."""
    from qcore import formats
    from qcore.capability import backend_row, check
    from qcore.formats.checkpoint_save import is_folder
    from qcore.formats.content import Deferred
    from qcore.formats.store import hold_destination
    from qcore.ops.options import one_of
    from qcore.scheme import QuantMode

    row = hold_destination(out, overwrite=settings.overwrite)
    name = _DTYPES[one_of("dtype", dtype, tuple(_DTYPES))]
    backend = backend_row(settings.backend).name
    with settings.open(source) as reader:
        arranged = arrange(reader, row, layout, map_file, folder=is_folder(out))
        jobs = []
        for deferred in arranged.tensors:
            info = deferred.info
            if info.scheme is None and not info.foreign:
                jobs.append(Job(info, info, kept="not quantized", source=deferred))
                continue
            if info.scheme is not None:
                lookup = info.scheme.mode is QuantMode.LOOKUP
                check(info.scheme, info.shape, op="dequantize", on=backend, codebook=lookup).demand(info.name)
            width = 4 if name == "float32" else 2
            after = replace(
                info, dtype=name, scheme=None, nbytes=width * info.size, origin="", fidelity="exact"
            )
            jobs.append(Job(info, after, source=deferred))
        if all(job.kept is not None for job in jobs):
            raise errors.build("nothing-selected", path=str(source), count=len(jobs))
        tensors = {
            job.info.name: Deferred(
                job.after, _making(settings, job, deferred, name, backend), as_stored=job.as_stored
            )
            for job, deferred in zip(jobs, arranged.tensors, strict=True)
        }
        provenance: Any = row.name != "npy" and {"command": "dequantize", "dtype": name, "backend": backend}
        formats.save(
            out, tensors, arranged.texts, overwrite=settings.overwrite, provenance=provenance, like=reader,
            companions=reader.folder,
        )  # fmt: skip
    lines = [*kept_lines(jobs), totals(jobs), f"wrote {printable(str(out))}"]
    document = {"source": str(source), "out": str(out), "dtype": name, **describe(jobs)}
    return Result(document, lines, notes=arranged.notes)


def _making(
    settings: Settings, job: Job, deferred: Deferred, dtype: str, backend: str
) -> Callable[[], Any]:
    def make() -> Any:
        from qcore.formats.dtypes import numpy_dtype
        from qcore.tensor import QTensor

        tensor: Any = deferred.load()
        if job.kept is not None:
            return tensor
        if not isinstance(tensor, QTensor):  # one that no scheme expresses: it decodes by itself
            return tensor.dequantize(numpy_dtype(dtype))
        return tensor.dequantize(numpy_dtype(dtype), backend=backend, threads=settings.threads)

    return make
