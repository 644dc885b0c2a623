"""The window: lays out what the tables of panels and actions list, and knows none of them by name."""

from __future__ import annotations

from typing import Any

from PyQt6.QtCore import QEvent, Qt
from PyQt6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDockWidget,
    QLabel,
    QMainWindow,
    QProgressBar,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from .. import intents as i
from ..panels import PANELS
from ..present import status
from ..state import State
from ..store import Store
from . import theme
from .commands import Commands
from .frame import NoticeBar, Watcher, Welcome
from .menus import add_actions
from .settings_file import Remembered

__all__ = ["MainWindow"]

WIDTHS = {"left": 400, "right": 390}


class MainWindow(QMainWindow):
    """Draws every state of a store."""

    def __init__(self, store: Store, remembered: Remembered) -> None:
        super().__init__()
        self.store, self._remembered = store, remembered
        self.on_close: list[Any] = []
        self._drawn: dict[str, tuple[Any, ...]] = {}
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        self.panels: dict[str, QWidget] = {panel.key: panel.make()(store.dispatch) for panel in PANELS}
        self.commands = Commands(self, store.dispatch, lambda: self.store.state, self.panels.__getitem__)
        self._lay_out()
        self._actions = add_actions(self, store.dispatch, self.commands.run)
        self._add_status()
        self._watcher = Watcher(self, lambda: store.dispatch(i.FileChanged()))
        geometry, placed = remembered.geometry()
        self.resize(1600, 940)
        sides = [panel for panel in PANELS if panel.area in WIDTHS]
        docks = [self.findChild(QDockWidget, panel.key) for panel in sides]
        self.resizeDocks(docks, [WIDTHS[panel.area] for panel in sides], Qt.Orientation.Horizontal)
        if geometry is not None:
            self.restoreGeometry(geometry)
        if placed is not None:
            self.restoreState(placed, 1)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFocus()
        store.listen(self.draw)
        self.draw(store.state)

    def _lay_out(self) -> None:
        middle, canvases = QSplitter(Qt.Orientation.Vertical), QSplitter(Qt.Orientation.Horizontal)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        middle.addWidget(canvases)
        middle.addWidget(self.tabs)
        middle.setSizes([560, 300])
        areas = {"left": Qt.DockWidgetArea.LeftDockWidgetArea, "right": Qt.DockWidgetArea.RightDockWidgetArea}
        for panel in PANELS:
            widget = self.panels[panel.key]
            widget.setWhatsThis(panel.help)
            if panel.area == "centre":
                canvases.addWidget(widget)
            elif panel.area == "tabs":
                self.tabs.addTab(widget, panel.title)
            else:
                dock = QDockWidget(panel.title, self)
                dock.setObjectName(panel.key)
                dock.setWidget(widget)
                self.addDockWidget(areas[panel.area], dock)
        self._tab_keys = [panel.key for panel in PANELS if panel.area == "tabs"]
        self.tabs.currentChanged.connect(lambda n: self.store.dispatch(i.SetTab(self._tab_keys[n])))
        self.notice = NoticeBar(self.store.dispatch)
        self.welcome = Welcome(self.store.dispatch, self.commands.run)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.welcome)
        self.pages.addWidget(middle)
        centre = QWidget()
        room = QVBoxLayout(centre)
        room.setContentsMargins(0, 0, 0, 0)
        room.addWidget(self.notice)
        room.addWidget(self.pages, 1)
        self.setCentralWidget(centre)

    def _add_status(self) -> None:
        self.cursor_text, self.job_text = QLabel(), QLabel()
        self.progress, self.cancel = QProgressBar(), QPushButton("Cancel")
        self.progress.setFixedWidth(150)
        self.cancel.clicked.connect(lambda: self.store.dispatch(i.CancelJobs()))
        bar = self.statusBar()
        bar.addWidget(self.cursor_text, 1)
        self.device = QLabel(status.device())
        for part in (self.job_text, self.progress, self.cancel, self.device):
            bar.addPermanentWidget(part)

    def draw(self, state: State) -> None:
        """Give every panel its data, where something that it depends on has changed."""
        if state.tab in self._tab_keys and self._tab_keys[self.tabs.currentIndex()] != state.tab:
            self.tabs.setCurrentIndex(self._tab_keys.index(state.tab))
        for panel in PANELS:
            if panel.area == "tabs" and self.panels[panel.key] is not self.tabs.currentWidget():
                continue  # drawn when it is looked at
            watched = tuple(getattr(state, name) for name in panel.watch)
            before = self._drawn.get(panel.key)
            if before is None or any(a is not b for a, b in zip(watched, before, strict=True)):
                self._drawn[panel.key] = watched
                self.panels[panel.key].draw(panel.present()(state))
        for row, action in self._actions:
            action.setEnabled(row.enabled is None or row.enabled(state))
            if row.checked is not None:
                action.setChecked(row.checked(state))
        self._draw_frame(state)

    def _draw_frame(self, state: State) -> None:
        data = status.present(state)
        self.setWindowTitle(data.title)
        self.cursor_text.setText(data.cursor or data.metrics)
        self.job_text.setText(data.job)
        for part in (self.progress, self.cancel):
            part.setVisible(data.busy)
        self.progress.setRange(0, data.total)
        self.progress.setValue(data.done)
        self.notice.draw(data.notice)
        self.welcome.draw(status.welcome(state))
        self.pages.setCurrentIndex(0 if state.file is None else 1)
        path = "" if state.file is None or state.file.format == "memory" else state.file.path
        self._watcher.watch(path)

    def event(self, event: Any) -> bool:
        """Space and Enter belong to a button that has the focus before they are shortcuts."""
        pressed = event.type() == QEvent.Type.ShortcutOverride and event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return)
        if pressed and isinstance(self.focusWidget(), QAbstractButton | QComboBox):
            event.accept()
            return True
        return bool(super().event(event))

    def dragEnterEvent(self, event: Any) -> None:
        """Files are taken."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: Any) -> None:
        """Open what was dropped; what cannot be opened says why."""
        paths = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if paths:
            self.store.dispatch(i.OpenFile(paths[0]))

    def changeEvent(self, event: Any) -> None:
        """Follow the desktop from light to dark and back."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_actions"):
            theme.apply_plots()
            self._drawn.clear()
            for panel in self.panels.values():
                getattr(panel, "restyle", lambda: None)()
            self.draw(self.store.state)

    def closeEvent(self, event: Any) -> None:
        """Stop what runs, remember, go."""
        self.store.cancel_all()
        self._remembered.save(
            self.store.state.recent, self.store.state.choice_a.scheme, self.saveGeometry(), self.saveState(1)
        )
        for act in self.on_close:
            act()
        super().closeEvent(event)
