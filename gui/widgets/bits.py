"""The bits view: words left, values right; a lane that is chosen on one side is marked on the other."""

from __future__ import annotations

import html
from collections.abc import Callable

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QFontDatabase
from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QTextBrowser, QVBoxLayout, QWidget

from .. import intents as i
from ..present import text
from ..present.bits import BitsData, Lane, Word
from . import theme

__all__ = ["BitsPanel"]

_LIGHT = ("#dbe8f7", "#fbe6d2", "#dcefe2", "#ece0f6")
_DARK = ("#243b58", "#533a1f", "#204332", "#3d2f52")


class BitsPanel(QWidget):
    """Stored words of a block and what they mean."""

    def __init__(self, emit: Callable[[i.Intent], None]) -> None:
        super().__init__()
        self._data: BitsData | None = None
        self._marked = ""
        self.title, self.verdict = QLabel(), QLabel()
        self.reading = QComboBox()
        self.reading.setAccessibleName("interpret as")
        self.reading.textActivated.connect(lambda word: emit(i.SetInterpretation(word)))
        label = QLabel("&Interpret as")
        label.setBuddy(self.reading)
        self.page = QTextBrowser()
        self.page.setOpenLinks(False)
        self.page.setLineWrapMode(QTextBrowser.LineWrapMode.NoWrap)
        self.page.setAccessibleName("stored words")
        self.page.anchorClicked.connect(lambda url: self._mark(url.toString()))
        self._mono = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
        row = QHBoxLayout()
        row.addWidget(label)
        row.addWidget(self.reading)
        row.addWidget(self.verdict, 1)
        room = QVBoxLayout(self)
        room.setContentsMargins(6, 6, 6, 6)
        room.addWidget(self.title)
        room.addLayout(row)
        room.addWidget(self.page, 1)

    def draw(self, data: BitsData) -> None:
        """Show words."""
        self._data = data
        if self.reading.count() != len(data.readings):
            self.reading.clear()
            for name, tip in data.readings:
                self.reading.addItem(name)
                self.reading.setItemData(self.reading.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        self.reading.setCurrentText(data.reading)
        self.title.setText(" \u00b7 ".join(part for part in (data.title, data.layout, data.scale) if part))
        self.title.setWordWrap(True)
        self.verdict.setText(data.verdict)
        self._render()

    def _mark(self, lane: str) -> None:
        self._marked = "" if lane == self._marked else lane
        self._render()

    def _render(self) -> None:
        data = self._data
        if data is None:
            return
        place = self.page.verticalScrollBar().value()
        rows = "".join(self._word(n, word, data) for n, word in enumerate(data.words))
        head = "<tr><th align=left>word<br>hex<br>bytes</th><th align=left>bits, with the number of each<br>\
field's highest bit above it</th><th align=left>element: field = value (source)</th></tr>"
        style = f"body{{font-family:'{self._mono}',monospace;font-size:9pt}}"
        self.page.document().setDefaultStyleSheet(style)
        self.page.setHtml(f"<body><table cellpadding=3 cellspacing=0>{head}{rows}</table></body>")
        self.page.verticalScrollBar().setValue(place)

    def _word(self, number: int, word: Word, data: BitsData) -> str:
        colours = _DARK if theme.is_dark() else _LIGHT
        ink = self.palette().text().color().name()
        lanes = list(enumerate(word.lanes))
        ruler, bits, means = [], [], []
        for lane, field in reversed(lanes):
            high = (lane + 1) * data.field_bits - 1
            ruler.append(f"<td style='color:{ink}'><small>{high}</small></td>")
            said = self._link(number, lane, field.bits, ink)
            bits.append(f"<td bgcolor='{self._colour(number, lane, colours)}'>{said}</td>")
        for lane, field in lanes:
            said = self._link(number, lane, html.escape(_meaning(field)), ink)
            means.append(f"<td bgcolor='{self._colour(number, lane, colours)}'>{said}</td>")
        per_row = 2
        meaning = "".join(
            f"<tr>{''.join(means[n : n + per_row])}</tr>" for n in range(0, len(means), per_row)
        )
        where = text.place(word.index)
        return (
            f"<tr><td valign=middle>{where}<br>{word.hex}<br>{word.bytes}</td>"
            f"<td valign=middle><table cellspacing=1 cellpadding=2><tr>{''.join(ruler)}</tr>"
            f"<tr>{''.join(bits)}</tr></table></td>"
            f"<td><table cellspacing=1 cellpadding=2>{meaning}</table></td></tr>"
        )

    def _colour(self, number: int, lane: int, colours: tuple[str, ...]) -> str:
        return theme.accent().name() if self._marked == f"{number}/{lane}" else colours[lane % len(colours)]

    @staticmethod
    def _link(number: int, lane: int, said: str, ink: str) -> str:
        return f"<a href='{number}/{lane}' style='color:{ink};text-decoration:none'>{said}</a>"


def _meaning(lane: Lane) -> str:
    if lane.element is None or lane.code is None or lane.value is None:
        return "\u2013 padding or another block"
    source = "" if lane.source is None else f" ({text.number(lane.source, 3)})"
    return f"{text.place(lane.element)}: {lane.code} = {text.number(lane.value, 3)}{source}"
