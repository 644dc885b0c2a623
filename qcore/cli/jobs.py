"""What becomes of each tensor of a file, for quantize and dequantize: decided first, then done one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.cli.output import human_bytes, printable
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.analysis import ErrorReport
    from qcore.formats.content import Deferred
    from qcore.formats.protocol import AsStored, StoredReader, TensorInfo

__all__ = ["Job", "describe", "kept_lines", "run_jobs", "totals"]


@dataclass(slots=True)
class Job:
    """One tensor: as it is, as it will be, why it is kept if it is, how it is made, and how well that went."""

    info: TensorInfo
    after: TensorInfo
    kept: str | None = None
    ask: Mapping[str, Any] | None = None
    report: ErrorReport | None = None
    source: Deferred | None = None
    """Where it comes from; its info has the name it is to have."""

    @property
    def as_stored(self) -> AsStored | None:
        """What its file stores, for a writer of the same format; None where it is made anew."""
        return None if self.kept is None or self.source is None else self.source.as_stored


def run_jobs(
    settings: Settings,
    reader: StoredReader,
    jobs: Sequence[Job],
    out: Path,
    provenance: Mapping[str, str] | bool,
    **options: Any,
) -> None:
    """Write the output; each tensor is read and quantized when its turn comes, so memory holds one at a time."""
    from qcore import formats
    from qcore.formats.content import Deferred

    done = [0]

    def making(job: Job) -> Callable[[], Any]:
        def make() -> Any:
            settings.progress(done[0], len(jobs), job.info.name)
            done[0] += 1
            value = reader.tensor(job.info.name) if job.source is None else job.source.load()
            return value if job.ask is None else _quantized(job, value)

        return make

    tensors = {
        job.after.name: Deferred(job.after, making(job), as_stored=job.as_stored) for job in jobs
    }
    formats.save(
        out, tensors, overwrite=settings.overwrite, provenance=provenance, like=reader,
        **{"metadata": dict(reader.metadata), "companions": reader.folder, **options},
    )  # fmt: skip
    settings.progress(len(jobs), len(jobs), "")


def _quantized(job: Job, value: Any) -> Any:
    from qcore import analysis, ops

    assert job.ask is not None
    try:
        tensor = ops.quantize(value, **job.ask)
    except errors.QuantError as error:
        raise error.for_tensor(job.info.name) from None
    job.report = analysis.compare(value, tensor)
    return tensor


def describe(jobs: Sequence[Job]) -> dict[str, Any]:
    """The jobs as ``--json`` tells them."""
    rows = [
        {
            "name": job.info.name,
            "shape": list(job.info.shape),
            "before": job.info.kind,
            "after": job.after.kind,
            "nbytes_before": job.info.nbytes,
            "nbytes_after": job.after.nbytes,
            "bits_per_weight": round(job.after.bits_per_weight, 4),
            "kept": job.kept,
            "report": None if job.report is None else job.report.to_dict(),
        }
        for job in jobs
    ]
    before, after = sum(job.info.nbytes for job in jobs), sum(job.after.nbytes for job in jobs)
    return {"tensors": rows, "totals": {"tensors": len(jobs), "nbytes_before": before, "nbytes_after": after}}


def kept_lines(jobs: Sequence[Job]) -> list[str]:
    """The tensors that stay as they are, with the reason."""
    return [f"kept {printable(job.info.name)}: {printable(job.kept)}" for job in jobs if job.kept is not None]


def totals(jobs: Sequence[Job]) -> str:
    """One line: how many, how large before and after."""
    before, after = sum(job.info.nbytes for job in jobs), sum(job.after.nbytes for job in jobs)
    size = sum(job.info.size for job in jobs)
    done = sum(job.kept is None for job in jobs)
    bits = 8 * after / size if size else math.nan
    share = _share(before, after)
    sizes = f"{human_bytes(before)} -> {human_bytes(after)}, {share}, {bits:.2f} bits/weight"
    return f"{done} of {len(jobs)} tensors: {sizes}"


def _share(before: int, after: int) -> str:
    if not before or not after:
        return "nothing to compare"
    return f"{before / after:.2f} times smaller" if after <= before else f"{after / before:.2f} times larger"
