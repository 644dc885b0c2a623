"""What jobs report: intents too, which are dropped when a newer job was started in their slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .findings import BlockDetail, Facts, Measured, Picture, Probe
from .intents import Intent
from .state import File, Message


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
