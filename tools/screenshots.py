"""Draw the pictures of docs/inspector.md from the sample weights, without a display.

QT_QPA_PLATFORM=offscreen python tools/screenshots.py [FOLDER]
"""

import importlib
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

ROOT = Path(__file__).resolve().parent.parent
SIZE = (1600, 940)


def loaded(module):
    return importlib.import_module(f"qcore_inspector.{module}")


class Camera:
    """A window, patience, and a folder for what it shows."""

    def __init__(self, folder, theme):
        app = loaded("app")
        self.folder, self.theme = folder, theme
        self.application = app._application(theme)
        loaded("widgets.theme").set_scheme(theme)
        self.window = app.open_window(fresh=True, theme_name=theme)
        self.window.resize(*SIZE)
        self.window.show()

    def send(self, *intents):
        for intent in intents:
            self.window.store.dispatch(intent)

    def settle(self):
        from PyQt6.QtWidgets import QApplication

        quiet = time.perf_counter()
        while time.perf_counter() - quiet < 0.4:
            self.application.processEvents()
            QApplication.sendPostedEvents(None, 52)  # what was thrown away goes
            if self.window.store.state.running or self.window.panels["canvas"]._settle.isActive():
                quiet = time.perf_counter()
            time.sleep(0.005)

    def shot(self, name):
        self.settle()
        suffix = "" if self.theme == "light" else f"-{self.theme}"
        self.window.grab().save(str(self.folder / f"{name}{suffix}.png"))

    def close(self):
        self.window.close()
        self.window.runner.finish()


def main(folder):
    i, choice = loaded("intents"), loaded("state").Choice
    folder.mkdir(parents=True, exist_ok=True)

    light = Camera(folder, "light")
    light.send(i.OpenSample())
    light.settle()
    light.send(i.SetChoice(choice("int4-b32")), i.PickPlace((84, 170)))
    light.shot("overview")
    light.send(i.SelectTensor("silero_conv1"), i.SetChoice(choice("q4s/u32/t:f32")), i.SetErrorMode("absolute"))
    light.shot("outlier")
    light.send(i.SelectTensor("minilm_l0_query"), i.SetView("values"), i.SetChoice(choice("q4s/packed/b32:f16")))
    light.shot("refused")
    light.send(i.SetChoice(choice("nvfp4")), i.SetView("scales"))
    light.settle()
    light.send(i.Sweep())
    light.shot("sweep")
    light.send(i.SetChoice(choice("int4-b32")), i.SetErrorMode("signed"))
    light.settle()
    light.send(i.StepWorst(1), i.SetTab("bits"))
    light.shot("bits")
    light.send(i.ApplyAsB(choice("int2-b32")), i.Fit(), i.Toggle("compare"))
    light.shot("compare")
    light.close()

    dark = Camera(folder, "dark")
    dark.send(i.OpenSample())
    dark.settle()
    dark.send(i.SetChoice(choice("int4-b32")), i.PickPlace((84, 170)))
    dark.shot("overview")
    dark.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
