"""``update``: a state and an intent give the next state and the jobs to start. Nothing is read, nothing is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import on_files, on_reports, on_schemes, on_views
from .intents import Intent
from .reports import Report
from .starting import Next
from .state import State, Step

__all__ = ["HANDLERS", "update"]

Handler = Callable[[Next, Any], Next]

HANDLERS: dict[type[Intent], Handler] = {
    **on_files.HANDLERS,
    **on_views.HANDLERS,
    **on_schemes.HANDLERS,
    **on_reports.HANDLERS,
}


def update(state: State, intent: Intent) -> Step:
    """Return what follows from an intent.

    Examples
    --------
    >>> from .intents import SetFilter
    >>> update(State(), SetFilter("down_proj")).state.filter
    'down_proj'
    """
    if isinstance(intent, Report) and state.newest_of(intent.slot) != intent.serial:
        return Step(state)  # a newer job has taken its place
    return HANDLERS[type(intent)](Next(state), intent).step()
