"""The program that tools/drive_inspector.sh sends keys to: it opens the sample, and notes what came of them."""

import importlib
import sys
from pathlib import Path


def main(pictures, copied):
    from PyQt6.QtCore import QTimer
    from PyQt6.QtGui import QGuiApplication

    app, i = (importlib.import_module(f"qcore_inspector.{name}") for name in ("app", "intents"))
    application = app._application("light")
    window = app.open_window(fresh=True, theme_name="light")
    window.move(0, 0)
    window.resize(1600, 940)
    window.store.dispatch(i.OpenSample())
    window.show()
    seen = set()

    def look():
        state = window.store.state
        name = f"{state.view}-{state.showing}-{state.tab}"
        if name not in seen and not state.running:
            seen.add(name)
            window.grab().save(str(pictures / f"{len(seen):02d}-{name}.png"))
        text = QGuiApplication.clipboard().text()
        if "QuantScheme" in text:
            copied.write_text(text, encoding="utf-8")

    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(200)
    code = application.exec()
    state = window.store.state
    print("views seen:", ", ".join(sorted(seen)))
    print("rows of the sweep:", len(state.sweep or ()), "B:", state.choice_b)
    assert window.runner.finish()
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
