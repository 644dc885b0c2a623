"""One widget for every table: sorted by number, copied with or without headers, rows that send an intent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QSortFilterProxyModel, Qt
from PyQt6.QtGui import QAction, QGuiApplication, QKeySequence
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QLabel, QTableView, QVBoxLayout, QWidget

from ..intents import Intent
from ..present.text import Table, number

__all__ = ["TablePanel", "TableView"]

_SORT = Qt.ItemDataRole.UserRole


class _Model(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self.table = Table((), ())

    def put(self, table: Table) -> None:
        self.beginResetModel()
        self.table = table
        self.endResetModel()

    def rowCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.table.rows)

    def columnCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.table.headers)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        value = self.table.rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return number(value) if value is not None else ""
        if role == _SORT:
            if value is None or (isinstance(value, float) and value != value):
                return float("-inf")
            return value
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if isinstance(value, int | float) else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            tips = self.table.tips
            return tips[index.row()] if index.row() < len(tips) else str(value)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.table.headers[section]
        return None


class TableView(QTableView):
    """A table that a person can sort, walk and copy."""

    def __init__(self, emit: Callable[[Intent], None], name: str) -> None:
        super().__init__()
        self._emit = emit
        self._model = _Model()
        self._proxy = QSortFilterProxyModel(self)
        self._proxy.setSourceModel(self._model)
        self._proxy.setSortRole(_SORT)
        self.setModel(self._proxy)
        self.setSortingEnabled(True)
        self._proxy.sort(-1)
        self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        self.horizontalHeader().setStretchLastSection(True)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setResizeContentsPrecision(40)
        self.setTabKeyNavigation(False)
        self.setAccessibleName(name)
        self.doubleClicked.connect(self._choose)
        for text, headers, keys in (
            ("&Copy", False, QKeySequence(QKeySequence.StandardKey.Copy)),
            ("Copy with &Headers", True, QKeySequence()),
        ):
            action = QAction(text, self)
            action.setShortcut(keys)
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(lambda _=False, h=headers: self.copy(h))
            self.addAction(action)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def put(self, table: Table) -> None:
        """Show a table; columns get their width from the first one with rows."""
        before = self._model.table
        if table == before:
            return
        self._model.put(table)
        if table.rows and (not before.rows or before.headers != table.headers):
            self.resizeColumnsToContents()
            for column in range(len(table.headers)):
                self.setColumnWidth(column, min(self.columnWidth(column) + 12, 420))
        if 0 <= table.selected < len(table.rows):
            index = self._proxy.mapFromSource(self._model.index(table.selected, 0))
            self.setCurrentIndex(index)

    def keyPressEvent(self, event: Any) -> None:
        """Enter chooses the row."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.currentIndex())
            return
        super().keyPressEvent(event)

    def _choose(self, index: QModelIndex) -> None:
        row = self._proxy.mapToSource(index).row()
        if 0 <= row < len(self._model.table.intents):
            intent = self._model.table.intents[row]
            if intent is not None:
                self._emit(intent)

    def copy(self, headers: bool = False) -> None:
        """Put the selected rows, or all, on the clipboard as text with tabs."""
        rows = sorted({index.row() for index in self.selectedIndexes()}) or range(self._proxy.rowCount())
        lines = ["\t".join(self._model.table.headers)] if headers else []
        for row in rows:
            cells = (self._proxy.index(row, c).data() for c in range(self._proxy.columnCount()))
            lines.append("\t".join(str(cell) for cell in cells))
        QGuiApplication.clipboard().setText("\n".join(lines))


class TablePanel(QWidget):
    """A table with a line below it."""

    def __init__(self, emit: Callable[[Intent], None], name: str = "table") -> None:
        super().__init__()
        self.emit = emit
        self.view = TableView(emit, name)
        self.note = QLabel()
        self.note.setWordWrap(True)
        self.note.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.room = QVBoxLayout(self)
        self.room.setContentsMargins(6, 6, 6, 6)
        self.room.addWidget(self.view)
        self.room.addWidget(self.note)

    def draw(self, table: Table) -> None:
        """Show a table."""
        self.view.put(table)
        self.note.setText(table.note)
        self.note.setVisible(bool(table.note))
