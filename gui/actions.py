"""Everything that can be done, one row each: menus, shortcuts, the palette and the help are made from these rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from . import intents as i
from .state import State

__all__ = ["ACTIONS", "MENUS", "Action"]

MENUS: Final = ("&File", "&Edit", "&View", "&Compare", "&Go", "E&xport", "&Help")


@dataclass(frozen=True, slots=True)
class Action:
    """A row: an intent to send, or the name of a command of the window that asks for a file first."""

    key: str
    text: str
    tip: str
    menu: str
    shortcut: str = ""
    intent: i.Intent | None = None
    command: str = ""
    checked: Callable[[State], bool] | None = None
    enabled: Callable[[State], bool] | None = None
    bar: bool = False


def _file(state: State) -> bool:
    return state.file is not None


def _tensor(state: State) -> bool:
    return state.selected is not None


def _two(state: State) -> bool:
    return state.choice_b is not None


def _view(name: str, key: str, tip: str) -> Action:
    return Action(
        f"view {name}", name.capitalize(), tip, "&View", key, i.SetView(name), bar=True,
        checked=lambda s: s.view == name and not s.difference, enabled=_tensor,
    )  # fmt: skip


def _flag(flag: str, text: str, tip: str, shortcut: str = "", menu: str = "&View") -> Action:
    return Action(
        flag, text, tip, menu, shortcut, i.Toggle(flag), checked=lambda s: bool(getattr(s, flag)), enabled=_tensor
    )


ACTIONS: Final = (
    Action("open", "&Open\u2026", "Open a file of tensors", "&File", "Ctrl+O", command="open", bar=True),
    Action("sample", "Open &Sample", "Open the weights that ship with qcore", "&File", intent=i.OpenSample()),
    Action("reload", "&Reload", "Read the file again", "&File", "F5", i.Reload(), enabled=_file, bar=True),
    Action("importance", "Open &Importance\u2026", "Load one weight a column, for weighted errors", "&File",
           command="importance", enabled=_tensor),
    Action("clear recent", "Clear Recent Files", "Forget the files that were open", "&File", command="clear recent"),
    Action("close", "&Close", "Close the file", "&File", "Ctrl+W", i.CloseFile(), enabled=_file),
    Action("quit", "&Quit", "Close the window", "&File", "Ctrl+Q", command="quit"),
    Action("undo", "&Undo Scheme", "Take back the last change of the scheme", "&Edit", "Ctrl+Z", i.Undo(),
           enabled=lambda s: bool(s.undo)),
    Action("redo", "&Redo Scheme", "Do it again", "&Edit", "Ctrl+Y", i.Redo(), enabled=lambda s: bool(s.redo)),
    Action("scheme", "Edit Scheme as &Text", "Put the cursor into the scheme's text", "&Edit", "Ctrl+L",
           command="focus scheme"),
    Action("filter", "&Filter Tensors", "Put the cursor into the filter", "&Edit", "/", command="focus filter",
           enabled=_file),
    Action("rule", "Add Rule to &Recipe", "Note that this tensor takes this scheme", "&Edit", "Ctrl+D", i.AddRule(),
           enabled=_tensor),
    Action("cancel", "&Cancel Jobs", "Stop what runs; finished parts are kept", "&Edit", "Esc", i.CancelJobs()),
    _view("values", "1", "The tensor's values"),
    _view("codes", "2", "The stored codes"),
    _view("dequantized", "3", "What the codes decode to"),
    _view("error", "4", "Decoded minus source"),
    _view("scales", "5", "Effective scale of every block, log2"),
    Action("error map", "&Error Map", "The error, signed", "&View", "E", i.SetErrorMode("signed"), enabled=_tensor,
           checked=lambda s: s.view == "error" and s.error_mode == "signed"),
    Action("error absolute", "Error, &Absolute", "Size of the error", "&View", "Shift+E",
           i.SetErrorMode("absolute"), enabled=_tensor,
           checked=lambda s: s.view == "error" and s.error_mode == "absolute"),
    Action("error steps", "Error in S&teps", "Size of the error in effective scales", "&View", "",
           i.SetErrorMode("in steps"), enabled=_tensor,
           checked=lambda s: s.view == "error" and s.error_mode == "in steps"),
    Action("error sqnr", "S&QNR of the Block", "Signal over error of every block", "&View", "",
           i.SetErrorMode("block SQNR"), enabled=_tensor,
           checked=lambda s: s.view == "error" and s.error_mode == "block SQNR"),
    _flag("grid", "Block &Grid", "Outline blocks that are large enough on the screen", "G"),
    _flag("marginal_lines", "&Marginals", "Lines of row and column peaks or errors beside the heatmap", "M"),
    _flag("robust", "R&obust Colours", "Let the colours end at a high percentile, not at the extreme", "L"),
    _flag("log_counts", "&Log Counts", "Logarithmic counts in the histograms"),
    Action("histogram", "&Histogram", "Show the histogram", "&View", "H", i.SetTab("histogram")),
    Action("fit", "&Fit", "Show all of the tensor", "&View", "F", i.Fit(), enabled=_tensor, bar=True),
    Action("one", "1:1", "One element, one pixel", "&View", "0", command="one to one", enabled=_tensor, bar=True),
    Action("zoom in", "Zoom &In", "Show less, larger", "&View", "+", command="zoom in", enabled=_tensor),
    Action("zoom out", "Zoom &Out", "Show more, smaller", "&View", "-", command="zoom out", enabled=_tensor),
    Action("show a", "Show &A", "Show scheme A", "&Compare", "A", i.Show("A"), enabled=_tensor, bar=True,
           checked=lambda s: s.choice_b is not None and s.showing == "A"),
    Action("show b", "Show &B", "Show scheme B; it begins as a copy of A", "&Compare", "B", i.Show("B"),
           enabled=_tensor, bar=True, checked=lambda s: s.choice_b is not None and s.showing == "B"),
    Action("flicker", "&Flicker A/B", "Change between A and B", "&Compare", "Space", i.Show(), enabled=_two),
    _flag("difference", "&Difference A \u2212 B", "Decoded values of A minus those of B", "D", "&Compare"),
    _flag("compare", "&Side by Side", "Two heatmaps that move together", "Ctrl+2", "&Compare"),
    Action("swap", "S&wap A and B", "Exchange the two schemes", "&Compare", "", i.SwapAB(), enabled=_two),
    Action("sweep", "&Sweep This Tensor", "Try thirty-one schemes on a sample", "&Compare", "Ctrl+R", i.Sweep(),
           enabled=_tensor, bar=True),
    Action("refine", "Sweep &Exactly", "Try them on all elements", "&Compare", "Ctrl+Shift+R", i.Sweep(exact=True),
           enabled=_tensor),
    Action("next worst", "&Next Worst Block", "Jump to the next block of the list", "&Go", "]", i.StepWorst(1),
           enabled=_tensor),
    Action("previous worst", "&Previous Worst Block", "Jump to the one before", "&Go", "[", i.StepWorst(-1),
           enabled=_tensor),
    Action("next tensor", "Next &Tensor", "Select the next tensor", "&Go", ".", i.StepTensor(1), enabled=_file),
    Action("previous tensor", "P&revious Tensor", "Select the tensor before", "&Go", ",", i.StepTensor(-1),
           enabled=_file),
    Action("copy rust", "Copy as &Rust", "Copy the scheme as Burn builder code", "E&xport", "Ctrl+Shift+C",
           command="copy rust"),
    Action("copy python", "Copy as &Python", "Copy the call of qcore.quantize", "E&xport", command="copy python"),
    Action("copy cli", "Copy as &Command", "Copy the command line", "E&xport", command="copy cli"),
    Action("export", "&Export\u2026", "Write the picture, a table, an array, the recipe or a report", "E&xport",
           "Ctrl+E", command="export", enabled=_tensor, bar=True),
    Action("palette", "Command &Palette\u2026", "Find any command by its name", "&Help", "Ctrl+K", command="palette"),
    Action("help", "&Keys and Panels", "List all shortcuts and what the panels show", "&Help", "F1", command="help"),
    Action("doctor", "&Doctor", "What is installed and what is missing", "&Help", command="doctor"),
    Action("about", "&About", "Version and licences", "&Help", command="about"),
)  # fmt: skip
