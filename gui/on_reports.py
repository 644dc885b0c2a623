"""Handlers of what jobs report. A report whose job was overtaken never gets here."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from . import intents as i
from .starting import Next
from .state import Message


def _done(n: Next, report: i.Report) -> Next:
    return n.set(running=tuple(r for r in n.state.running if r.serial != report.serial))


def progressed(n: Next, report: i.Progressed) -> Next:
    running = tuple(
        replace(r, done=report.done, total=report.total) if r.serial == report.serial else r for r in n.state.running
    )
    return n.set(running=running)


def failed(n: Next, report: i.Failed) -> Next:
    _done(n, report)
    if report.slot.startswith("measure"):
        n.set(**{f"refused_{report.slot[-1].lower()}": report.message})
    if report.slot in ("picture", "picture B"):
        n.set(**{"picture" if report.slot == "picture" else "picture_b": None})
    return n.tell(report.message, loud=report.slot not in ("probe", "detail", "picture", "picture B"))


def cancelled(n: Next, report: i.Cancelled) -> Next:
    return _done(n, report)


def finished(n: Next, report: i.Finished) -> Next:
    return _done(n, report)


def facts_found(n: Next, report: i.FactsFound) -> Next:
    _done(n, report).set(facts=report.facts)
    facts = report.facts
    if facts.nan or facts.infinite:
        text = f"{facts.tensor}: {facts.nan:,} NaN and {facts.infinite:,} infinities, the first at {facts.first_bad}"
        n.tell(Message(text, "non-finite", level="warning"))
    return n


def drawn(n: Next, report: i.PictureDrawn) -> Next:
    if report.final:
        _done(n, report)
    return n.set(**{"picture_b" if report.which == "B" else "picture": report.picture})


def measured(n: Next, report: i.SchemeMeasured) -> Next:
    _done(n, report).set(**{f"measured_{report.which.lower()}": report.measured})
    if n.state.detail is None and report.measured.blocks and n.state.selected is not None:
        worst = report.measured.worst[n.state.worst_by]
        if worst:
            n.relook(worst[0].block)
    return n


def detail_found(n: Next, report: i.DetailFound) -> Next:
    return _done(n, report).set(detail=report.detail, block=report.detail.block, pulse=n.state.pulse + 1)


def probed(n: Next, report: i.Probed) -> Next:
    return _done(n, report).set(probe=report.probe)


def answered(n: Next, report: i.Answered) -> Next:
    return _done(n, report).set(answers=report.answers)


def sweep_grew(n: Next, report: i.SweepGrew) -> Next:
    if report.final:
        _done(n, report)
    return n.set(sweep=report.table, sweep_note=report.note)


def exported(n: Next, report: i.Exported) -> Next:
    return _done(n, report).tell(Message(f"wrote {report.path}"), loud=True)


def importance_read(n: Next, report: i.ImportanceRead) -> Next:
    _done(n, report).set(importance=report.weights)
    return n.tell(Message(f"importance of {len(report.weights):,} columns from {report.path}"))


def say(n: Next, intent: i.Say) -> Next:
    return n.tell(intent.message, loud=intent.loud)


def dismiss(n: Next, intent: i.Dismiss) -> Next:
    return n.set(notice=None)


HANDLERS: Final = {
    i.Progressed: progressed,
    i.Failed: failed,
    i.Cancelled: cancelled,
    i.Finished: finished,
    i.FactsFound: facts_found,
    i.PictureDrawn: drawn,
    i.SchemeMeasured: measured,
    i.DetailFound: detail_found,
    i.Probed: probed,
    i.Answered: answered,
    i.SweepGrew: sweep_grew,
    i.Exported: exported,
    i.ImportanceRead: importance_read,
    i.Say: say,
    i.Dismiss: dismiss,
}
