"""``qcore schemes``: the presets, and what a scheme means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore import errors
from qcore.cli.commands.check import short
from qcore.cli.output import Result, columns
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.scheme import Preset, QuantScheme

# a weight of ordinary size, where the bits spent on scales are what they will be
_SHAPE = (4096, 4096)


def run(
    settings: Settings,
    action: Annotated[
        str | None, typer.Argument(help="'explain', with a scheme; nothing lists the presets.")
    ] = None,
    scheme: Annotated[str | None, typer.Argument(help="A scheme's text or a preset's name.")] = None,
) -> Result:
    """A scheme is written VALUE[/STORE][/lookup[:TABLE]][/bEXTENTS:DTYPE][/t:DTYPE], for example q4s/u32/b32:f16."""
    if action is None:
        return _listed()
    if action != "explain":
        raise errors.build("unknown-name", kind="action", name=action, choices=("explain",))
    if scheme is None:
        raise errors.build(
            "option-value", option="schemes explain", expected="followed by a scheme", got="nothing"
        )
    return _explained(scheme)


def bits_per_weight(scheme: QuantScheme, tied: str | None = None, shape: tuple[int, ...] = _SHAPE) -> float:
    """Bits for each element of a tensor of this shape, scales counted."""
    from qcore.capability import tied_scheme
    from qcore.layout import quantized_data_len

    size = 1
    for dim in shape:
        size *= dim
    return 8 * quantized_data_len(tied_scheme(scheme, shape) if tied else scheme, shape) / size


def implied(preset: Preset) -> dict[str, str]:
    """What quantizing with a preset implies beyond the defaults."""
    found = {
        "calibration": preset.calibration if preset.calibration != "minmax" else None,
        "scale_rounding": preset.scale_rounding if preset.scale_rounding != "up" else None,
        "tied": preset.tied,
        "codebook": preset.codebook,
        "arithmetic": preset.arithmetic if preset.arithmetic != "exact" else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _said(implications: dict[str, str]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in implications.items())


def _listed() -> Result:
    import qcore

    rows, document = [], []
    for preset in qcore.PRESETS.values():
        bits = bits_per_weight(preset.scheme, preset.tied)
        more = implied(preset)
        said = _said(more)
        rows.append((preset.name, str(preset.scheme), f"{bits:.4g}", said, preset.portable))
        document.append(
            {
                "name": preset.name,
                "scheme": str(preset.scheme),
                "bits_per_weight": bits,
                "implies": more,
                "summary": preset.summary,
                "loads": preset.portable,
            }
        )
    lines = columns(("preset", "scheme", "bits/w", "implies", "loads"), rows, right="llr")
    return Result({"shape": list(_SHAPE), "presets": document}, lines)


def _explained(text: str) -> Result:
    import qcore
    from qcore.scheme.resolve import resolve

    found = resolve(text)
    scheme, preset = found.scheme, found.preset
    bits = bits_per_weight(scheme, preset.tied if preset else None)
    facts = [("scheme", str(scheme)), ("Burn", scheme.debug())]
    if preset is not None:
        said = _said(implied(preset))
        facts = [
            ("preset", f"{preset.name}: {preset.summary}"),
            *facts,
            ("implies", said or "nothing beyond the defaults"),
        ]
    facts += [("values", _values(scheme)), ("stored", _stored(scheme)), ("scales", _scales(scheme))]
    facts.append(("size", f"{bits:.4g} bits/weight for {_SHAPE[0]} x {_SHAPE[1]}"))
    survey = qcore.survey(text, _SHAPE)
    places = [
        (name, verdict.op, "yes" if verdict else f"no {short(verdict)}") for name, verdict in survey.items()
    ]
    lines = [line.rstrip() for line in columns(("", ""), facts)[1:]]
    lines += ["", *columns(("where", "asked", "answer"), places), "", "in Rust:"]
    lines += [f"  {line}" for line in scheme.to_rust().splitlines()]
    document: dict[str, Any] = {
        "preset": None if preset is None else preset.name,
        "scheme": str(scheme),
        "debug": scheme.debug(),
        "record": scheme.to_dict(),
        "rust": scheme.to_rust(),
        "bits_per_weight": bits,
        "facts": dict(facts),
        "places": {
            name: {
                "op": verdict.op,
                "ok": bool(verdict),
                "refusals": [error.code for error in verdict.refusals],
            }
            for name, verdict in survey.items()
        },
    }
    return Result(document, lines)


def _values(scheme: QuantScheme) -> str:
    from qcore.scheme import QuantMode

    value = scheme.value
    if scheme.mode is QuantMode.LOOKUP:
        return f"indices 0 to {2**value.bits - 1} into a table of {2**value.bits} floats"
    what = f"integers {int(value.lo)} to {int(value.hi)}" if value.is_integer else f"{value.bits}-bit floats"
    return f"{value.name}: {what}; a block's peak is {value.half_range:g} scales"


def _stored(scheme: QuantScheme) -> str:
    store = scheme.store
    if store.kind == "native":
        return "one byte each"
    unit = "32-bit word" if store.kind == "packed_u32" else "byte"
    axis = "the last axis" if not store.dim else f"axis {-1 - store.dim}"
    return f"{scheme.num_quants} to a {unit} along {axis}, the first in the lowest bits; each line padded with zeros"


def _scales(scheme: QuantScheme) -> str:
    block = scheme.block_scale
    if block is None:
        return f"one {scheme.scale_dtype.name} for the whole tensor"
    text = f"one {block.dtype.name} for each block of {'x'.join(map(str, block.size)) or '1'}"
    return text + (f", times one {scheme.tensor.name} for the whole tensor" if scheme.tensor else "")
