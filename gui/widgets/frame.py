"""What is around the panels: the message bar, the first screen, the palette of commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PyQt6.QtCore import QFileSystemWatcher, Qt
from PyQt6.QtGui import QAction, QGuiApplication
from PyQt6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from .. import intents as i
from ..present.status import WelcomeData
from ..state import Message
from . import theme

__all__ = ["NoticeBar", "Palette", "Watcher", "Welcome"]

Emit = Callable[[i.Intent], None]


class Watcher(QFileSystemWatcher):
    """Says when the open file changes on disk."""

    def __init__(self, parent: QWidget, changed: Callable[[], None]) -> None:
        super().__init__(parent)
        self.fileChanged.connect(lambda _path: changed())

    def watch(self, path: str) -> None:
        """Watch this file alone; no path, none."""
        if self.files() != ([path] if path else []):
            if self.files():
                self.removePaths(self.files())
            if path:
                self.addPath(path)


class NoticeBar(QFrame):
    """One message at a time; it is dismissed, never waited for."""

    def __init__(self, emit: Emit) -> None:
        super().__init__()
        self._message: Message | None = None
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.copy = QPushButton("&Copy details")
        self.copy.clicked.connect(self._copy)
        close = QPushButton("&Dismiss")
        close.clicked.connect(lambda: emit(i.Dismiss()))
        room = QHBoxLayout(self)
        room.setContentsMargins(10, 6, 10, 6)
        room.addWidget(self.text, 1)
        room.addWidget(self.copy)
        room.addWidget(close)
        self.hide()

    def draw(self, message: Message | None) -> None:
        """Show a message, or nothing."""
        if message is self._message:
            return
        self._message = message
        self.setVisible(message is not None)
        if message is None:
            return
        mark = {"error": "\u2715", "warning": "\u26a0"}.get(message.level, "\u2713")
        title = f"[{message.title}] " if message.title else ""
        todo = "".join(f"\n   \u2022 {text}" for text in message.solutions[:3])
        self.text.setText(f"{mark} {title}{message.text}{todo}")
        self.text.setStyleSheet(f"color: {theme.warn_colour()}" if message.level == "error" else "")
        self.copy.setVisible(bool(message.details))

    def _copy(self) -> None:
        if self._message is not None:
            QGuiApplication.clipboard().setText(self._message.details)


class Welcome(QWidget):
    """The empty window: three large actions, the last files, what computes here."""

    def __init__(self, emit: Emit, command: Callable[[str], None]) -> None:
        super().__init__()
        self._emit = emit
        self._data: WelcomeData | None = None
        title = QLabel("See what a quantization scheme does to a tensor")
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.6)
        title.setFont(font)
        title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        hint = QLabel("Drop a .safetensors, .gguf, .bpk, .npz, .npy or .pt file here, or")
        hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        row = QHBoxLayout()
        row.addStretch()
        for text, tip, act in (
            ("&Open\u2026", "Ctrl+O", lambda: command("open")),
            ("Open &Sample", "two weights that ship with qcore", lambda: emit(i.OpenSample())),
            ("Open from &Python\u2026", "how to hand an array over", lambda: command("python")),
        ):
            button = QPushButton(text)
            button.setMinimumSize(170, 64)
            button.setToolTip(tip)
            button.clicked.connect(lambda _=False, a=act: a())
            row.addWidget(button)
        row.addStretch()
        self.recent = QListWidget()
        self.recent.setMaximumWidth(560)
        self.recent.setAccessibleName("recent files")
        self.recent.itemActivated.connect(lambda item: emit(i.OpenFile(item.data(Qt.ItemDataRole.UserRole))))
        self.device = QPushButton()
        self.device.setFlat(True)
        self.device.setToolTip("What is installed and what is missing")
        self.device.clicked.connect(lambda: command("doctor"))
        room = QVBoxLayout(self)
        room.addStretch()
        for part in (title, hint):
            room.addWidget(part)
        room.addLayout(row)
        room.addWidget(self.recent, 0, Qt.AlignmentFlag.AlignHCenter)
        room.addWidget(self.device, 0, Qt.AlignmentFlag.AlignHCenter)
        room.addStretch()

    def draw(self, data: WelcomeData) -> None:
        """Show recent files and the device."""
        if data == self._data:
            return
        self._data = data
        self.device.setText(data.device)
        self.recent.clear()
        self.recent.setVisible(bool(data.recent))
        for path in data.recent:
            item = QListWidgetItem(path)
            item.setData(Qt.ItemDataRole.UserRole, path)
            self.recent.addItem(item)
        self.recent.setFixedHeight(min(len(data.recent), 6) * (self.fontMetrics().height() + 6) + 8)


class Palette(QDialog):
    """Any command by a part of its name."""

    def __init__(self, actions: list[QAction], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Commands")
        self._actions = actions
        self.line = QLineEdit()
        self.line.setPlaceholderText("type a part of a command's name")
        self.line.setAccessibleName("command")
        self.list = QListWidget()
        self.list.setAccessibleName("commands")
        room = QVBoxLayout(self)
        room.addWidget(self.line)
        room.addWidget(self.list)
        self.resize(520, 380)
        self.line.textChanged.connect(self._fill)
        self.line.returnPressed.connect(self._run)
        self.list.itemActivated.connect(lambda _item: self._run())
        self._fill("")

    def _fill(self, words: str) -> None:
        self.list.clear()
        for action in self._actions:
            name = action.text().replace("&", "")
            if all(word in f"{name} {action.toolTip()}".lower() for word in words.lower().split()):
                keys = action.shortcut().toString()
                item = QListWidgetItem(f"{name}    {keys}" if keys else name)
                item.setToolTip(action.toolTip())
                item.setData(Qt.ItemDataRole.UserRole, action)
                if not action.isEnabled():
                    item.setFlags(Qt.ItemFlag.NoItemFlags)
                self.list.addItem(item)
        self.list.setCurrentRow(0)

    def _run(self) -> None:
        item = self.list.currentItem()
        self.accept()
        if item is not None:
            item.data(Qt.ItemDataRole.UserRole).trigger()

    def keyPressEvent(self, event: Any) -> None:
        """Up and down walk the list while the cursor stays in the line."""
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if event.key() == Qt.Key.Key_Down else -1
            self.list.setCurrentRow(max(0, min(self.list.currentRow() + step, self.list.count() - 1)))
            return
        super().keyPressEvent(event)
