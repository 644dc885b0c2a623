"""What the window shows, as values: frozen, without Qt, replaced whole by ``update``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .findings import BlockDetail, Facts, Measured, Picture, Probe
    from .job import Job
    from .present.builder import Answers

VIEWS: Final = ("values", "codes", "dequantized", "error", "scales")
"""What the heatmap can show, in the order of the keys 1 to 5."""

ERROR_MODES: Final = ("signed", "absolute", "in steps", "block SQNR")
WORST_BY: Final = ("absolute", "relative", "in steps")
DEFAULT_SCHEME: Final = "burn-default"
LOG_LINES: Final = 500
UNDO_STEPS: Final = 100


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One tensor of the open file, as its header tells it."""

    name: str
    shape: tuple[int, ...]
    kind: str
    size: int
    nbytes: int
    quantized: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A scheme with what goes along: text or preset name, and the options of ``qcore.quantize``."""

    scheme: str = DEFAULT_SCHEME
    calibration: str | None = None
    scale_rounding: str | None = None
    rounding: str = "half-away"


@dataclass(frozen=True, slots=True)
class Region:
    """Rows and columns of the heatmap: half-open ranges in elements."""

    top: int
    bottom: int
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Axes:
    """Which axes are rows and columns, and where the others stand."""

    row: int
    column: int
    index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """Something to tell: a sentence, and of a documented error its page."""

    text: str
    title: str = ""
    cause: str = ""
    solutions: tuple[str, ...] = ()
    details: str = ""
    level: str = "info"


@dataclass(frozen=True, slots=True)
class Running:
    """A job on its way."""

    serial: int
    slot: str
    label: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class File:
    """The open file, or the array that was handed over."""

    path: str
    format: str
    rows: tuple[TensorRow, ...]
    nbytes: int
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """The name alone."""
        return Path(self.path).name or self.path

    @property
    def elements(self) -> int:
        """Elements of all tensors."""
        return sum(row.size for row in self.rows)


@dataclass(frozen=True, slots=True)
class State:
    """Everything. Arrays inside the findings are never changed."""

    file: File | None = None
    stale_on_disk: bool = False
    filter: str = ""
    selected: TensorRow | None = None
    axes: Axes | None = None
    view: str = "values"
    error_mode: str = "signed"
    difference: bool = False
    grid: bool = True
    marginal_lines: bool = True
    compare: bool = False
    region: Region | None = None
    pixels: tuple[int, int] = (800, 600)
    cursor: tuple[int, int] | None = None
    block: tuple[int, ...] | None = None
    pulse: int = 0
    choice_a: Choice = field(default_factory=Choice)
    choice_b: Choice | None = None
    showing: str = "A"
    undo: tuple[Choice, ...] = ()
    redo: tuple[Choice, ...] = ()
    facts: Facts | None = None
    picture: Picture | None = None
    picture_b: Picture | None = None
    measured_a: Measured | None = None
    measured_b: Measured | None = None
    refused_a: Message | None = None
    refused_b: Message | None = None
    detail: BlockDetail | None = None
    answers: Answers | None = None
    interpretation: str = "as stored"
    worst_by: str = "absolute"
    worst_at: int = -1
    marginal_of: str = "columns"
    marginal_by: str = "peak"
    importance: Any = None
    log_counts: bool = True
    sweep: Any = None
    sweep_note: str = ""
    recipe: tuple[tuple[str, str], ...] = ()
    running: tuple[Running, ...] = ()
    serial: int = 0
    newest: tuple[tuple[str, int], ...] = ()
    log: tuple[Message, ...] = ()
    notice: Message | None = None
    recent: tuple[str, ...] = ()
    tab: str = "histogram"
    epoch: int = 0
    robust: bool = True
    probe: Probe | None = None

    @property
    def choice(self) -> Choice:
        """The scheme that is being edited and shown."""
        return self.choice_b if self.showing == "B" and self.choice_b is not None else self.choice_a

    @property
    def measured(self) -> Measured | None:
        """What was measured of the scheme that is shown."""
        return self.measured_b if self.showing == "B" else self.measured_a

    @property
    def refused(self) -> Message | None:
        """Why the scheme that is shown cannot be used, if so."""
        return self.refused_b if self.showing == "B" else self.refused_a

    @property
    def matrix(self) -> tuple[int, int]:
        """Rows and columns of the heatmap."""
        if self.selected is None:
            return (0, 0)
        return matrix_of(self.selected.shape, self.axes)

    def newest_of(self, slot: str) -> int:
        """Serial of the latest job that was started in a slot."""
        return dict(self.newest).get(slot, 0)

    def said(self, *messages: Message) -> State:
        """The state with lines added to its log."""
        return replace(self, log=(*self.log, *messages)[-LOG_LINES:])


@dataclass(frozen=True, slots=True)
class Step:
    """What an intent leads to: a state, and jobs to start or slots to stop."""

    state: State
    jobs: tuple[Job, ...] = ()
    cancel: tuple[str, ...] = ()


def matrix_of(shape: tuple[int, ...], axes: Axes | None) -> tuple[int, int]:
    """Rows and columns that a shape is drawn as: leading axes are flattened unless axes are chosen.

    Examples
    --------
    >>> matrix_of((2, 3, 4), None), matrix_of((5,), None), matrix_of((), None)
    ((6, 4), (1, 5), (1, 1))
    """
    if axes is not None:
        return shape[axes.row], shape[axes.column]
    rows = 1
    for dim in shape[:-1]:
        rows *= dim
    return rows, (shape[-1] if shape else 1)


def element_of(shape: tuple[int, ...], axes: Axes | None, row: int, column: int) -> tuple[int, ...]:
    """Index of the element that stands in a row and a column.

    Examples
    --------
    >>> element_of((2, 3, 4), None, 4, 1), element_of((2, 3, 4), Axes(1, 0, (0, 0, 2)), 1, 0)
    ((1, 1, 1), (0, 1, 2))
    """
    if axes is not None:
        index = list(axes.index)
        index[axes.row], index[axes.column] = row, column
        return tuple(index)
    if not shape:
        return ()
    found = [column]
    for dim in reversed(shape[:-1]):
        found.append(row % dim)
        row //= dim
    return tuple(reversed(found))


def place_of(shape: tuple[int, ...], axes: Axes | None, index: tuple[int, ...]) -> tuple[int, int]:
    """Row and column of an element; where another slice is shown, those it would have.

    Examples
    --------
    >>> place_of((2, 3, 4), None, (1, 1, 1))
    (4, 1)
    """
    if not shape:
        return 0, 0
    if axes is not None:
        return index[axes.row], index[axes.column]
    row = 0
    for dim, at in zip(shape[:-1], index[:-1], strict=True):
        row = row * dim + at
    return row, index[-1]
