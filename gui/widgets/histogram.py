"""Three histograms side by side: values, values over their scale, error in steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QLabel, QVBoxLayout, QWidget

from ..intents import Intent
from ..present.histogram import HistogramData
from . import theme

__all__ = ["HistogramPanel"]

_TITLES = ("x, levels of the picked block", "x / scale, levels, clipping", "error / scale")


class HistogramPanel(QWidget):
    """Histograms."""

    def __init__(self, emit: Callable[[Intent], None]) -> None:
        super().__init__()
        self.graphics = pg.GraphicsLayoutWidget()
        self.setAccessibleName("histograms")
        self.plots = [self.graphics.addPlot(row=0, col=n) for n, title in enumerate(_TITLES)]
        for plot in self.plots:
            plot.hideButtons()
            plot.setMenuEnabled(False)
            plot.setMouseEnabled(x=True, y=False)
            plot.getAxis("left").setWidth(46)
            for side in ("left", "bottom"):
                plot.getAxis(side).enableAutoSIPrefix(False)
        for plot, title in zip(self.plots, _TITLES, strict=True):
            plot.setLabel("bottom", title)
        self.facts = QLabel()
        self.facts.setWordWrap(True)
        self.facts.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        room = QVBoxLayout(self)
        room.setContentsMargins(6, 6, 6, 6)
        room.addWidget(self.graphics, 1)
        room.addWidget(self.facts)

    def draw(self, data: HistogramData) -> None:
        """Show histograms and levels."""
        self.facts.setText(" \u00b7 ".join(part for part in (data.facts, data.clipped, data.note) if part))
        for plot, edges, counts in zip(
            self.plots,
            (data.edges, data.x_edges, data.residual_edges),
            (data.counts, data.x_counts, data.residual_counts),
            strict=True,
        ):
            plot.clear()
            if plot is self.plots[0]:
                plot.setLabel("left", "log10(1 + count)" if data.log else "count")
            if not len(counts):
                continue
            heights = np.log10(1.0 + counts) if data.log else counts.astype(float)
            plot.plot(
                edges, heights, stepMode="center", fillLevel=0, brush=pg.mkBrush(theme.series(0)), pen=pg.mkPen(None)
            )
            plot.setXRange(float(edges[0]), float(edges[-1]), padding=0.02)
            plot.setYRange(0, max(float(heights.max()), 1e-9), padding=0.05)
        _levels(self.plots[0], data.block_levels)
        _levels(self.plots[1], data.levels)
        if len(data.levels):
            ends = self.plots[1].viewRange()[0]
            far = (ends[0] - (ends[1] - ends[0]), ends[1] + (ends[1] - ends[0]))
            for low, high in ((far[0], data.clip[0]), (data.clip[1], far[1])):
                brush = pg.mkBrush(theme.accent().red(), theme.accent().green(), theme.accent().blue(), 50)
                region = pg.LinearRegionItem((low, high), movable=False, brush=brush, pen=pg.mkPen(theme.accent()))
                self.plots[1].addItem(region, ignoreBounds=True)


def _levels(plot: pg.PlotItem, levels: np.ndarray) -> None:
    """Reconstruction levels as ticks along the bottom; very many say nothing and are left out."""
    if not 0 < len(levels) <= 64:
        return
    top = plot.viewRange()[1][1] * 0.92
    xs, ys = np.repeat(levels, 2), np.tile([0.0, top], len(levels))
    pen = pg.mkPen(theme.series(1), width=1, style=Qt.PenStyle.DashLine)
    curve = pg.PlotCurveItem(xs, ys, connect="pairs", pen=pen)
    plot.addItem(curve, ignoreBounds=True)
