"""Which axes of a tensor of three or more are rows and columns, and where the others stand."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSlider, QSpinBox, QWidget

from .. import intents as i
from ..state import Axes

__all__ = ["AxesBar"]

FLAT = "leading axes flattened"


class AxesBar(QWidget):
    """Hidden for matrices."""

    def __init__(self, emit: Callable[[i.Intent], None]) -> None:
        super().__init__()
        self._emit = emit
        self._shape: tuple[int, ...] = ()
        self._axes: Axes | None = None
        self.pairs = QComboBox()
        self.pairs.setAccessibleName("axes")
        self.pairs.activated.connect(lambda _n: self._chosen())
        label = QLabel("A&xes")
        label.setBuddy(self.pairs)
        self.room = QHBoxLayout(self)
        self.room.setContentsMargins(0, 0, 0, 0)
        self.room.addWidget(label)
        self.room.addWidget(self.pairs)
        self.places = QHBoxLayout()
        self.room.addLayout(self.places)
        self.room.addStretch()
        self._spins: dict[int, QSpinBox] = {}

    def draw(self, shape: tuple[int, ...], axes: Axes | None, fixed: str) -> None:
        """Show the axes of a shape."""
        self.setVisible(len(shape) > 2)
        if len(shape) < 3:
            self._shape = ()
            return
        if shape != self._shape:
            self._shape = shape
            self.pairs.clear()
            self.pairs.addItem(FLAT, None)
            for row, column in itertools.permutations(range(len(shape)), 2):
                said = f"rows: axis {row} ({shape[row]}), columns: axis {column} ({shape[column]})"
                self.pairs.addItem(said, (row, column))
        self.pairs.setEnabled(not fixed)
        self.pairs.setToolTip(fixed)
        wanted = None if axes is None else (axes.row, axes.column)
        self.pairs.setCurrentIndex(next(n for n in range(self.pairs.count()) if self.pairs.itemData(n) == wanted))
        before, self._axes = self._axes, axes
        if axes is None or before is None or (before.row, before.column) != (axes.row, axes.column):
            self._sliders(axes)
        for axis, spin in self._spins.items():
            if axes is not None:
                spin.blockSignals(True)
                spin.setValue(axes.index[axis])
                spin.blockSignals(False)

    def _sliders(self, axes: Axes | None) -> None:
        while self.places.count():
            widget = self.places.takeAt(0).widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._spins = {}
        if axes is None:
            return
        for axis in range(len(self._shape)):
            if axis in (axes.row, axes.column):
                continue
            spin, slider = QSpinBox(), QSlider(Qt.Orientation.Horizontal)
            for part in (spin, slider):
                part.setRange(0, self._shape[axis] - 1)
                part.setValue(axes.index[axis])
                part.setAccessibleName(f"index of axis {axis}")
            slider.setFixedWidth(120)
            slider.valueChanged.connect(spin.setValue)
            spin.valueChanged.connect(slider.setValue)
            spin.valueChanged.connect(lambda value, a=axis: self._moved(a, value))
            self._spins[axis] = spin
            for widget in (QLabel(f"axis {axis}"), slider, spin):
                self.places.addWidget(widget)

    def _chosen(self) -> None:
        pair = self.pairs.currentData()
        if pair is None:
            self._emit(i.SetAxes(None))
        else:
            index = self._axes.index if self._axes is not None else (0,) * len(self._shape)
            self._emit(i.SetAxes(Axes(*pair, index)))

    def _moved(self, axis: int, value: int) -> None:
        if self._axes is not None and self._axes.index[axis] != value:
            index = tuple(value if a == axis else at for a, at in enumerate(self._axes.index))
            self._emit(i.SetAxes(Axes(self._axes.row, self._axes.column, index)))
