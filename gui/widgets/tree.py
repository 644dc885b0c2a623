"""The tensor tree and its filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PyQt6.QtCore import QAbstractItemModel, QModelIndex, QSize, Qt, QTimer
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QLabel, QLineEdit, QTreeView, QVBoxLayout, QWidget

from .. import intents as i
from ..present.tree import HEADERS, Node, TreeData, cells

__all__ = ["TreePanel"]

_DELAY = 80
_OPEN = 40
"""Folders of a tree with at most so many rows are opened at once."""


class _Item:
    __slots__ = ("children", "node", "parent", "row")

    def __init__(self, node: Node, parent: _Item | None, row: int) -> None:
        self.node, self.parent, self.row = node, parent, row
        self.children: list[_Item] | None = None

    def kids(self) -> list[_Item]:
        if self.children is None:  # made when they are looked at: a file may have a hundred thousand
            self.children = [_Item(child, self, n) for n, child in enumerate(self.node.children)]
        return self.children


class _Model(QAbstractItemModel):
    def __init__(self) -> None:
        super().__init__()
        self.root = _Item(Node("", None), None, 0)

    def put(self, nodes: tuple[Node, ...]) -> None:
        self.beginResetModel()
        self.root = _Item(Node("", None, nodes), None, 0)
        self.endResetModel()

    def item(self, index: QModelIndex) -> _Item:
        return index.internalPointer() if index.isValid() else self.root

    def index(self, row: int, column: int, parent: QModelIndex = QModelIndex()) -> QModelIndex:  # noqa: B008
        kids = self.item(parent).kids()
        return self.createIndex(row, column, kids[row]) if 0 <= row < len(kids) else QModelIndex()

    def parent(self, index: QModelIndex) -> QModelIndex:  # type: ignore[override]
        above = self.item(index).parent
        return QModelIndex() if above is None or above is self.root else self.createIndex(above.row, 0, above)

    def rowCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.column() > 0 else len(self.item(parent).node.children)

    def columnCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008
        return len(HEADERS)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        node = self.item(index).node
        if role == Qt.ItemDataRole.DisplayRole:
            return cells(node)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return node.row.name if node.row is not None else node.label
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() > 2:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return HEADERS[section]
        return None


class TreePanel(QWidget):
    """Tensors of the open file."""

    def __init__(self, emit: Callable[[i.Intent], None]) -> None:
        super().__init__()
        self._emit = emit
        self._data: TreeData | None = None
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("filter, for example  down_proj  or  layers.#.mlp")
        self.filter.setClearButtonEnabled(True)
        self.filter.setAccessibleName("filter tensors")
        self._wait = QTimer(self)
        self._wait.setSingleShot(True)
        self._wait.setInterval(_DELAY)
        self._wait.timeout.connect(lambda: emit(i.SetFilter(self.filter.text())))
        self.filter.textEdited.connect(lambda _text: self._wait.start())
        self._model = _Model()
        self.view = QTreeView()
        self.view.setModel(self._model)
        self.view.setUniformRowHeights(True)
        self.view.setAlternatingRowColors(True)
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setAccessibleName("tensors")
        header = self.view.header()
        header.setStretchLastSection(False)
        header.setResizeContentsPrecision(60)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(40)
        self.view.setIndentation(14)
        self.view.selectionModel().currentRowChanged.connect(self._chosen)
        self.chips, self.summary = QLabel(), QLabel()
        self.chips.setWordWrap(True)
        room = QVBoxLayout(self)
        room.setContentsMargins(6, 6, 6, 6)
        for part in (self.filter, self.view, self.chips, self.summary):
            room.addWidget(part)

    def sizeHint(self) -> QSize:
        """As wide as names and shapes need."""
        return QSize(380, 600)

    def draw(self, data: TreeData) -> None:
        """Show a tree, keep what was unfolded, and follow the selection."""
        before, self._data = self._data, data
        if before is None or (data.nodes is not before.nodes and data.nodes != before.nodes):
            self._put(data)
        if self.filter.text() != data.filter and not self._wait.isActive():
            self.filter.setText(data.filter)
        self.chips.setText(" \u00b7 ".join(data.chips))
        self.chips.setVisible(bool(data.chips))
        self.summary.setText(data.summary)
        self._follow(data.selected)

    def _put(self, data: TreeData) -> None:
        self.view.selectionModel().blockSignals(True)
        self._model.put(data.nodes)
        self.view.selectionModel().blockSignals(False)
        self.view.setRootIsDecorated(any(node.children for node in data.nodes))
        if not data.flat and len(data.nodes) <= _OPEN:
            self.view.expandToDepth(0)

    def _follow(self, name: str) -> None:
        current = self._model.item(self.view.currentIndex()).node.row
        if not name or (current is not None and current.name == name):
            return
        index = self._find(QModelIndex(), name)
        if index.isValid():
            self.view.selectionModel().blockSignals(True)
            self.view.setCurrentIndex(index)
            self.view.selectionModel().blockSignals(False)
            self.view.scrollTo(index)
            self.view.viewport().update()

    def _find(self, parent: QModelIndex, name: str) -> QModelIndex:
        for row, item in enumerate(self._model.item(parent).kids()):
            if item.node.row is not None and item.node.row.name == name:
                return self._model.index(row, 0, parent)
            if item.node.children and _within(item.node, name):
                found = self._find(self._model.index(row, 0, parent), name)
                if found.isValid():
                    return found
        return QModelIndex()

    def _chosen(self, index: QModelIndex, _before: QModelIndex) -> None:
        row = self._model.item(index).node.row
        if row is not None:
            self._emit(i.SelectTensor(row.name))

    def take_focus(self) -> None:
        """Put the cursor into the filter."""
        self.filter.setFocus()
        self.filter.selectAll()

    def keyPressEvent(self, event: Any) -> None:
        """Down and Enter go from the filter to the list."""
        if self.filter.hasFocus() and event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.view.setFocus()
            if not self._model.item(self.view.currentIndex()).node.row and self._model.rowCount():
                self.view.setCurrentIndex(self._model.index(0, 0))
            return
        super().keyPressEvent(event)


def _within(node: Node, name: str) -> bool:
    return any(
        (child.row is not None and child.row.name == name) or (child.children and _within(child, name))
        for child in node.children
    )
