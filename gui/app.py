"""Start-up: the one place that wires store, jobs and window together."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from . import intents as i
from .source import Session
from .state import Choice, Message, State
from .store import Store

__all__ = ["main", "open_view", "open_window"]

LIBRARIES: Final = (
    ("libEGL.so.1", "libegl1"),
    ("libGL.so.1", "libgl1"),
    ("libxkbcommon.so.0", "libxkbcommon0"),
    ("libfontconfig.so.1", "libfontconfig1"),
    ("libdbus-1.so.3", "libdbus-1-3"),
)
ON_SCREEN: Final = (
    ("libxcb-cursor.so.0", "libxcb-cursor0"),
    ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
    ("libxcb-icccm.so.4", "libxcb-icccm4"),
    ("libxcb-image.so.0", "libxcb-image0"),
    ("libxcb-keysyms.so.1", "libxcb-keysyms1"),
    ("libxcb-render-util.so.0", "libxcb-render-util0"),
    ("libxcb-xkb.so.1", "libxcb-xkb1"),
)


_KEPT: list[Any] = []
"""The application: Qt's is gone when nobody refers to it."""


def missing_libraries() -> list[str]:
    """Name the packages of the system libraries that Qt would abort without; only Linux needs to be asked."""
    if not sys.platform.startswith("linux"):
        return []
    named = os.environ.get("QT_QPA_PLATFORM", "xcb").split(":")[0]
    on_screen = named == "xcb" and not os.environ.get("WAYLAND_DISPLAY")
    wanted = (*LIBRARIES, *(ON_SCREEN if on_screen else ()))
    return [package for name, package in wanted if not _loads(name)]


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def explain_missing(packages: list[str], display: bool) -> str:
    """Say what to install, or that there is no display.

    Examples
    --------
    >>> print(explain_missing(["libegl1"], True))
    The inspector needs system libraries that are not here: libegl1
      on Debian or Ubuntu: apt-get install libegl1
    """
    lines = []
    if packages:
        lines = [
            f"The inspector needs system libraries that are not here: {', '.join(packages)}",
            f"  on Debian or Ubuntu: apt-get install {' '.join(packages)}",
        ]
    if not display:
        lines.append("There is no display; QT_QPA_PLATFORM=offscreen runs without one (for screenshots and tests).")
    return "\n".join(lines)


def _display() -> bool:
    named = any(os.environ.get(name) for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"))
    return named or not sys.platform.startswith("linux")


def _application(theme_name: str = "auto") -> Any:
    from PyQt6.QtCore import Qt
    from PyQt6.QtGui import QGuiApplication
    from PyQt6.QtWidgets import QApplication

    from .widgets import theme

    app = QApplication.instance()
    if app is None:
        QGuiApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
        app = QApplication(["qcore-inspector"])
        app.setApplicationName("qcore inspector")
        app.setStyle("Fusion")
        theme.set_scheme(theme_name)
        _KEPT.append(app)
    theme.apply_plots()
    return app


def open_window(
    *, fresh: bool = False, theme_name: str = "auto", settings: str | None = None, choice: Choice | None = None
) -> Any:
    """Make a window with a store of its own."""
    _application(theme_name)
    from .widgets.main_window import MainWindow
    from .widgets.settings_file import Remembered
    from .widgets.worker import PoolRunner

    remembered = Remembered(fresh, settings)
    state = State(recent=remembered.recent())
    if choice is not None:
        state = State(recent=state.recent, choice_a=choice)
    elif remembered.scheme():
        state = State(recent=state.recent, choice_a=Choice(remembered.scheme()))
    runner = PoolRunner(Session())
    window = MainWindow(Store(runner, state), remembered)
    window.runner = runner  # type: ignore[attr-defined]  # waited for when the program ends
    window.on_close.append(_catch(window.store))
    if remembered.notice:
        window.store.dispatch(i.Say(Message(remembered.notice, "settings", level="warning"), loud=True))
    return window


def _catch(store: Store) -> Callable[[], None]:
    """Let an exception that nobody caught become a message too; the window stays. Returns what ends that."""
    from .job import message_of

    before = sys.excepthook

    def hook(kind: type[BaseException], problem: BaseException, trace: Any) -> None:
        before(kind, problem, trace)
        if not issubclass(kind, KeyboardInterrupt):
            store.dispatch(i.Say(message_of(problem.with_traceback(trace)), loud=True))

    def restore() -> None:
        if sys.excepthook is hook:
            sys.excepthook = before

    sys.excepthook = hook
    return restore


def open_view(what: Any, scheme: Any, name: str, block: bool | None) -> Any:
    """Do what ``qcore_inspector.view`` says."""
    choice = None if scheme is None else Choice(str(scheme))
    window = open_window(fresh=True, choice=choice)
    if isinstance(what, str | os.PathLike):
        window.store.dispatch(i.OpenFile(os.fspath(what)))
    elif what is not None:
        window.store.dispatch(i.ShowArray(what, name))
    window.show()
    if block or (block is None and not hasattr(sys, "ps1")):
        _application().exec()
        window.runner.finish()
    return window


def main(arguments: list[str] | None = None) -> int:
    """Run the program; the exit code is Qt's."""
    import argparse

    parser = argparse.ArgumentParser("qcore-inspector", description="See what a quantization scheme does to a tensor.")
    parser.add_argument("path", nargs="?", help="a file of tensors; --sample opens the weights that ship with qcore")
    parser.add_argument("--sample", action="store_true", help="open the sample")
    parser.add_argument("--scheme", help="the scheme to begin with: text or preset")
    parser.add_argument("--fresh", action="store_true", help="neither read nor write settings")
    parser.add_argument("--theme", choices=("auto", "light", "dark"), default="auto", help="default: the desktop's")
    given = parser.parse_args(arguments)
    packages, display = missing_libraries(), _display()
    if packages or not display:
        sys.stderr.write(explain_missing(packages, display) + "\n")
        return 1
    app = _application(given.theme)
    window = open_window(
        fresh=given.fresh, theme_name=given.theme, choice=Choice(given.scheme) if given.scheme else None
    )
    if given.sample:
        window.store.dispatch(i.OpenSample())
    elif given.path:
        window.store.dispatch(i.OpenFile(given.path))
    window.show()
    code = int(app.exec())
    window.runner.finish()
    return code
