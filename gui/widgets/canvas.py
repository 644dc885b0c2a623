"""The heatmap: pyqtgraph's image, axes and colour bar, moved by the state and moving it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QRectF, Qt, QTimer
from PyQt6.QtWidgets import QLabel, QVBoxLayout, QWidget

from .. import intents as i
from ..present.canvas import CanvasData
from ..present.colours import mapped, table
from ..state import Region
from . import theme
from .axes import AxesBar
from .overlay import Overlay

__all__ = ["CanvasPanel", "SecondCanvasPanel"]

_SETTLE = 30


class CanvasPanel(QWidget):
    """A heatmap with its block grid, marginals and colour bar."""

    def __init__(self, emit: Callable[[i.Intent], None]) -> None:
        super().__init__()
        self._emit = emit
        self._data: CanvasData | None = None
        self._moving = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("heatmap")
        self.title, self.legend = QLabel(), QLabel()
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.legend.setWordWrap(True)
        self.axes = AxesBar(emit)
        self.graphics = pg.GraphicsLayoutWidget()
        self.graphics.setFocusProxy(self)
        self._lay_out()
        room = QVBoxLayout(self)
        room.setContentsMargins(6, 4, 6, 4)
        room.setSpacing(2)
        for part, stretch in ((self.title, 0), (self.axes, 0), (self.graphics, 1), (self.legend, 0)):
            room.addWidget(part, stretch)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(_SETTLE)
        self._settle.timeout.connect(self._tell_region)

    def _lay_out(self) -> None:
        self.across = self.graphics.addPlot(row=0, col=0)
        self.plot = self.graphics.addPlot(row=1, col=0)
        self.down = self.graphics.addPlot(row=1, col=1)
        self.across.setMaximumHeight(72)
        self.down.setMaximumWidth(92)
        self.across.setXLink(self.plot)
        self.down.setYLink(self.plot)
        for plot in (self.across, self.plot, self.down):
            plot.hideButtons()
            plot.setMenuEnabled(False)
        for plot in (self.across, self.down):
            plot.setMouseEnabled(x=False, y=False)
        self.across.hideAxis("bottom")
        self.down.hideAxis("left")
        self.across.getAxis("left").setWidth(62)
        self.plot.getAxis("left").setWidth(62)
        self.across.getAxis("left").setTicks([])
        self.down.getAxis("bottom").setTicks([])
        for plot, side in ((self.across, "left"), (self.down, "bottom"), (self.plot, "left"), (self.plot, "bottom")):
            plot.getAxis(side).enableAutoSIPrefix(False)
        self.plot.setLabel("left", "row")
        self.plot.setLabel("bottom", "column")
        self.plot.invertY(True)
        self.down.invertY(True)
        self.image = pg.ImageItem()
        self.plot.addItem(self.image)
        self.clips = pg.ImageItem()
        self.clips.setZValue(1)
        self.plot.addItem(self.clips)
        self.overlay = Overlay(self.plot, self)
        self.across_line = self.across.plot()
        self.down_line = self.down.plot()
        self.bar = pg.ColorBarItem(interactive=False, width=14, colorMap=pg.ColorMap(None, table("diverging", False)))
        self.graphics.addItem(self.bar, row=1, col=2)
        self.plot.getViewBox().sigRangeChanged.connect(self._moved)
        self.plot.getViewBox().sigResized.connect(self._moved)
        self._hover = pg.SignalProxy(self.graphics.scene().sigMouseMoved, rateLimit=30, slot=self._hovered)
        self.graphics.scene().sigMouseClicked.connect(self._clicked)

    # ---- state down --------------------------------------------------------------------------------------------

    def draw(self, data: CanvasData) -> None:
        """Show a picture, a grid, a cursor."""
        before, self._data = self._data, data
        self.title.setText(data.title)
        self.title.setToolTip(data.title)
        notes = [data.legend, data.scale_note, data.axes_note]
        self.legend.setText(" \u00b7 ".join(note for note in notes if note))
        self.axes.draw(data.shape, data.axes, data.fixed)
        if before is None or data.picture is not before.picture:
            self._paint(data)
        if before is None or data.epoch != before.epoch or data.matrix != before.matrix:
            self._move_to(data)
        self.overlay.draw(data, before is not None and data.pulse != before.pulse)
        if before is None or data.across is not before.across:
            self._draw_marginals(data)

    def _paint(self, data: CanvasData) -> None:
        p = data.picture
        if p is None or not p.cells.size:
            self.image.clear()
            self.clips.clear()
            self.bar.setVisible(False)
            return
        dark = theme.is_dark()
        self.image.setImage(mapped(p.cells, p.kind, p.low, p.high, dark), autoLevels=False, levels=(0, 255))
        bottom = p.top + p.cells.shape[0] * p.factor[0]
        right = p.left + p.cells.shape[1] * p.factor[1]
        self.image.setRect(QRectF(p.left, p.top, right - p.left, bottom - p.top))
        if p.clipped is not None and p.clipped.any() and p.clipped.shape == p.cells.shape:
            marks = np.zeros((*p.clipped.shape, 4), np.uint8)
            marks[p.clipped] = (255, 220, 0, 255)
            self.clips.setImage(marks, autoLevels=False, levels=(0, 255))
            self.clips.setRect(QRectF(p.left, p.top, right - p.left, bottom - p.top))
        else:
            self.clips.clear()
        self.bar.setVisible(True)
        self.bar.setColorMap(pg.ColorMap(None, table(p.kind, dark)))
        self.bar.setLevels((p.low, p.high))

    def _move_to(self, data: CanvasData) -> None:
        if data.region is None:
            return
        r = data.region
        self._moving = True
        self.plot.getViewBox().setLimits(
            xMin=-0.5 * max(data.matrix[1], 1), xMax=1.5 * max(data.matrix[1], 1), yMin=-0.5 * max(data.matrix[0], 1),
            yMax=1.5 * max(data.matrix[0], 1), minXRange=2, minYRange=1,
        )  # fmt: skip
        self.plot.setRange(QRectF(r.left, r.top, max(r.right - r.left, 1), max(r.bottom - r.top, 1)), padding=0)
        self._moving = False

    def _draw_marginals(self, data: CanvasData) -> None:
        for plot, curve, marginal, flip in (
            (self.across, self.across_line, data.across, False),
            (self.down, self.down_line, data.down, True),
        ):
            plot.setVisible(marginal is not None)
            if marginal is None:
                continue
            x, y = (marginal.values, marginal.places) if flip else (marginal.places, marginal.values)
            curve.setData(x, y, pen=pg.mkPen(theme.series(0), width=1))
            top = float(np.nanmax(marginal.values)) or 1.0
            if flip:
                plot.setXRange(0, top, padding=0.05)
                plot.setLabel("bottom", marginal.label.split(" of ")[0])
            else:
                plot.setYRange(0, top, padding=0.05)
                plot.setLabel("left", marginal.label.split(" of ")[0])

    # ---- intents up --------------------------------------------------------------------------------------------

    def _moved(self, *_: Any) -> None:
        if not self._moving:
            self._settle.start()

    def _tell_region(self) -> None:
        view = self.plot.getViewBox()
        rect = view.viewRect()
        if self._data is None or not self.isVisible() or view.width() < 2:
            return  # a canvas that nobody sees has no say in what is drawn
        rows, columns = self._data.matrix
        top, left = max(int(np.floor(rect.top())), 0), max(int(np.floor(rect.left())), 0)
        bottom, right = min(int(np.ceil(rect.bottom())), rows), min(int(np.ceil(rect.right())), columns)
        if bottom > top and right > left:
            size = (max(int(view.width()), 16), max(int(view.height()), 16))
            self._emit(i.SetRegion(Region(top, bottom, left, right), size))

    def _place(self, position: Any) -> tuple[int, int] | None:
        if self._data is None or not self.plot.getViewBox().sceneBoundingRect().contains(position):
            return None
        point = self.plot.getViewBox().mapSceneToView(position)
        place = (int(np.floor(point.y())), int(np.floor(point.x())))
        rows, columns = self._data.matrix
        return place if 0 <= place[0] < rows and 0 <= place[1] < columns else None

    def _hovered(self, event: Any) -> None:
        self._emit(i.PointAt(self._place(event[0])))

    def _clicked(self, event: Any) -> None:
        place = self._place(event.scenePos())
        if place is not None and event.button() == Qt.MouseButton.LeftButton:
            self.setFocus()
            self._emit(i.PickPlace(place))

    def keyPressEvent(self, event: Any) -> None:
        """Arrows move the cursor, Enter picks its block."""
        steps = {Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0)}
        data = self._data
        if data is not None and data.region is not None and event.key() in steps:
            r = data.region
            at = data.cursor or ((r.top + r.bottom) // 2, (r.left + r.right) // 2)
            far = 16 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
            step = steps[event.key()]
            rows, columns = data.matrix
            place = (
                min(max(at[0] + far * step[0], 0), rows - 1), min(max(at[1] + far * step[1], 0), columns - 1),
            )  # fmt: skip
            self._emit(i.PointAt(place))
        elif data is not None and data.cursor and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._emit(i.PickPlace(data.cursor))
        else:
            super().keyPressEvent(event)

    def zoom(self, factor: float) -> None:
        """Show more or less around the middle."""
        self.plot.getViewBox().scaleBy((factor, factor))

    def one_to_one(self) -> None:
        """One element, one pixel, around the middle."""
        view = self.plot.getViewBox()
        centre = view.viewRect().center()
        wide, high = view.width(), view.height()
        self.plot.setRange(QRectF(centre.x() - wide / 2, centre.y() - high / 2, wide, high), padding=0)

    def restyle(self) -> None:
        """Take the colours of a new palette."""
        data, self._data = self._data, None
        palette = self.palette()
        self.graphics.setBackground(palette.base().color())
        for plot in (self.across, self.plot, self.down):
            for axis in plot.axes.values():
                axis["item"].setPen(palette.text().color())
                axis["item"].setTextPen(palette.text().color())
        self.bar.axis.setPen(palette.text().color())
        self.bar.axis.setTextPen(palette.text().color())
        if data is not None:
            self.draw(data)


class SecondCanvasPanel(CanvasPanel):
    """The heatmap of B; hidden unless two are compared."""

    def draw(self, data: CanvasData) -> None:
        """Show B where there is a picture of it."""
        self.setVisible(data.picture is not None)
        super().draw(data)
