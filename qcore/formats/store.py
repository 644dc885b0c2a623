"""Opening and saving: which format it is, and the one way a file comes to be."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcore.formats import table
from qcore.formats.atomic import atomic_write
from qcore.formats.limits import Limits
from qcore.formats.protocol import StoredReader
from qcore.formats.source import Source

if TYPE_CHECKING:
    from qcore.formats.protocol import Reader

__all__ = ["open_file", "save"]

PROVENANCE = "qcore.provenance"
_PIECE = 1 << 20


def open_file(
    path: str | os.PathLike[str], *, dtype: Any = None, limits: Mapping[str, int] | None = None
) -> StoredReader:
    """Open a file of tensors for reading. Its structure is checked whole; data is read when it is asked for.

    Parameters
    ----------
    path
        A .safetensors, .npz or .npy file, recognised by its content.
    dtype
        What the elements of an .npy or .npz file are where NumPy's format lost it: a dtype or its name, or for .npz a
        mapping from tensor names to such.
    limits
        Limits to raise, by name; ``qcore limits`` lists them.

    Returns
    -------
    A reader with ``names()``, ``info(name)``, ``tensor(name)`` and ``metadata``, and a context manager.

    Raises
    ------
    qcore.errors.FormatError
        The file is not what it claims to be: ``file-not-recognised``, ``file-malformed``, ``file-truncated``,
        ``file-limit``, ``file-pickle-refused``, ``npy-lost-dtype``.

    Examples
    --------
    >>> import tempfile, numpy as np, qcore
    >>> path = tempfile.mkdtemp() + "/bias.npy"
    >>> np.save(path, np.arange(3, dtype=np.float32))
    >>> with qcore.open(path) as f:
    ...     f.names(), f.info("bias").shape, f.tensor("bias").tolist()
    (('bias',), (3,), [0.0, 1.0, 2.0])
    """
    held = Limits(limits)
    source = Source(path)
    try:
        row = table.detect(source)
        stored = row.reader()(source, held, dtype)
        return StoredReader(path, row.name, source, stored, held)
    except BaseException:
        source.close()
        raise


def save(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Any] | Reader,
    metadata: Mapping[str, str] | None = None,
    *,
    overwrite: bool = False,
    provenance: bool | Mapping[str, str] = False,
) -> None:
    """Write tensors to a file: whole or not at all, and the same bytes for the same tensors.

    Parameters
    ----------
    path
        The destination; its suffix names the format. It may be the file that ``tensors`` is being read from.
    tensors
        Arrays and quantized tensors by name, or an open file. An open file of the same format, with nothing to add,
        is copied byte for byte.
    metadata
        Texts to store along.
    overwrite
        Whether an existing file may be replaced. The old one stays until the new one is complete.
    provenance
        Whether a digest of each stored array and the version of qcore are recorded; a mapping adds its texts.

    Raises
    ------
    qcore.errors.FormatError
        ``file-exists``, ``file-name-refused``, ``file-not-regular``.
    qcore.errors.UnsupportedSchemeError
        ``file-cannot-hold``.

    Examples
    --------
    >>> import tempfile, numpy as np, qcore
    >>> path = tempfile.mkdtemp() + "/w.safetensors"
    >>> q = qcore.quantize(np.ones((2, 32), np.float32), "q4s/u32/b32:f16")
    >>> qcore.save(path, {"w": q})
    >>> with qcore.open(path) as f:
    ...     f.tensor("w") == q
    True
    """
    from qcore.formats.content import gather

    target = Path(path)
    row = table.for_suffix(target)
    name = str(target)
    if isinstance(tensors, StoredReader) and tensors.format == row.name and not metadata and not provenance:
        with atomic_write(target, overwrite=overwrite) as file:
            for at in range(0, tensors.source.size, _PIECE):
                file.write(tensors.source.read(at, min(_PIECE, tensors.source.size - at)))
        return
    content = gather(tensors, name, metadata, digests=bool(provenance))
    if provenance:
        from qcore import __version__

        told = dict(provenance) if isinstance(provenance, Mapping) else {}
        content = content.with_text(PROVENANCE, json.dumps({"qcore": __version__, **told}, sort_keys=True))
    with atomic_write(target, overwrite=overwrite) as file:
        row.writer()(file, name, content)
