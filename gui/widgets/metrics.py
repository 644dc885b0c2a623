"""Metrics of A and B."""

from __future__ import annotations

from collections.abc import Callable

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from ..intents import Intent
from ..present.metrics import MetricsData

__all__ = ["MetricsPanel"]


class MetricsPanel(QWidget):
    """One line, and a table with A, B and the difference."""

    def __init__(self, emit: Callable[[Intent], None]) -> None:
        super().__init__()
        self.line, self.note = QLabel(), QLabel()
        for label in (self.line, self.note):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.table = QTableWidget(0, 4)
        self.table.setAccessibleName("metrics")
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 5)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setShowGrid(False)
        self.table.setTabKeyNavigation(False)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        room = QVBoxLayout(self)
        room.setContentsMargins(6, 6, 6, 6)
        for part in (self.line, self.table, self.note):
            room.addWidget(part)

    def draw(self, data: MetricsData) -> None:
        """Show numbers."""
        self.line.setText(data.line)
        self.note.setText(data.note)
        self.note.setVisible(bool(data.note))
        two = bool(data.title_b)
        self.table.setHorizontalHeaderLabels(["", "A", "B" if two else "", "B \u2212 A" if two else ""])
        self.table.setColumnHidden(2, not two)
        self.table.setColumnHidden(3, not two)
        self.table.setRowCount(len(data.rows))
        for row, metric in enumerate(data.rows):
            for column, text in enumerate((metric.name, metric.a, metric.b, metric.delta)):
                item = QTableWidgetItem(text)
                item.setToolTip(metric.tip)
                if column:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.table.setItem(row, column, item)
        for column, title in ((1, data.title_a), (2, data.title_b)):
            item = self.table.horizontalHeaderItem(column)
            if item is not None:
                item.setToolTip(title)
