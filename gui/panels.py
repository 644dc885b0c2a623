"""The panels: a row each. The window lays out what this table lists and knows no panel by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

__all__ = ["PANELS", "Panel"]


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: where it stands, what presents it, what draws it, and which fields of the state it depends on.

    ``area`` is ``left``, ``right``, ``centre`` or ``tabs``. ``presenter`` and ``widget`` are ``module:name`` below this
    package, loaded when the window is made.
    """

    key: str
    title: str
    area: str
    presenter: str
    widget: str
    watch: tuple[str, ...]
    help: str

    def present(self) -> Callable[[Any], Any]:
        """Load the presenter."""
        found: Callable[[Any], Any] = _load(self.presenter)
        return found

    def make(self) -> Callable[..., Any]:
        """Load the widget's class."""
        found: Callable[..., Any] = _load(self.widget)
        return found


def _load(text: str) -> Any:
    module, name = text.split(":")
    return getattr(import_module(f".{module}", __package__), name)


_SEEN: Final = (
    "selected", "picture", "picture_b", "view", "error_mode", "difference", "grid", "marginal_lines", "compare",
    "region", "pixels", "cursor", "block", "pulse", "choice_a", "choice_b", "showing", "facts", "measured_a",
    "measured_b", "refused_a", "refused_b", "epoch", "axes",
)  # fmt: skip
_SCHEME: Final = ("selected", "choice_a", "choice_b", "showing", "measured_a", "measured_b", "refused_a", "refused_b")

PANELS: Final = (
    Panel("tree", "Tensors", "left", "present.tree:present", "widgets.tree:TreePanel",
          ("file", "filter", "selected", "facts", "measured_a", "measured_b", "showing"),
          "Tensors of the file; / filters, several words narrow, # stands for any number."),
    Panel("canvas", "Heatmap", "centre", "present.canvas:present", "widgets.canvas:CanvasPanel", _SEEN,
          "Wheel zooms, drag moves, click looks at a block; the arrow keys move the cursor, Enter picks its block."),
    Panel("canvas b", "B", "centre", "present.canvas:present_b", "widgets.canvas:SecondCanvasPanel", _SEEN,
          "The second heatmap of a comparison; it moves with the first."),
    Panel("builder", "Scheme", "right", "present.builder:present", "widgets.builder:BuilderPanel",
          (*_SCHEME, "facts", "answers", "undo", "redo"),
          "Every field of the scheme; what is greyed out says why, what a place refuses says what to do."),
    Panel("metrics", "Metrics", "right", "present.metrics:present", "widgets.metrics:MetricsPanel", _SCHEME,
          "The error of A and B; a tooltip explains each number."),
    Panel("histogram", "Histogram", "tabs", "present.histogram:present", "widgets.histogram:HistogramPanel",
          (*_SCHEME, "facts", "detail", "log_counts"),
          "Values with the levels of the block that was picked; values over their scale; the error in steps."),
    Panel("worst", "Worst blocks", "tabs", "present.tables:worst", "widgets.lists:WorstPanel",
          (*_SCHEME, "worst_by", "worst_at"), "Blocks by their error; Enter jumps there."),
    Panel("outliers", "Outliers", "tabs", "present.tables:marginals", "widgets.lists:OutliersPanel",
          (*_SCHEME, "facts", "marginal_of", "marginal_by", "importance"),
          "Rows and columns by their largest element or their error; Enter jumps there."),
    Panel("block", "Block", "tabs", "present.tables:block", "widgets.lists:BlockPanel", ("detail",),
          "The elements of one block, and the arithmetic of its scale."),
    Panel("bits", "Bits", "tabs", "present.bits:present", "widgets.bits:BitsPanel", ("detail", "interpretation"),
          "The stored words of the block, lane by lane, and other ways to read them."),
    Panel("sweep", "Sweep", "tabs", "present.sweep:present", "widgets.sweep:SweepPanel",
          ("sweep", "sweep_note", "running"), "Schemes by size and error; a double click applies one as B."),
    Panel("jobs", "Jobs", "tabs", "present.tables:jobs", "widgets.lists:JobsPanel", ("running",), "What runs."),
    Panel("log", "Log", "tabs", "present.tables:log", "widgets.lists:LogPanel", ("log",), "What was said."),
)  # fmt: skip
