"""What can be asked of the inspector: one small record each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .state import Axes, Choice, Message, Region


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
