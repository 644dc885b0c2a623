"""Panels that are a table, some with a choice above it."""

from __future__ import annotations

from collections.abc import Callable

from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QLabel

from .. import intents as i
from ..state import WORST_BY
from .table import TablePanel

__all__ = ["BlockPanel", "JobsPanel", "LogPanel", "OutliersPanel", "WorstPanel"]

Emit = Callable[[i.Intent], None]


def _choice(label: str, words: tuple[str, ...], chosen: Callable[[str], None]) -> tuple[QLabel, QComboBox]:
    box = QComboBox()
    box.addItems(words)
    box.setAccessibleName(label.replace("&", ""))
    box.textActivated.connect(chosen)
    text = QLabel(label)
    text.setBuddy(box)
    return text, box


class WorstPanel(TablePanel):
    """Worst blocks."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit, "worst blocks")
        row = QHBoxLayout()
        for part in _choice("&Ranked by", WORST_BY, lambda word: emit(i.SetWorstBy(word))):
            row.addWidget(part)
        row.addStretch()
        self.room.insertLayout(0, row)


class OutliersPanel(TablePanel):
    """Rows and columns by peak or error."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit, "outliers")
        row = QHBoxLayout()
        parts = (
            *_choice("&Of", ("columns", "rows"), lambda word: emit(i.SetMarginal(of=word))),
            *_choice("&Ranked by", ("peak", "error", "weighted"), lambda word: emit(i.SetMarginal(by=word))),
        )
        for part in parts:
            row.addWidget(part)
        row.addStretch()
        self.room.insertLayout(0, row)


class BlockPanel(TablePanel):
    """One block."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit, "block")


class JobsPanel(TablePanel):
    """What runs."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit, "jobs")


class LogPanel(TablePanel):
    """What was said."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit, "log")
