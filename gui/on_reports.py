"""Handlers of what jobs report. A report whose job was overtaken never gets here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from . import intents as i
from . import reports as r
from .starting import Next
from .state import Message


def _done(n: Next, report: r.Report) -> Next:
    return n.set(running=tuple(job for job in n.state.running if job.serial != report.serial))


def progressed(n: Next, report: r.Progressed) -> Next:
    running = tuple(
        replace(job, done=report.done, total=report.total) if job.serial == report.serial else job
        for job in n.state.running
    )
    return n.set(running=running)


def failed(n: Next, report: r.Failed) -> Next:
    _done(n, report)
    if report.slot.startswith("measure"):
        n.set(**{f"refused_{report.slot[-1].lower()}": report.message})
    if report.slot in ("picture", "picture B"):
        n.set(**{"picture" if report.slot == "picture" else "picture_b": None})
    return n.tell(report.message, loud=report.slot not in ("probe", "detail", "picture", "picture B"))


def cancelled(n: Next, report: r.Cancelled) -> Next:
    return _done(n, report)


def finished(n: Next, report: r.Finished) -> Next:
    return _done(n, report)


def facts_found(n: Next, report: r.FactsFound) -> Next:
    _done(n, report).set(facts=report.facts)
    facts = report.facts
    if facts.nan or facts.infinite:
        text = f"{facts.tensor}: {facts.nan:,} NaN and {facts.infinite:,} infinities, the first at {facts.first_bad}"
        n.tell(Message(text, "non-finite", level="warning"))
    return n


def drawn(n: Next, report: r.PictureDrawn) -> Next:
    if report.final:
        _done(n, report)
    return n.set(**{"picture_b" if report.which == "B" else "picture": report.picture})


def measured(n: Next, report: r.SchemeMeasured) -> Next:
    _done(n, report).set(**{f"measured_{report.which.lower()}": report.measured})
    if n.state.detail is None and report.measured.blocks and n.state.selected is not None:
        worst = report.measured.worst[n.state.worst_by]
        if worst:
            n.relook(worst[0].block)
    return n


def detail_found(n: Next, report: r.DetailFound) -> Next:
    return _done(n, report).set(detail=report.detail, block=report.detail.block, pulse=n.state.pulse + 1)


def probed(n: Next, report: r.Probed) -> Next:
    return _done(n, report).set(probe=report.probe)


def answered(n: Next, report: r.Answered) -> Next:
    return _done(n, report).set(answers=report.answers)


def sweep_grew(n: Next, report: r.SweepGrew) -> Next:
    if report.final:
        _done(n, report)
    return n.set(sweep=report.table, sweep_note=report.note)


def exported(n: Next, report: r.Exported) -> Next:
    return _done(n, report).tell(Message(f"wrote {report.path}"), loud=True)


def importance_read(n: Next, report: r.ImportanceRead) -> Next:
    _done(n, report).set(importance=report.weights)
    return n.tell(Message(f"importance of {len(report.weights):,} columns from {report.path}"))


def say(n: Next, intent: i.Say) -> Next:
    return n.tell(intent.message, loud=intent.loud)


def dismiss(n: Next, intent: i.Dismiss) -> Next:
    return n.set(notice=None)


HANDLERS: Final[dict[type[i.Intent], Callable[[Next, Any], Next]]] = {
    r.Progressed: progressed,
    r.Failed: failed,
    r.Cancelled: cancelled,
    r.Finished: finished,
    r.FactsFound: facts_found,
    r.PictureDrawn: drawn,
    r.SchemeMeasured: measured,
    r.DetailFound: detail_found,
    r.Probed: probed,
    r.Answered: answered,
    r.SweepGrew: sweep_grew,
    r.Exported: exported,
    r.ImportanceRead: importance_read,
    i.Say: say,
    i.Dismiss: dismiss,
}
