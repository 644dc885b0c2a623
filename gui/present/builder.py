"""The scheme builder: every field with its choices, what each place says, and what to do where it refuses."""

from __future__ import annotations

from dataclasses import dataclass

import qcore
from qcore import errors
from qcore.capability.table import TABLE
from qcore.layout.packing import quantized_data_len
from qcore.scheme import PRESETS
from qcore.scheme.resolve import resolve

from .. import editing
from ..lens import AS_STORED
from ..state import Choice, State
from . import text

__all__ = ["Answers", "BuilderData", "Field", "Option", "Place", "Repair", "answers", "present"]

LABELS = {
    "value": "&Value", "store": "&Store", "mode": "&Mode", "table": "Code&book", "block": "&Block",
    "block scale": "Block scale", "tensor scale": "&Tensor scale",
}  # fmt: skip


LEVELS = {False: "", True: " (block scales \u00d7 one scale of the tensor)"}


@dataclass(frozen=True, slots=True)
class Option:
    """A choice of a field; where it is not enabled, ``why`` says so."""

    value: str
    enabled: bool = True
    why: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the scheme."""

    part: str
    label: str
    current: str
    options: tuple[Option, ...]
    free: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """A button: its label and the choice that it applies."""

    label: str
    choice: Choice


@dataclass(frozen=True, slots=True)
class Place:
    """What a backend or a target says."""

    name: str
    asked: str
    fine: bool
    message: str = ""
    code: str = ""
    cause: str = ""
    solutions: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the library says to a choice on a shape: computed by a job, since every choice of every field is asked."""

    choice: Choice
    shape: tuple[int, ...] | None
    fields: tuple[Field, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class BuilderData:
    """What the builder draws."""

    letter: str
    scheme: str
    debug: str
    presets: tuple[Option, ...]
    preset: str
    fields: tuple[Field, ...]
    options: tuple[Field, ...]
    places: tuple[Place, ...]
    size: str
    levels: str
    findings: tuple[str, ...]
    can_undo: bool
    can_redo: bool
    broken: Place | None


def present(state: State) -> BuilderData:
    """Return what the builder draws."""
    choice = state.choice
    shape = state.selected.shape if state.selected is not None else None
    scheme = editing.scheme_of(choice)
    preset = PRESETS.find(choice.scheme) if choice.scheme != AS_STORED else None
    presets = tuple(Option(name, why=PRESETS[name].summary) for name in PRESETS)
    if state.selected is not None and state.selected.quantized:
        presets = (Option(AS_STORED, why="the scheme that the file stores it under"), *presets)
    if scheme is None:
        return _without(state, presets)
    said = state.answers
    known = said is not None and (said.choice, said.shape) == (choice, shape)
    return BuilderData(
        letter=state.showing if state.choice_b is not None else "A",
        scheme=choice.scheme,
        debug=scheme.debug(),
        presets=presets,
        preset=preset.name if preset is not None else "",
        fields=said.fields if known and said is not None else _fields(choice, None, asked=False),
        options=options(choice),
        places=said.places if known and said is not None else (),
        size=sizes(state, choice),
        levels=f"levels: {scheme.num_levels}{LEVELS[scheme.is_two_level]}",
        findings=findings(state),
        can_undo=bool(state.undo),
        can_redo=bool(state.redo),
        broken=None,
    )


def answers(choice: Choice, shape: tuple[int, ...] | None) -> Answers:
    """Ask the library about a choice and everything beside it."""
    if editing.scheme_of(choice) is None:
        return Answers(choice, shape, (), ())
    return Answers(choice, shape, _fields(choice, shape, asked=True), places(choice, shape))


def _fields(choice: Choice, shape: tuple[int, ...] | None, *, asked: bool) -> tuple[Field, ...]:
    return tuple(_field(choice, part, shape, asked) for part in editing.PARTS if _applies(part, choice))


def _without(state: State, presets: tuple[Option, ...]) -> BuilderData:
    choice, refused = state.choice, state.refused
    broken = None
    if choice.scheme != AS_STORED and refused is not None:
        fixes = tuple(Repair(word, Choice(word)) for s in refused.solutions for word in editing.named_in(s))
        broken = Place("scheme", "read", False, refused.text, refused.title, refused.cause, refused.solutions, fixes)
    stored = "" if state.selected is None else state.selected.kind
    shown = stored if choice.scheme == AS_STORED else choice.scheme
    return BuilderData(
        "A", shown, "", presets, choice.scheme if choice.scheme == AS_STORED else "", (), (), (), "", "",
        findings(state), bool(state.undo), bool(state.redo), broken,
    )  # fmt: skip


def _applies(part: str, choice: Choice) -> bool:
    scheme = editing.scheme_of(choice)
    assert scheme is not None
    if part == "table":
        return scheme.is_lookup
    return part != "block scale" or scheme.block_scale is not None


def _field(choice: Choice, part: str, shape: tuple[int, ...] | None, asked: bool) -> Field:
    scheme = editing.scheme_of(choice)
    assert scheme is not None
    current = (editing.table_of(choice) or "") if part == "table" else editing.value_of(scheme, part)
    words = editing.choices(part)
    found = [_option(choice, part, value, shape) if asked else Option(value) for value in words]
    if current and current not in editing.choices(part):
        found.insert(0, Option(current))
    return Field(part, LABELS[part], current, tuple(found), free=part == "block")


def _option(choice: Choice, part: str, value: str, shape: tuple[int, ...] | None) -> Option:
    try:
        changed = editing.edited(choice, part, value)
        verdict = qcore.check(
            changed.scheme, shape, calibration=changed.calibration, codebook=editing.table_of(changed) is not None
        )
    except errors.QuantError as error:
        return Option(value, False, f"{error} [{error.code}]")
    if verdict:
        return Option(value)
    first = verdict.refusals[0]
    return Option(value, False, f"{first} [{first.code}]")


def options(choice: Choice) -> tuple[Field, ...]:
    """Fields beside the scheme: how scales are found and rounded."""
    preset = PRESETS.find(choice.scheme)
    implied = ("minmax", "up") if preset is None else (preset.calibration, preset.scale_rounding)
    return (
        Field(
            "calibration", "&Calibration", choice.calibration or implied[0],
            tuple(Option(v) for v in editing.CALIBRATIONS),
        ),
        Field(
            "scale_rounding", "Scale &rounding", choice.scale_rounding or implied[1],
            tuple(Option(v) for v in editing.SCALE_ROUNDINGS),
        ),
        Field("rounding", "Ties", choice.rounding, tuple(Option(v) for v in editing.ROUNDINGS)),
    )  # fmt: skip


def places(choice: Choice, shape: tuple[int, ...] | None) -> tuple[Place, ...]:
    """Ask every backend and every target."""
    try:
        answers = qcore.survey(choice.scheme, shape)
    except errors.QuantError:
        return ()
    found = []
    for name, verdict in answers.items():
        tip = TABLE[name].summary
        if verdict:
            found.append(Place(name, verdict.op, True, tip=tip))
            continue
        error = verdict.refusals[0]
        fixes = [Repair(word, Choice(word)) for s in error.solutions for word in editing.named_in(s)]
        changes = editing.repairs(choice, shape or (4096, 4096), name, verdict.op)
        fixes = [*(Repair(label, changed) for label, changed in changes), *fixes]
        fixes = [fix for fix in fixes if _helps(fix.choice, shape, name, verdict.op)]
        found.append(
            Place(
                name, verdict.op, False, str(error), error.code, error.cause, error.solutions,
                tuple(dict.fromkeys(fixes))[:4], tip,
            )
        )  # fmt: skip
    return tuple(found)


def _helps(choice: Choice, shape: tuple[int, ...] | None, on: str, op: str) -> bool:
    return bool(qcore.check(choice.scheme, shape, on=on, op=op))


def sizes(state: State, choice: Choice) -> str:
    """Bits per weight, bytes, and the ratio to the file's own."""
    row = state.selected
    if row is None or not row.size:
        return ""
    try:
        nbytes = quantized_data_len(_planned(choice, row.shape), row.shape)
    except errors.QuantError:
        return ""
    ratio = row.nbytes / nbytes if nbytes else 0.0
    return f"{8 * nbytes / row.size:.3g} bits/weight \u00b7 {text.size(nbytes)} \u00b7 {ratio:.2f}\u00d7 smaller"


def _planned(choice: Choice, shape: tuple[int, ...]) -> qcore.QuantScheme:
    from qcore.capability import tied_scheme

    found = resolve(choice.scheme)
    return tied_scheme(found.scheme, shape) if found.preset is not None and found.preset.tied else found.scheme


def findings(state: State) -> tuple[str, ...]:
    """What the data has to say, with counts and the first place."""
    found = []
    facts, measured = state.facts, state.measured
    if facts is not None and facts.nan:
        found.append(f"{facts.nan:,} NaN, the first non-finite element at {facts.first_bad}: shown as the zero code")
    if facts is not None and facts.infinite:
        found.append(f"{facts.infinite:,} infinities: shown at the ends of the range")
    if measured is not None:
        for amount, what in (
            (measured.flushed, "non-zero blocks decode to zero"),
            (measured.zero_blocks, "blocks have scale zero"),
            (measured.saturated, "scales are saturated at the largest of their dtype"),
            (measured.smallest, "scales are the smallest of their dtype"),
        ):
            if amount:
                found.append(f"{amount:,} of {measured.blocks:,} {what}")
    return tuple(found)
