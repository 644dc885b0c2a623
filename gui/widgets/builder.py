"""The scheme builder: fields, what every place says, and buttons that make a refused scheme a good one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PyQt6.QtCore import QSize, Qt
from PyQt6.QtGui import QStandardItem
from PyQt6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from .. import intents as i
from ..present.builder import BuilderData, Field, Option, Place
from ..state import Choice
from . import theme

__all__ = ["BuilderPanel"]

Emit = Callable[[i.Intent], None]


class _Box(QComboBox):
    """A choice whose impossible values stay visible, greyed out, with the reason as their tip."""

    def __init__(self, label: str, chosen: Callable[[str], None], free: bool = False) -> None:
        super().__init__()
        self.setAccessibleName(label.replace("&", ""))
        self.setEditable(free)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumContentsLength(8)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._free, self._current = free, ""
        self.textActivated.connect(chosen)
        if free:
            self.lineEdit().editingFinished.connect(lambda: self._typed(chosen))

    def _typed(self, chosen: Callable[[str], None]) -> None:
        text = self.currentText().strip()
        if text and text != self._current:
            chosen(text)

    def put(self, current: str, options: tuple[Option, ...]) -> None:
        """Show options."""
        self.blockSignals(True)
        model = self.model()
        model.clear()
        for option in options:
            item = QStandardItem(option.value if option.enabled else f"{option.value}  \u2715")
            item.setData(option.value, Qt.ItemDataRole.UserRole)
            item.setEnabled(option.enabled)
            item.setToolTip(option.why)
            model.appendRow(item)
        self._current = current
        self.setCurrentIndex(next((n for n, o in enumerate(options) if o.value == current), -1))
        if self._free:
            self.setEditText(current)
        self.blockSignals(False)

    def wheelEvent(self, event: Any) -> None:
        """A wheel over a closed box scrolls the panel; it changes nothing."""
        event.ignore()


class BuilderPanel(QWidget):
    """The scheme that is shown, field by field."""

    def __init__(self, emit: Emit) -> None:
        super().__init__()
        self._emit = emit
        self._data: BuilderData | None = None
        self._open: set[str] = set()
        inner = QWidget()
        self.room = QVBoxLayout(inner)
        self.room.setContentsMargins(8, 6, 8, 6)
        self.text = QLineEdit()
        self.text.setAccessibleName("scheme text")
        self.text.editingFinished.connect(self._typed)
        self.preset = _Box("preset", lambda word: emit(i.SetChoice(Choice(word))))
        self.form = QFormLayout()
        self.form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self.form.setLabelAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for label, widget in (("Scheme te&xt", self.text), ("&Preset", self.preset)):
            self.form.addRow(label, widget)
        self.boxes: dict[str, _Box] = {}
        self.size, self.levels, self.findings, self.debug = QLabel(), QLabel(), QLabel(), QLabel()
        for label in (self.size, self.levels, self.findings, self.debug):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.debug.setStyleSheet("font-family: monospace; font-size: 9pt")
        self.room.addLayout(self.form)
        for label in (self.size, self.levels, self.findings):
            self.room.addWidget(label)
        self.places = QVBoxLayout()
        self.places.setSpacing(2)
        self.room.addLayout(self.places)
        self.room.addWidget(self.debug)
        self.room.addStretch()
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inner)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area)

    def sizeHint(self) -> QSize:
        """As wide as a refusal can be read in."""
        return QSize(370, 460)

    def draw(self, data: BuilderData) -> None:
        """Show a scheme."""
        before, self._data = self._data, data
        if before == data:
            return
        if not self.text.hasFocus() or not self.text.isModified():
            self.text.setText(data.scheme)
        self.preset.put(data.preset, data.presets)
        self.preset.setPlaceholderText("own scheme")
        self._fields((*data.fields, *data.options))
        self.size.setText(data.size)
        self.levels.setText(data.levels)
        self.findings.setText("\n".join(f"\u26a0 {text}" for text in data.findings))
        self.findings.setVisible(bool(data.findings))
        self.debug.setText(data.debug)
        if before is None or before.places != data.places or before.broken != data.broken:
            self._list(data.places if data.broken is None else (data.broken,))

    def _fields(self, fields: tuple[Field, ...]) -> None:
        wanted = {field.part for field in fields}
        for field in fields:
            if field.part not in self.boxes:
                chosen = lambda word, part=field.part: self._emit(i.EditScheme(part, word.split("  ")[0]))  # noqa: E731
                self.boxes[field.part] = _Box(field.label, chosen, field.free)
                self.form.addRow(field.label, self.boxes[field.part])
            self.boxes[field.part].put(field.current, field.options)
        for part, box in self.boxes.items():
            self.form.setRowVisible(box, part in wanted)

    def _list(self, places: tuple[Place, ...]) -> None:
        while self.places.count():
            item = self.places.takeAt(0)
            if item.widget() is not None:
                item.widget().hide()
                item.widget().deleteLater()
        for place in places:
            self.places.addWidget(self._place(place))

    def _place(self, place: Place) -> QWidget:
        holder = QWidget()
        room = QVBoxLayout(holder)
        room.setContentsMargins(0, 0, 0, 0)
        room.setSpacing(1)
        head = QPushButton()
        head.setFlat(True)
        mark, colour = ("\u2713", theme.good_colour()) if place.fine else ("\u2715", theme.warn_colour())
        said = "fine" if place.fine else f"refused \u00b7 {place.code}"
        head.setText(f"{mark}  {place.name} \u00b7 {place.asked}: {said}")
        head.setToolTip(place.tip or place.message)
        head.setStyleSheet(f"QPushButton {{ color: {colour}; text-align: left; border: none; padding: 2px }}")
        head.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        room.addWidget(head)
        if not place.fine:
            card = self._card(place)
            opened = place.name in self._open or place.name in ("cpu", "scheme")
            card.setVisible(opened)
            head.clicked.connect(lambda _=False, c=card, n=place.name: self._fold(c, n))
            room.addWidget(card)
        return holder

    def _fold(self, card: QWidget, name: str) -> None:
        card.setVisible(not card.isVisible())
        (self._open.add if card.isVisible() else self._open.discard)(name)

    def _card(self, place: Place) -> QWidget:
        card = QFrame()
        card.setFrameShape(QFrame.Shape.StyledPanel)
        room = QVBoxLayout(card)
        room.setContentsMargins(8, 6, 8, 6)
        texts = [place.message, place.cause, *(f"\u2022 {text}" for text in place.solutions)]
        for number, text in enumerate(texts):
            label = QLabel(text)
            label.setWordWrap(True)
            label.setMinimumWidth(1)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            if number == 0:
                label.setStyleSheet("font-weight: bold")
            room.addWidget(label)
        for repair in place.repairs:
            button = QPushButton(f"Use {repair.label}")
            button.setMaximumWidth(300)
            button.setToolTip(repair.choice.scheme)
            button.clicked.connect(lambda _=False, c=repair.choice: self._emit(i.SetChoice(c)))
            row = QHBoxLayout()
            row.addWidget(button)
            row.addStretch()
            room.addLayout(row)
        return card

    def _typed(self) -> None:
        text = self.text.text().strip()
        self.text.setModified(False)
        if self._data is not None and text and text != self._data.scheme:
            self._emit(i.SetChoice(Choice(text)))

    def take_focus(self) -> None:
        """Put the cursor into the scheme's text."""
        self.text.setFocus()
        self.text.selectAll()
