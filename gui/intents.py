"""What can be asked of the inspector, by a person or by a job that is done: one small record each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .findings import BlockDetail, Facts, Measured, Picture, Probe
from .state import Axes, Choice, File, Message, Region


@dataclass(frozen=True, slots=True)
class Intent:
    """Base of all."""


@dataclass(frozen=True, slots=True)
class OpenFile(Intent):
    path: str


@dataclass(frozen=True, slots=True)
class OpenSample(Intent):
    pass


@dataclass(frozen=True, slots=True)
class ShowArray(Intent):
    """An array or QTensor that came from Python."""

    array: Any
    name: str = "x"


@dataclass(frozen=True, slots=True)
class Reload(Intent):
    pass


@dataclass(frozen=True, slots=True)
class CloseFile(Intent):
    pass


@dataclass(frozen=True, slots=True)
class SetFilter(Intent):
    text: str


@dataclass(frozen=True, slots=True)
class SelectTensor(Intent):
    name: str


@dataclass(frozen=True, slots=True)
class StepTensor(Intent):
    by: int


@dataclass(frozen=True, slots=True)
class SetAxes(Intent):
    axes: Axes | None


@dataclass(frozen=True, slots=True)
class SetView(Intent):
    view: str


@dataclass(frozen=True, slots=True)
class SetErrorMode(Intent):
    mode: str


@dataclass(frozen=True, slots=True)
class Toggle(Intent):
    """Flip a flag of the state: grid, difference, compare, marginal_lines, log_counts."""

    flag: str


@dataclass(frozen=True, slots=True)
class SetRegion(Intent):
    region: Region
    pixels: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Fit(Intent):
    pass


@dataclass(frozen=True, slots=True)
class PointAt(Intent):
    place: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class PickBlock(Intent):
    block: tuple[int, ...]
    jump: bool = False


@dataclass(frozen=True, slots=True)
class PickPlace(Intent):
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class JumpTo(Intent):
    """Show a row or a column: -1 keeps what is shown along that axis."""

    row: int = -1
    column: int = -1


@dataclass(frozen=True, slots=True)
class SetChoice(Intent):
    choice: Choice


@dataclass(frozen=True, slots=True)
class EditScheme(Intent):
    """Change one field of the scheme that is shown."""

    part: str
    value: str


@dataclass(frozen=True, slots=True)
class ApplyAsB(Intent):
    choice: Choice


@dataclass(frozen=True, slots=True)
class Show(Intent):
    """Show scheme A or B; with neither named, the other one."""

    which: str = ""


@dataclass(frozen=True, slots=True)
class SwapAB(Intent):
    pass


@dataclass(frozen=True, slots=True)
class Undo(Intent):
    pass


@dataclass(frozen=True, slots=True)
class Redo(Intent):
    pass


@dataclass(frozen=True, slots=True)
class SetWorstBy(Intent):
    measure: str


@dataclass(frozen=True, slots=True)
class StepWorst(Intent):
    by: int


@dataclass(frozen=True, slots=True)
class SetMarginal(Intent):
    of: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class SetInterpretation(Intent):
    name: str


@dataclass(frozen=True, slots=True)
class Sweep(Intent):
    exact: bool = False


@dataclass(frozen=True, slots=True)
class CancelJobs(Intent):
    pass


@dataclass(frozen=True, slots=True)
class SetTab(Intent):
    tab: str


@dataclass(frozen=True, slots=True)
class AddRule(Intent):
    pass


@dataclass(frozen=True, slots=True)
class Export(Intent):
    """Write something: csv:TABLE, npy:dequantized, npy:error, recipe, report."""

    what: str
    path: str


@dataclass(frozen=True, slots=True)
class OpenImportance(Intent):
    path: str


@dataclass(frozen=True, slots=True)
class Dismiss(Intent):
    pass


@dataclass(frozen=True, slots=True)
class Say(Intent):
    message: Message
    loud: bool = False


@dataclass(frozen=True, slots=True)
class SetRecent(Intent):
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileChanged(Intent):
    pass


# ---- what jobs report ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Report(Intent):
    """From a job: dropped when a newer one was started in its slot."""

    slot: str
    serial: int


@dataclass(frozen=True, slots=True)
class Progressed(Report):
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Failed(Report):
    message: Message


@dataclass(frozen=True, slots=True)
class Cancelled(Report):
    pass


@dataclass(frozen=True, slots=True)
class Finished(Report):
    pass


@dataclass(frozen=True, slots=True)
class Opened(Report):
    file: File


@dataclass(frozen=True, slots=True)
class FactsFound(Report):
    facts: Facts


@dataclass(frozen=True, slots=True)
class PictureDrawn(Report):
    picture: Picture
    which: str
    final: bool = True


@dataclass(frozen=True, slots=True)
class SchemeMeasured(Report):
    measured: Measured
    which: str
    final: bool = True


@dataclass(frozen=True, slots=True)
class DetailFound(Report):
    detail: BlockDetail


@dataclass(frozen=True, slots=True)
class Probed(Report):
    probe: Probe


@dataclass(frozen=True, slots=True)
class Answered(Report):
    answers: Any


@dataclass(frozen=True, slots=True)
class SweepGrew(Report):
    """Rows so far; ``final`` when it is the whole table."""

    table: Any
    note: str
    final: bool


@dataclass(frozen=True, slots=True)
class Exported(Report):
    path: str


@dataclass(frozen=True, slots=True)
class ImportanceRead(Report):
    weights: Any
    path: str
