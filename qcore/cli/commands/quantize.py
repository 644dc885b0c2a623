"""``qcore quantize``: the tensors of a file into another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore import errors
from qcore.cli.arranging import ConventionOption, LayoutOption, MapOption, arrange
from qcore.cli.commands.check import FLOATS
from qcore.cli.jobs import Job, describe, kept_lines, run_jobs, totals
from qcore.cli.output import Result, columns, printable
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.formats.protocol import StoredReader, TensorInfo
    from qcore.ops.options import Options

_WORST = 5
_PIECE, _END = 1 << 20, 1 << 20


def run(
    settings: Settings,
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="A .safetensors, .bpk, .gguf, .npz, .npy or .pt file, or a folder.")
    ],
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The file to write: .safetensors, .bpk, .gguf or .npz; no suffix: a folder."),
    ],
    scheme: Annotated[str, typer.Option("--scheme", "-s", help="A scheme's text or a preset's name.")],
    calibration: Annotated[str | None, typer.Option(help="minmax, absmean, percentile[:P] or mse.")] = None,
    scale_rounding: Annotated[str | None, typer.Option(help="up, nearest, floor or even.")] = None,
    rounding: Annotated[str, typer.Option(help="half-away or half-even.")] = "half-away",
    nonfinite: Annotated[str, typer.Option(help="raise or saturate.")] = "raise",
    codebook: Annotated[str | None, typer.Option(help="A table's name, or an .npy file with one.")] = None,
    tied: Annotated[str | None, typer.Option(help="row: one calibration for each row.")] = None,
    include: Annotated[list[str] | None, typer.Option(help="Quantize only names that match a glob.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Keep names that match a glob.")] = None,
    on_invalid: Annotated[
        str, typer.Option(help="error, or float: keep what the scheme cannot take.")
    ] = "error",
    layout: LayoutOption = None,
    map_file: MapOption = None,
    convention: ConventionOption = None,
    whole_digest: Annotated[
        bool, typer.Option("--source-digest", help="Record a digest of the whole input, which is read once more.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do none of it.")
    ] = False,
) -> Result:
    """Tensors that are not floats, or quantized already, are kept as they are. A float tensor that the scheme
    cannot take is an error before any work starts, unless --on-invalid float keeps it. Nothing is written unless
    everything succeeds. --layout and --map transpose before anything is quantized; a .bpk asks for one of them.
    """
    from qcore.formats.checkpoint_save import is_folder
    from qcore.formats.store import hold_destination, hold_form
    from qcore.ops.options import Call, one_of, settle

    row = hold_destination(out, overwrite=None if dry_run else settings.overwrite)
    keep_invalid = one_of("answer to --on-invalid", on_invalid, ("error", "float")) == "float"
    ask: dict[str, Any] = {
        "scheme": scheme, "calibration": calibration, "codebook": _table(codebook, settings), "rounding": rounding,
        "scale_rounding": scale_rounding, "tied": tied, "nonfinite": nonfinite, "backend": settings.backend,
        "threads": settings.threads,
    }  # fmt: skip
    options = settle(Call(**ask, explicit=False, global_given=None, shape=(), dtype="F32"))
    with settings.open(source) as reader:
        arranged = arrange(reader, row, layout, map_file, folder=is_folder(out))
        hold = partial(hold_form, path=out, convention=convention)
        jobs = []
        for move, deferred in zip(arranged.moves, arranged.tensors, strict=True):
            info = replace(deferred.info, name=move.name)  # globs and messages speak of the input's names
            job = _job(info, options, ask, include or (), exclude or (), keep_invalid, hold)
            jobs.append(replace(job, after=replace(job.after, name=move.target), source=deferred))
        chosen = [job for job in jobs if job.kept is None]
        if not chosen:
            raise errors.build("nothing-selected", path=str(source), count=len(jobs))
        if row.name == "npy":
            what = f"a quantized tensor ({options.scheme})"
            raise errors.build(
                "file-cannot-hold", tensor=chosen[0].info.name, path=str(out), format="npy", what=what
            )
        resolved = _resolved(options, scheme, settings)
        # threads are told, and kept out of the record: the bytes do not depend on them
        shown = {**resolved, "threads": settings.threads}
        told = [f"  {key}: {value}" for key, value in shown.items() if value is not None]
        settings.note("\n".join((f"{source} -> {out}", *told)))
        globs = [("--include", glob) for glob in include or ()] + [
            ("--exclude", glob) for glob in exclude or ()
        ]
        notes = list(arranged.notes)
        notes += [
            f"warning: {option} {glob} matches nothing"
            for option, glob in globs
            if not any(fnmatchcase(job.info.name, glob) for job in jobs)
        ]
        document: dict[str, Any] = {
            "source": str(source),
            "out": str(out),
            "settings": resolved,
            "dry_run": dry_run,
        }
        if dry_run:
            lines = [*_plan_lines(chosen), *kept_lines(jobs), totals(jobs)]
            return Result({**document, **describe(jobs)}, lines, notes=notes)
        made = _provenance(reader, {**resolved, "layout": layout}, whole=whole_digest)
        run_jobs(settings, reader, jobs, out, made, metadata=arranged.texts, convention=convention)
    lines = [*_worst_lines(chosen), *kept_lines(jobs), totals(jobs), f"wrote {printable(str(out))}"]
    return Result({**document, **describe(jobs)}, lines, notes=notes)


def _job(
    info: TensorInfo,
    options: Options,
    ask: Mapping[str, Any],
    include: Sequence[str],
    exclude: Sequence[str],
    keep_invalid: bool,
    hold: Callable[[TensorInfo], None],
) -> Job:
    """Decide what becomes of one tensor; a refusal that nothing allows is raised here, before any work."""
    from qcore.layout import quantized_data_len

    def kept(reason: str) -> Job:
        return Job(info, info, kept=reason)

    if include and not any(fnmatchcase(info.name, glob) for glob in include):
        return kept("not included")
    if any(fnmatchcase(info.name, glob) for glob in exclude):
        return kept("excluded")
    if info.scheme is not None:
        return kept("already quantized")
    if info.dtype not in FLOATS:
        return kept(f"{info.dtype} is no float that is quantized")
    try:
        settled = options.for_shape(info.shape)
        settled.check(info.shape, FLOATS[info.dtype].upper()).demand()
        book = settled.codebook
        after = replace(
            info,
            dtype=None,
            scheme=settled.scheme,
            nbytes=quantized_data_len(settled.scheme, info.shape) + (0 if book is None else book.table.nbytes),
            rules=settled.record(),
            codebook=None if book is None else book.name,
            origin="",
            fidelity="requantized",
        )
        hold(after)
    except errors.QuantError as error:
        if keep_invalid:
            return kept(f"[{error.code}] {error}")
        raise error.for_tensor(info.name) from None
    return Job(info, after, ask=ask)


def _table(text: str | None, settings: Settings) -> Any:
    if text is None or not text.lower().endswith(".npy"):
        return text
    with settings.open(Path(text)) as reader:
        return reader.tensor(reader.names()[0])


def _resolved(options: Options, asked: str, settings: Settings) -> dict[str, Any]:
    """The settings as they are in force, in the order of the documentation."""
    book = options.codebook
    return {
        "scheme": str(options.scheme),
        "asked": asked,
        "codebook": None if book is None else book.name or f"a table of {len(book.table)}",
        **options.record(),
        "backend": options.row.name,
    }


def _provenance(reader: StoredReader, resolved: dict[str, Any], *, whole: bool) -> dict[str, str]:
    """How the output says it was made; the same input and settings give the same texts.

    The input is told by its length and a digest of its ends, where its header lies, unless one of the whole is asked
    for.
    """
    from qcore.formats.digests import digest

    size = reader.source.size
    ranges = [(0, size)] if whole else [(0, min(_END, size)), (max(size - _END, min(_END, size)), size)]
    pieces = (
        reader.source.read(at, min(_PIECE, end - at)) for start, end in ranges for at in range(start, end, _PIECE)
    )
    told = {"source_bytes": str(size), "source_digest" if whole else "source_ends": digest(pieces)}
    settings = {key: str(value) for key, value in resolved.items() if value is not None}
    return {"command": "quantize", **told, **settings}


def _plan_lines(chosen: Sequence[Job]) -> list[str]:
    rows = [
        (job.info.name, "x".join(map(str, job.info.shape)), f"{job.info.nbytes:,}", f"{job.after.nbytes:,}",
         f"{job.after.bits_per_weight:.2f}", job.after.kind)
        for job in chosen
    ]  # fmt: skip
    return columns(("tensor", "shape", "before", "after", "bits/w", "scheme"), rows, right="llrrr")


def _worst_lines(chosen: Sequence[Job]) -> list[str]:
    measured = [(job, job.report) for job in chosen if job.report is not None]
    measured.sort(key=lambda pair: pair[1].sqnr_db)
    rows = [
        (job.info.name, "x".join(map(str, job.info.shape)), f"{report.sqnr_db:.2f}", f"{report.max_abs:.4g}",
         f"{job.after.bits_per_weight:.2f}")
        for job, report in measured[:_WORST]
    ]  # fmt: skip
    title = (
        "all tensors, the worst first:"
        if len(measured) <= _WORST
        else f"the worst {_WORST} of {len(measured)} tensors:"
    )
    return [title, *columns(("tensor", "shape", "SQNR dB", "max error", "bits/w"), rows, right="llrrr")]
