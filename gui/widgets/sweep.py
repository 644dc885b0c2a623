"""The sweep: the table and the chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyqtgraph as pg
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QHBoxLayout, QPushButton, QSplitter, QVBoxLayout, QWidget

from .. import intents as i
from ..present.sweep import SweepData
from . import theme
from .table import TablePanel

__all__ = ["SweepPanel"]


class SweepPanel(QWidget):
    """Schemes of a sweep by size and error."""

    def __init__(self, emit: Callable[[i.Intent], None]) -> None:
        super().__init__()
        self._emit = emit
        self.table = TablePanel(emit, "sweep")
        self.chart = pg.PlotWidget()
        self.chart.setAccessibleName("SQNR against bits per weight")
        self.chart.setLabel("left", "SQNR [dB]")
        self.chart.setLabel("bottom", "bits / weight")
        self.chart.hideButtons()
        self.chart.getPlotItem().setMenuEnabled(False)
        self.chart.addLegend(offset=(1, 1), colCount=3, labelTextSize="8pt")
        self.start = QPushButton("S&weep this tensor")
        self.start.clicked.connect(lambda: emit(i.Sweep()))
        self.refine = QPushButton("&Refine on all elements")
        self.refine.clicked.connect(lambda: emit(i.Sweep(exact=True)))
        row = QHBoxLayout()
        row.addWidget(self.start)
        row.addWidget(self.refine)
        row.addStretch()
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(self.table)
        split.addWidget(self.chart)
        split.setSizes([560, 420])
        room = QVBoxLayout(self)
        room.setContentsMargins(6, 6, 6, 6)
        room.addLayout(row)
        room.addWidget(split, 1)

    def draw(self, data: SweepData) -> None:
        """Show rows and points."""
        self.table.draw(data.table)
        self.refine.setEnabled(data.sampled and not data.running)
        self.chart.clear()
        if not data.points:
            return
        groups = ((False, "o", 2, "beaten"), (True, "d", 0, "not beaten"))
        for front, symbol, colour, name in groups:
            spots = [
                {"pos": (p.bits, p.sqnr_db), "data": p, "size": 13 if front else 8}
                for p in data.points
                if p.front is front
            ]
            scatter = pg.ScatterPlotItem(
                spots=spots, symbol=symbol, brush=theme.series(colour), pen=pg.mkPen(self.palette().base().color()),
                hoverable=True, tip=lambda x, y, data: f"{data.label}\n{x:.3g} bits/w, {y:.2f} dB", name=name,
            )  # fmt: skip
            scatter.sigClicked.connect(self._picked)
            self.chart.addItem(scatter)
        if len(data.front) > 1:
            self.chart.plot(*zip(*data.front, strict=True), pen=pg.mkPen(theme.series(0), width=1.5))
        if data.guide:
            pen = pg.mkPen(theme.muted(), style=Qt.PenStyle.DashLine)
            self.chart.plot(*zip(*data.guide, strict=True), pen=pen, name="6.02 dB/bit")
        bits, sqnr = [p.bits for p in data.points], [p.sqnr_db for p in data.points]
        self.chart.setXRange(min(bits), max(bits), padding=0.08)
        room = 0.25 * (max(sqnr) - min(sqnr))  # for the legend
        self.chart.setYRange(min(sqnr), max(sqnr) + room, padding=0.05)

    def _picked(self, _item: Any, spots: Any, event: Any) -> None:
        if event.double() and len(spots):
            self._emit(spots[0].data().intent)
