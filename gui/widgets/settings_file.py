"""Settings: an INI file with a version. What cannot be read is set aside, and that is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PyQt6.QtCore import QByteArray, QSettings

__all__ = ["VERSION", "Remembered"]

VERSION = 1
_RECENT = 10
_LONG = 4096


class Remembered:
    """Geometry, recent files and the last scheme, between two runs."""

    def __init__(self, fresh: bool = False, path: str | None = None) -> None:
        self.notice = ""
        self._fresh = fresh
        if path is None:
            self._file = QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "qcore", "inspector")
        else:
            self._file = QSettings(path, QSettings.Format.IniFormat)
        if not fresh:
            self._check()

    def _check(self) -> None:
        if not self._file.allKeys() and not self._has_text():
            return
        version = self._file.value("version")
        if self._file.status() != QSettings.Status.NoError or not str(version).isdigit() or int(version) != VERSION:
            found = "of a newer program" if str(version).isdigit() else "not readable"
            self.notice = f"The settings file was {found} and has been reset."
            self._file.clear()

    def _has_text(self) -> bool:
        path = Path(self._file.fileName())
        try:
            return path.is_file() and path.stat().st_size > 0
        except OSError:
            return False

    def _value(self, key: str) -> Any:
        if self._fresh:
            return None
        try:
            return self._file.value(key)
        except (TypeError, ValueError, SystemError, EOFError):  # a value that no longer means anything
            return None

    def recent(self) -> tuple[str, ...]:
        """Files that were open, the last first."""
        found = self._value("recent")
        words = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        return tuple(w for w in words if isinstance(w, str) and 0 < len(w) < _LONG and "\0" not in w)[:_RECENT]

    def scheme(self) -> str:
        """The last scheme, as text."""
        found = self._value("scheme")
        return found if isinstance(found, str) and len(found) < 200 else ""

    def geometry(self) -> tuple[QByteArray | None, QByteArray | None]:
        """The window's place and the docks' state."""
        parts = tuple(self._value(key) for key in ("geometry", "docks"))
        return tuple(p if isinstance(p, QByteArray) else None for p in parts)  # type: ignore[return-value]

    def save(self, recent: tuple[str, ...], scheme: str, geometry: QByteArray, docks: QByteArray) -> None:
        """Write everything; a run with ``--fresh`` leaves no trace."""
        if self._fresh:
            return
        values = {"version": VERSION, "recent": list(recent), "scheme": scheme, "geometry": geometry, "docks": docks}
        for key, value in values.items():
            self._file.setValue(key, value)
        self._file.sync()
