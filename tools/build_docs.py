"""Build the API reference from the docstrings, with pdoc, into docs/_build.

    python tools/build_docs.py

The packages that users import are documented, and the backends' protocol for those who add one.
"""

from pathlib import Path

import pdoc
import pdoc.render

import qcore

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs" / "_build"
MODULES = (
    "qcore",
    "qcore.errors",
    "qcore.scheme",
    "qcore.capability",
    "qcore.calibration",
    "qcore.tensor",
    "qcore.ops",
    "qcore.analysis",
    "qcore.formats",
    "qcore.layout",
    "qcore.plan",
    "qcore.backends.protocol",
    "qcore.sample",
)


def main() -> None:
    # pdoc looks names up without `__getattr__`: load every lazy one first
    for name in qcore.__all__:
        getattr(qcore, name)
    pdoc.render.configure(docformat="numpy", footer_text=f"qcore {qcore.__version__}", search=True)
    pdoc.pdoc(*MODULES, output_directory=OUTPUT)
    print(f"API reference: {OUTPUT / 'index.html'}")


if __name__ == "__main__":
    main()
