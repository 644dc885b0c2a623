"""What is drawn over a heatmap: block edges, padding, the block that was picked, the cursor, a message."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QObject, QRectF, Qt, QTimer
from PyQt6.QtGui import QBrush, QPen
from PyQt6.QtWidgets import QGraphicsRectItem

from ..present.canvas import CanvasData
from ..state import Region
from . import theme

__all__ = ["Overlay"]

_PULSES = 6


class Overlay(QObject):
    """Marks over the image of a plot."""

    def __init__(self, plot: pg.PlotItem, parent: QObject) -> None:
        super().__init__(parent)
        self._plot = plot
        self._pulses = 0
        self._drawn: object = None
        self.lines = pg.PlotCurveItem(connect="pairs")
        self.lines.setZValue(2)
        plot.addItem(self.lines)
        self.box = QGraphicsRectItem()
        self.box.setZValue(4)
        plot.addItem(self.box, ignoreBounds=True)
        self.padding: list[QGraphicsRectItem] = []
        self.cross = tuple(pg.InfiniteLine(angle=angle) for angle in (90, 0))
        for line in self.cross:
            line.setZValue(3)
            plot.addItem(line, ignoreBounds=True)
        self.message = pg.TextItem(anchor=(0.5, 0.5))
        self.message.setZValue(9)
        plot.addItem(self.message, ignoreBounds=True)
        self._beat = QTimer(self)
        self._beat.setInterval(110)
        self._beat.timeout.connect(self._pulse)

    def draw(self, data: CanvasData, pulse: bool) -> None:
        """Show the marks; a block that was just picked pulses."""
        self._draw_grid(data)
        self.box.setVisible(data.box is not None)
        if data.box is not None:
            top, left, bottom, right = data.box
            self.box.setRect(QRectF(left, top, right - left, bottom - top))
            self._box_pen(2)
        for line, at in zip(self.cross, (data.cursor or (0, 0))[::-1], strict=True):
            line.setVisible(data.cursor is not None)
            line.setPos(at + 0.5)
            line.setPen(pg.mkPen(theme.accent(), width=1, style=Qt.PenStyle.DotLine))
        self.message.setVisible(bool(data.message))
        if data.message:
            self.message.setText(data.message, color=theme.warn_colour())
            self.message.setPos(self._plot.getViewBox().viewRect().center())
        if pulse and data.box is not None:
            self._pulses = _PULSES
            self._beat.start()

    def _draw_grid(self, data: CanvasData) -> None:
        wanted = (data.rows_at, data.columns_at, data.padding, data.region, theme.is_dark())
        if wanted == self._drawn:
            return
        self._drawn = wanted
        rows, columns = data.matrix
        r = data.region or Region(0, rows, 0, columns)
        top, bottom, left, right = max(r.top, 0), min(r.bottom, rows), max(r.left, 0), min(r.right, columns)
        xs = [x for at in data.columns_at for x in (at, at)] + [x for _ in data.rows_at for x in (left, right)]
        ys = [y for _ in data.columns_at for y in (top, bottom)] + [y for at in data.rows_at for y in (at, at)]
        self.lines.setData(np.array(xs, float), np.array(ys, float), pen=pg.mkPen(theme.muted(), width=1))
        for item in self.padding:
            self._plot.removeItem(item)
        self.padding = []
        for y, x, y_end, x_end in data.padding:
            item = QGraphicsRectItem(QRectF(x, y, x_end - x, y_end - y))
            item.setPen(QPen(Qt.PenStyle.NoPen))
            item.setBrush(QBrush(theme.muted(), Qt.BrushStyle.BDiagPattern))
            self._plot.addItem(item, ignoreBounds=True)
            self.padding.append(item)

    def _box_pen(self, width: float) -> None:
        pen = QPen(theme.accent())
        pen.setCosmetic(True)
        pen.setWidthF(width)
        self.box.setPen(pen)

    def _pulse(self) -> None:
        self._pulses -= 1
        self._box_pen(5 if self._pulses % 2 else 2)
        if self._pulses <= 0:
            self._beat.stop()
