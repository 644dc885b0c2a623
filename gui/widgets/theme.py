"""Light or dark, and the colours of plots; everything else is the palette's."""

from __future__ import annotations

import pyqtgraph as pg
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QColor, QGuiApplication, QPalette

__all__ = ["accent", "apply_plots", "good_colour", "is_dark", "muted", "series", "set_scheme", "warn_colour"]


def is_dark() -> bool:
    """Whether the window is dark."""
    return QGuiApplication.palette().color(QPalette.ColorRole.Window).lightness() < 128


def set_scheme(name: str) -> None:
    """Follow the desktop (``auto``), or be ``light`` or ``dark``."""
    hints = QGuiApplication.styleHints()
    if hasattr(hints, "setColorScheme"):
        scheme = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}.get(name, Qt.ColorScheme.Unknown)
        hints.setColorScheme(scheme)
    if name == "dark" and not is_dark():
        QGuiApplication.setPalette(_dark())


def _dark() -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    for name, colour in (
        (role.Window, "#24262b"), (role.Base, "#1b1d21"), (role.AlternateBase, "#23252a"), (role.Button, "#2f3238"),
        (role.Text, "#e4e6ea"), (role.WindowText, "#e4e6ea"), (role.ButtonText, "#e4e6ea"),
        (role.ToolTipBase, "#2f3238"), (role.ToolTipText, "#e4e6ea"), (role.PlaceholderText, "#8b9099"),
        (role.Highlight, "#3d7dd8"), (role.HighlightedText, "#ffffff"), (role.Link, "#7db2ff"),
        (role.Mid, "#3b3f46"), (role.Dark, "#16181b"), (role.Light, "#3b3f46"),
    ):  # fmt: skip
        palette.setColor(name, QColor(colour))
    for name in (role.Text, role.WindowText, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, name, QColor("#777c85"))
    return palette


def apply_plots() -> None:
    """Give pyqtgraph the palette's colours; plots made from now on have them."""
    palette = QGuiApplication.palette()
    pg.setConfigOptions(
        background=palette.color(QPalette.ColorRole.Base),
        foreground=palette.color(QPalette.ColorRole.Text),
        antialias=True,
        imageAxisOrder="row-major",
    )


def accent() -> QColor:
    """Selections: the block that was picked, the cursor."""
    return QColor("#ffb000") if is_dark() else QColor("#c25700")


def series(number: int) -> QColor:
    """Colours of lines and bars, safe for the colour-blind."""
    light = ("#2e6fb7", "#c25700", "#3a8f5c", "#8b5fbf")
    dark = ("#6fa8ec", "#ffb35c", "#74cf98", "#c3a1ee")
    return QColor((dark if is_dark() else light)[number % 4])


def muted() -> QColor:
    """Grid lines and guides."""
    return QColor(255, 255, 255, 70) if is_dark() else QColor(0, 0, 0, 70)


def good_colour() -> str:
    """Text that says fine."""
    return "#74cf98" if is_dark() else "#1d7a45"


def warn_colour() -> str:
    """Text that says refused; a word or a mark always says it too."""
    return "#ff9d8a" if is_dark() else "#b3261e"
