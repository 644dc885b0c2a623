"""Work that takes time: a job is a record with a ``perform``; it calls the library, knows no Qt, reports by intents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

import qcore
from qcore import errors

from . import blocks, exporting, measure, pictures, reports
from .findings import Picture, Probe
from .job import Emit, Job, Token, known, lens_for
from .lens import NotShown
from .pictures import View
from .source import Session
from .state import Axes, Choice, Region, State, element_of, place_of


@dataclass(frozen=True, slots=True)
class OpenJob(Job):
    path: str

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        if self.path == SAMPLE:
            from qcore import sample

            arrays = {s.name: sample.load(s.name) for s in sample.SAMPLES}
            emit(reports.Opened(self.slot, self.serial, session.show(arrays, "sample weights")))
            return
        emit(reports.Opened(self.slot, self.serial, session.open(self.path)))


SAMPLE: Final = "sample:"
"""In place of a path: the weights that ship with the library."""


@dataclass(frozen=True, slots=True)
class ShowJob(Job):
    arrays: Any = field(hash=False, compare=False)
    title: str = "array"

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        emit(reports.Opened(self.slot, self.serial, session.show(dict(self.arrays), self.title)))


@dataclass(frozen=True, slots=True)
class CloseJob(Job):
    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        session.close()


@dataclass(frozen=True, slots=True)
class FactsJob(Job):
    tensor: str

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        found = known(session.matrix(self.tensor), token, self.progress(token, emit))
        if found is not None:
            emit(reports.FactsFound(self.slot, self.serial, found))


@dataclass(frozen=True, slots=True)
class PictureJob(Job):
    tensor: str
    region: Region
    pixels: tuple[int, int]
    view: View
    choice: Choice
    against: Choice | None
    axes: Axes | None
    which: str

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        matrix = session.matrix(self.tensor)
        lens = other = None
        if pictures.needs_lens(self.view):
            lens = lens_for(self, matrix, self.choice, token, emit)
            if self.view.difference and self.against is not None:
                other = lens_for(self, matrix, self.against, token, emit)
            if lens is None:
                return

        def drawn(preview: bool) -> Picture | None:
            return pictures.draw(
                matrix, self.region, self.pixels, self.view, lens, other, self.axes, token.is_set, preview
            )

        region = self.region
        large = (region.bottom - region.top) * (region.right - region.left) > pictures.PREVIEW
        if large and (quick := drawn(True)) is not None:
            emit(reports.PictureDrawn(self.slot, self.serial, quick, self.which, False))
        if not token.is_set() and (exact := drawn(False)) is not None:
            emit(reports.PictureDrawn(self.slot, self.serial, exact, self.which))


@dataclass(frozen=True, slots=True)
class MeasureJob(Job):
    tensor: str
    choice: Choice
    which: str

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        matrix = session.matrix(self.tensor)
        lens = lens_for(self, matrix, self.choice, token, emit)
        if lens is None:
            return
        found = measure.measure(matrix, lens, token.is_set, self.progress(token, emit))
        if found is not None:
            found = replace(found, label=self.choice.scheme)
            emit(reports.SchemeMeasured(self.slot, self.serial, found, self.which))


@dataclass(frozen=True, slots=True)
class DetailJob(Job):
    tensor: str
    choice: Choice
    block: tuple[int, ...] | None
    near: tuple[int, ...] | None

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        matrix = session.matrix(self.tensor)
        lens = lens_for(self, matrix, self.choice, token, emit)
        if lens is None:
            return
        block = self.block if self.block is not None else blocks.block_at(lens, self.near or ())
        emit(reports.DetailFound(self.slot, self.serial, blocks.detail(matrix, lens, block, self.near)))


@dataclass(frozen=True, slots=True)
class ProbeJob(Job):
    """What stands under the pointer."""

    tensor: str
    choice: Choice | None
    axes: Axes | None
    place: tuple[int, int]

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        matrix = session.matrix(self.tensor)
        index = element_of(matrix.shape, self.axes, *self.place)
        parts: tuple[Any, ...] = (matrix.element(index),)
        block: tuple[int, ...] | None = None
        if self.choice is not None and (matrix.array is not None or matrix.facts is not None):
            lens = lens_for(self, matrix, self.choice, token, emit)
            if lens is None:
                return
            row, column = place_of(matrix.shape, None, index)
            seen = lens.window(row, row + 1, column, column + 1)
            parts = tuple(part[0, 0] for part in (seen.x, seen.codes, seen.scales, seen.decoded))
            block = blocks.block_at(lens, index)
        emit(reports.Probed(self.slot, self.serial, Probe(self.place, index, block, *(p.item() for p in parts))))


@dataclass(frozen=True, slots=True)
class AskJob(Job):
    """What every backend and target says to a choice, and to every other choice of its fields."""

    choice: Choice
    shape: tuple[int, ...] | None

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        from .present.builder import answers

        emit(reports.Answered(self.slot, self.serial, answers(self.choice, self.shape)))


@dataclass(frozen=True, slots=True)
class SweepJob(Job):
    tensor: str
    exact: bool

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        from qcore.analysis.candidates import DEFAULT
        from qcore.analysis.sweep import sweep
        from qcore.analysis.table import SweepTable

        matrix = session.matrix(self.tensor)
        x, note = _sample(matrix, self.exact)
        rows: list[Any] = []
        report = self.progress(token, emit)
        for done, scheme in enumerate(DEFAULT):
            if token.is_set():
                break
            rows += sweep(x, [scheme], nonfinite="saturate", cancel=token)
            report(done + 1, len(DEFAULT))
            if done % 8 == 7:
                emit(reports.SweepGrew(self.slot, self.serial, _marked(SweepTable(rows)), note, False))
        said = note if len(rows) == len(DEFAULT) else f"{note}; stopped after {len(rows)} of {len(DEFAULT)}"
        emit(reports.SweepGrew(self.slot, self.serial, _marked(SweepTable(rows)), said, True))


def _marked(table: Any) -> Any:
    """The table with the front of all its rows marked; they were tried one by one."""
    from qcore.analysis import pareto
    from qcore.analysis.table import SweepTable

    measured = [n for n, row in enumerate(table) if row.report is not None and row.report.count]
    points = [(table[n].bits_per_weight, table[n].report.sqnr_db) for n in measured]
    marks = dict(zip(measured, pareto.front(points), strict=True))
    return SweepTable([replace(row, pareto=marks.get(n, False)) for n, row in enumerate(table)])


SWEEP_SAMPLE: Final = 1 << 21


def _sample(matrix: Any, exact: bool) -> tuple[np.ndarray, str]:
    """What a sweep measures on, and the sentence that says so."""
    if matrix.array is not None and (exact or matrix.size <= SWEEP_SAMPLE):
        return matrix.array, "all elements"
    if not matrix.is_float:
        raise errors.build("input-dtype", dtype=str(matrix.dtype))
    rows = max(SWEEP_SAMPLE // matrix.columns, 1)
    rows -= rows % 32 if rows > 32 else 0
    slabs = max(min(8, rows // 32), 1)
    each = max(rows // slabs, 1)
    starts = [(2 * i + 1) * (matrix.rows - each) // (2 * slabs) // 32 * 32 for i in range(slabs)]
    columns = min(matrix.columns, SWEEP_SAMPLE)
    x = np.concatenate([matrix.window(s, min(s + each, matrix.rows), 0, columns) for s in starts])
    return x, f"sampled: {x.size / matrix.size:.1%} of the elements, whole rows spread evenly"


@dataclass(frozen=True, slots=True)
class ExportJob(Job):
    what: str
    path: str
    state: State = field(hash=False, compare=False)

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        exporting.write(self.what, self.path, self.state, session, token)
        if not token.is_set():
            emit(reports.Exported(self.slot, self.serial, self.path))


@dataclass(frozen=True, slots=True)
class ImportanceJob(Job):
    path: str
    columns: int

    def perform(self, session: Session, token: Token, emit: Emit) -> None:
        with qcore.open(self.path) as file:
            for name in file.names():
                if file.info(name).size == self.columns:
                    weights = np.asarray(file.tensor(name), np.float64).reshape(-1)
                    emit(reports.ImportanceRead(self.slot, self.serial, weights, self.path))
                    return
        raise NotShown(f"No tensor of {self.columns:,} elements, one for each column, is in {self.path}.")
