"""Menus, toolbar and shortcuts, from the table of actions."""

from __future__ import annotations

from collections.abc import Callable

from PyQt6.QtGui import QAction, QKeySequence
from PyQt6.QtWidgets import QMainWindow

from ..actions import ACTIONS, MENUS, Action
from ..intents import Intent

__all__ = ["add_actions"]


def add_actions(
    window: QMainWindow, emit: Callable[[Intent], None], run: Callable[[str], None]
) -> list[tuple[Action, QAction]]:
    """Give a window everything that the table lists."""
    menus = {name: window.menuBar().addMenu(name) for name in MENUS}
    bar = window.addToolBar("Main")
    bar.setObjectName("main")
    bar.setMovable(False)
    made, before = [], ""
    for row in ACTIONS:
        action = QAction(row.text, window)
        keys = f" ({row.shortcut})" if row.shortcut else ""
        action.setToolTip(f"{row.tip}{keys}")
        action.setStatusTip(row.tip)
        if row.shortcut:
            action.setShortcut(QKeySequence(row.shortcut))
        action.setCheckable(row.checked is not None)
        if row.intent is not None:
            action.triggered.connect(lambda _=False, wanted=row.intent: emit(wanted))
        else:
            action.triggered.connect(lambda _=False, name=row.command: run(name))
        menus[row.menu].addAction(action)
        window.addAction(action)
        if row.bar:
            if before not in ("", row.menu):
                bar.addSeparator()
            before = row.menu
            bar.addAction(action)
        made.append((row, action))
    return made
