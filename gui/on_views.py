"""Handlers of intents about what is shown of the selected tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from . import intents as i
from . import jobs
from .starting import Next
from .state import ERROR_MODES, VIEWS, WORST_BY, Region, element_of, place_of

_FLAGS: Final = ("grid", "difference", "compare", "marginal_lines", "log_counts", "robust")
_AROUND: Final = 6
"""A block that is jumped to fills about one part in so many of the view."""
_LEAST: Final = 24


def set_view(n: Next, intent: i.SetView) -> Next:
    if intent.view not in VIEWS:
        return n
    return n.set(view=intent.view, difference=False).redraw()


def set_error_mode(n: Next, intent: i.SetErrorMode) -> Next:
    if intent.mode not in ERROR_MODES:
        return n
    return n.set(error_mode=intent.mode, view="error", difference=False).redraw()


def toggle(n: Next, intent: i.Toggle) -> Next:
    if intent.flag not in _FLAGS:
        return n
    n.set(**{intent.flag: not getattr(n.state, intent.flag)})
    if intent.flag in ("difference", "compare") and n.state.choice_b is None:
        n.set(choice_b=n.state.choice_a).remeasure("B")
    return n.redraw() if intent.flag in ("difference", "compare", "robust") else n


def set_region(n: Next, intent: i.SetRegion) -> Next:
    if n.state.selected is None:
        return n.set(pixels=intent.pixels)
    if (n.state.region, n.state.pixels) == (intent.region, intent.pixels):
        return n
    return n.set(region=intent.region, pixels=intent.pixels).redraw()


def fit(n: Next, intent: i.Fit) -> Next:
    rows, columns = n.state.matrix
    return n.set(region=Region(0, rows, 0, columns), epoch=n.state.epoch + 1).redraw()


def set_axes(n: Next, intent: i.SetAxes) -> Next:
    before = n.state.axes
    n.set(axes=intent.axes, cursor=None, probe=None)
    after = intent.axes
    if before is not None and after is not None and (before.row, before.column) == (after.row, after.column):
        return n.redraw()
    return fit(n, i.Fit())


def point_at(n: Next, intent: i.PointAt) -> Next:
    rows, columns = n.state.matrix
    row = n.state.selected
    if intent.place is None or row is None:
        return n.set(cursor=None, probe=None)
    if not (0 <= intent.place[0] < rows and 0 <= intent.place[1] < columns):
        return n.set(cursor=None, probe=None)
    n.set(cursor=intent.place)
    choice = None if n.state.refused is not None else n.state.choice
    return n.start(jobs.ProbeJob, "probe", "look under the pointer", row.name, choice, n.state.axes, intent.place)


def pick_place(n: Next, intent: i.PickPlace) -> Next:
    if n.state.selected is None:
        return n
    return n.relook(None, element_of(n.state.selected.shape, n.state.axes, *intent.place))


def pick_block(n: Next, intent: i.PickBlock) -> Next:
    s = n.state
    measured = s.measured
    if s.selected is None or measured is None:
        return n
    n.set(block=intent.block, pulse=s.pulse + 1)
    if intent.jump:
        extents = measured.extents or (1,)
        corner = tuple(
            min(b * e, max(d - 1, 0)) for b, e, d in zip(intent.block, extents, s.selected.shape or (1,), strict=True)
        )
        axes = s.axes
        if axes is not None:
            n.set(axes=replace(axes, index=corner))
        row, column = place_of(s.selected.shape, n.state.axes, corner)
        height = (1, *extents)[-2] if axes is None else extents[axes.row]
        width = extents[-1] if axes is None else extents[axes.column]
        _centre(n, row + height // 2, column + width // 2, max(_AROUND * height, _LEAST), max(_AROUND * width, _LEAST))
    return n.relook(intent.block)


def jump_to(n: Next, intent: i.JumpTo) -> Next:
    region = n.state.region
    if n.state.selected is None or region is None:
        return n
    rows, columns = n.state.matrix
    height = region.bottom - region.top if intent.row < 0 else min(rows, 4 * _LEAST)
    width = region.right - region.left if intent.column < 0 else min(columns, 4 * _LEAST)
    row = (region.top + region.bottom) // 2 if intent.row < 0 else intent.row
    column = (region.left + region.right) // 2 if intent.column < 0 else intent.column
    return _centre(n, row, column, height, width)


def _centre(n: Next, row: int, column: int, height: int, width: int) -> Next:
    rows, columns = n.state.matrix
    height, width = min(height, rows), min(width, columns)
    top = max(min(row - height // 2, rows - height), 0)
    left = max(min(column - width // 2, columns - width), 0)
    return n.set(region=Region(top, top + height, left, left + width), epoch=n.state.epoch + 1).redraw()


def set_worst_by(n: Next, intent: i.SetWorstBy) -> Next:
    return n.set(worst_by=intent.measure, worst_at=-1) if intent.measure in WORST_BY else n


def step_worst(n: Next, intent: i.StepWorst) -> Next:
    measured = n.state.measured
    found = () if measured is None else measured.worst[n.state.worst_by]
    if not found:
        return n
    at = (n.state.worst_at + intent.by) % len(found) if n.state.worst_at >= 0 else 0
    return pick_block(n.set(worst_at=at), i.PickBlock(found[at].block, jump=True))


def set_marginal(n: Next, intent: i.SetMarginal) -> Next:
    return n.set(marginal_of=intent.of or n.state.marginal_of, marginal_by=intent.by or n.state.marginal_by)


def set_interpretation(n: Next, intent: i.SetInterpretation) -> Next:
    return n.set(interpretation=intent.name)


def set_tab(n: Next, intent: i.SetTab) -> Next:
    return n.set(tab=intent.tab)


HANDLERS: Final[dict[type[i.Intent], Callable[[Next, Any], Next]]] = {
    i.SetView: set_view,
    i.SetErrorMode: set_error_mode,
    i.Toggle: toggle,
    i.SetRegion: set_region,
    i.Fit: fit,
    i.SetAxes: set_axes,
    i.PointAt: point_at,
    i.PickPlace: pick_place,
    i.PickBlock: pick_block,
    i.JumpTo: jump_to,
    i.SetWorstBy: set_worst_by,
    i.StepWorst: step_worst,
    i.SetMarginal: set_marginal,
    i.SetInterpretation: set_interpretation,
    i.SetTab: set_tab,
}
