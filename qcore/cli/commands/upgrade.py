"""``qcore upgrade``: a burnpack of an older Burn in the form of the newest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qcore import errors
from qcore.cli.output import Result, printable
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.formats.burnpack_file import BurnpackFile


def run(
    settings: Settings,
    file: Annotated[Path, typer.Argument(help="A .bpk file.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write it. [default: in place of the old one]")
    ] = None,
    burn: Annotated[
        str | None,
        typer.Option(help="The version that wrote the file, where the file does not tell: 0.19."),
    ] = None,
) -> Result:
    """Tensors, their order and identities, texts and scalars stay; what changes is how types are spelled and where
    the data begins. A file in the newest form is left alone. The old file stays until the new one is complete.
    """
    from qcore import formats
    from qcore.formats.burnpack_words import NEWEST

    with formats.open(file, limits=settings.limits, burn=burn) as reader:
        if reader.format != "burnpack":
            raise errors.build(
                "option-value", option="FILE", expected="a .bpk file", got=f"a {reader.format} file"
            )
        stored: BurnpackFile = reader.stored  # type: ignore[assignment]  # the format says so
        header = stored.header
        older = sorted(name for name, tensor in header.tensors.items() if not tensor.newest)
        notes = [f"{printable(str(file))}: {note}" for note in reader.notes]
        document: dict[str, Any] = {
            "path": str(file), "out": str(out or file), "burn": NEWEST.burn, "upgraded": not header.is_newest,
            "realigned": header.legacy, "respelled": older, "tensors": len(header.tensors),
        }  # fmt: skip
        if header.is_newest and out is None:
            return Result(document, [f"{printable(str(file))}: is in the form of Burn {NEWEST.burn} already"])
        formats.save(out or file, reader, overwrite=settings.overwrite or out is None, format="burnpack")
    done = [f"{len(older)} types respelled"] if older else []
    done += ["data aligned"] if header.legacy else []
    told = ", ".join(done) or "copied"
    line = f"{printable(str(out or file))}: {len(header.tensors)} tensors in the form of Burn {NEWEST.burn} ({told})"
    return Result(document, [line], notes=notes)
