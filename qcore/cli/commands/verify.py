"""``qcore verify``: is this file what it was when it was written?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qcore import errors
from qcore.cli import exits
from qcore.cli.output import Result, printable
from qcore.cli.settings import Settings

if TYPE_CHECKING:
    from qcore.formats.protocol import StoredReader
    from qcore.tensor import QTensor


def run(
    settings: Settings,
    file: Annotated[Path, typer.Argument(help="The file to check.")],
) -> Result:
    """The structure is checked by opening: a broken one ends with exit code 4.

    Then every digest that the file records is taken again, and every quantized tensor's scales and codes are looked
    at: a finding ends with exit code 5. Scales below zero are legal, and only counted.
    """
    findings: list[errors.QuantError] = []
    notes: list[str] = []
    with settings.open(file) as reader:
        names = reader.names()
        digests = reader.stored.digests
        for index, name in enumerate(names):
            settings.progress(index, len(names), name)
            findings += _digest_findings(reader, name)
            if reader.info(name).scheme is not None:
                tensor = reader.tensor(name)
                findings += [error.for_tensor(name) for error in _tensor_findings(tensor)]  # type: ignore[arg-type]
                notes += _tensor_notes(name, tensor)  # type: ignore[arg-type]  # a scheme makes it a QTensor
        settings.progress(len(names), len(names), "")
        recorded = sum(part in digests for name in names for part in reader.info(name).parts)
        stray = sorted(digests.keys() - reader.stored.entries.keys())
    findings += [
        errors.build("file-tensor-missing", variant="none-close", path=str(file), name=name, choices=())
        for name in stray
    ]
    rows = [{"code": error.code, "tensor": error.tensor, "message": str(error)} for error in findings]
    lines = [
        f"error[{row['code']}]: {printable(row['tensor'] or str(file))}: {printable(str(row['message']))}"
        for row in rows
    ]
    verdict = "fine" if not findings else f"{len(findings)} findings"
    lines.append(f"{printable(str(file))}: {verdict} ({len(names)} tensors, {recorded} digests)")
    document = {
        "path": str(file),
        "ok": not findings,
        "tensors": len(names),
        "digests": recorded,
        "findings": rows,
        "notes": notes,
    }
    return Result(document, lines, exits.FAILED if findings else exits.OK, notes)


def _digest_findings(reader: StoredReader, name: str) -> Iterator[errors.QuantError]:
    from qcore.formats.digests import digest_like

    for part in reader.info(name).parts:
        expected = reader.stored.digests.get(part)
        if expected is None:
            continue
        try:
            got = digest_like(expected, reader.stored.raw(part))
        except errors.QuantError as problem:
            yield problem.for_tensor(name)
            continue
        if got != expected:
            yield errors.build(
                "file-checksum", tensor=name, path=str(reader.path), name=part, got=got, expected=expected
            )


def _tensor_findings(tensor: QTensor) -> Iterator[errors.QuantError]:
    import numpy as np

    from qcore.calibration.scale_rounding import decode_scales
    from qcore.scheme import QuantMode

    for what, scales in (
        ("scales", decode_scales(tensor.scales)),
        (
            "the global scale",
            np.atleast_1d(np.float32(0 if tensor.global_scale is None else tensor.global_scale)),
        ),
    ):
        wrong = ~np.isfinite(scales.reshape(-1))
        if wrong.any():
            index = int(wrong.argmax())
            yield errors.build(
                "non-finite-scale", what=what, value=str(scales.reshape(-1)[index]), index=index
            )
    value = tensor.scheme.value
    if tensor.scheme.mode is QuantMode.SYMMETRIC and tensor.size:
        codes = tensor.codes
        if value.is_integer:
            low, high = int(value.lo), int(value.hi)
            wrong = (codes < low) | (codes > high)
        else:
            low, high = 0, (1 << value.bits) - 1
            decoded = tensor.plan().codec.table[codes.reshape(-1)]
            wrong = ~np.isfinite(decoded).reshape(codes.shape)
        if wrong.any():
            index = int(wrong.reshape(-1).argmax())
            code = int(codes.reshape(-1)[index])
            yield errors.build("code-out-of-range", code=code, index=index, lo=low, hi=high)


def _tensor_notes(name: str, tensor: QTensor) -> Iterator[str]:
    from qcore.calibration.scale_rounding import decode_scales

    below = int((decode_scales(tensor.scales) < 0).sum())
    if below:
        yield f"{name}: {below} scales are negative, as ggml writes them"
