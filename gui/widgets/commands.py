"""Commands that ask a person something first: files, the palette, help, copies."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PyQt6.QtCore import QUrl
from PyQt6.QtGui import QDesktopServices, QGuiApplication, QImage, QPainter
from PyQt6.QtSvg import QSvgGenerator
from PyQt6.QtWidgets import QDialog, QFileDialog, QMessageBox, QTextBrowser, QVBoxLayout, QWidget

from .. import exporting
from .. import intents as i
from ..actions import ACTIONS
from ..job import message_of
from ..panels import PANELS
from ..present.export_tables import TABLES
from ..state import Message, State
from .frame import Palette

__all__ = ["Commands"]

_FILES = "Tensors (*.safetensors *.npy *.npz *.gguf *.bpk *.pt *.pth);;All files (*)"
PYTHON = """import qcore_inspector

qcore_inspector.view(array)                      # an array, a QTensor or a path
qcore_inspector.view(array, scheme="int4-b32")   # with a scheme to begin with

In IPython, %gui qt first keeps the prompt alive."""


class Commands:
    """Runs commands by their name in the table of actions."""

    def __init__(
        self,
        window: QWidget,
        emit: Callable[[i.Intent], None],
        state: Callable[[], State],
        parts: Callable[[str], Any],
    ) -> None:
        self._window, self._emit, self._state, self._parts = window, emit, state, parts

    def run(self, name: str) -> None:
        """Run a command."""
        verb, _, rest = name.partition(" ")
        if verb in ("copy", "focus", "zoom"):
            getattr(self, f"_{verb}")(rest)
        else:
            getattr(self, f"_{name.replace(' ', '_')}")()

    def _open(self) -> None:
        paths, _ = QFileDialog.getOpenFileNames(self._window, "Open tensors", "", _FILES)
        if paths:
            self._emit(i.OpenFile(paths[0]))

    def _importance(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self._window, "Importance: one weight a column", "", _FILES)
        if path:
            self._emit(i.OpenImportance(path))

    def _clear_recent(self) -> None:
        self._emit(i.SetRecent(()))

    def _quit(self) -> None:
        self._window.close()

    def _focus(self, what: str) -> None:
        self._parts("tree" if what == "filter" else "builder").take_focus()

    def _zoom(self, way: str) -> None:
        self._parts("canvas").zoom(0.5 if way == "in" else 2.0)

    def _one_to_one(self) -> None:
        self._parts("canvas").one_to_one()

    def _copy(self, what: str) -> None:
        try:
            text = exporting.code(self._state().choice, what)
        except Exception as problem:  # noqa: BLE001  # a scheme that an older Burn cannot spell, told as it is
            self._emit(i.Say(message_of(problem), loud=True))
            return
        QGuiApplication.clipboard().setText(text)
        self._emit(i.Say(Message(f"copied as {what}: {text.splitlines()[-1].strip()}")))

    def _export(self) -> None:
        kinds = {
            "Report, HTML and JSON (*.html)": ("report", ".html"),
            "Picture (*.png)": ("png", ".png"),
            "Drawing (*.svg)": ("svg", ".svg"),
            **{f"Table: {name} (*.csv)": (f"csv:{name}", ".csv") for name in TABLES},
            "Decoded values (*.npy)": ("npy:dequantized", ".npy"),
            "Error (*.npy)": ("npy:error", ".npy"),
            "Recipe (*.toml)": ("recipe", ".toml"),
        }
        path, kind = QFileDialog.getSaveFileName(self._window, "Export", "", ";;".join(kinds))
        if path:
            what, suffix = kinds[kind]
            self.export(what, path if Path(path).suffix else path + suffix)

    def export(self, what: str, path: str, scale: float = 2.0) -> None:
        """Write without asking; pictures are drawn by the canvas itself."""
        if what not in ("png", "svg"):
            self._emit(i.Export(what, path))
            return
        graphics = self._parts("canvas").graphics
        size = graphics.size()
        if what == "svg":
            target: Any = QSvgGenerator()
            target.setFileName(path)
            target.setSize(size)
            target.setViewBox(graphics.rect())
        else:
            target = QImage(size * scale, QImage.Format.Format_ARGB32)
            target.fill(graphics.palette().base().color())
        painter = QPainter(target)
        graphics.render(painter)
        painter.end()
        if what == "png":
            target.save(path, "PNG")
        self._emit(i.Say(Message(f"wrote {path}"), loud=True))

    def _palette(self) -> None:
        Palette(self._window.actions(), self._window).exec()

    def _help(self) -> None:
        rows = "".join(
            f"<tr><td><b>{a.shortcut}</b>&nbsp;&nbsp;</td><td>{a.text.replace('&', '')}: {a.tip}</td></tr>"
            for a in ACTIONS
            if a.shortcut
        )
        panels = "".join(f"<li><b>{p.title}</b>: {p.help}</li>" for p in PANELS)
        self._page("Keys and panels", f"<h3>Panels</h3><ul>{panels}</ul><h3>Keys</h3><table>{rows}</table>")

    def _doctor(self) -> None:
        from qcore.cli.commands import doctor
        from qcore.cli.settings import Settings

        with contextlib.redirect_stdout(io.StringIO()):
            lines = doctor.run(Settings()).lines
        self._page("Doctor", "<pre>" + "\n".join(str(line) for line in lines) + "</pre>")

    def _python(self) -> None:
        self._page("From Python", f"<pre>{PYTHON}</pre>")

    def _about(self) -> None:
        import qcore

        QMessageBox.about(
            self._window,
            "About",
            f"qcore inspector {qcore.__version__}\n\nqcore is MIT or Apache-2.0. This window uses PyQt6 (GPL or "
            "commercial) and pyqtgraph (MIT). The sample weights keep their own licences.",
        )

    def _page(self, title: str, body: str) -> None:
        dialog = QDialog(self._window)
        dialog.setWindowTitle(title)
        page = QTextBrowser()
        page.setHtml(body)
        page.anchorClicked.connect(lambda url: QDesktopServices.openUrl(QUrl(url)))
        room = QVBoxLayout(dialog)
        room.addWidget(page)
        dialog.resize(620, 560)
        dialog.open()
