"""Opening and saving: which format it is, and the one way a file comes to be."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from qcore import errors
from qcore.formats import checkpoint, identities, table
from qcore.formats.atomic import atomic_write, destination_of
from qcore.formats.limits import Limits
from qcore.formats.protocol import StoredReader
from qcore.formats.source import Source, pieces

if TYPE_CHECKING:
    from qcore.formats.protocol import Reader, TensorInfo
    from qcore.formats.table import FileFormat

__all__ = ["hold_destination", "hold_form", "open_file", "save", "texts_for"]

PROVENANCE = "qcore.provenance"


def open_file(
    path: str | os.PathLike[str],
    *,
    dtype: Any = None,
    limits: Mapping[str, int] | None = None,
    burn: str | None = None,
) -> StoredReader:
    """Open a file of tensors for reading. Its structure is checked whole; data is read when it is asked for.

    Parameters
    ----------
    path
        A .safetensors, .bpk, .gguf, .npz, .npy, .pt or .pth file, recognised by its content; or a folder with a
        checkpoint in it, or the index of one (``model.safetensors.index.json``).
    dtype
        What the elements of an .npy or .npz file are where NumPy's format lost it: a dtype or its name, or for .npz a
        mapping from tensor names to such.
    limits
        Limits to raise, by name; ``qcore limits`` lists them.
    burn
        The Burn version that wrote a .bpk file, where the file does not tell: ``"0.19"`` for data that is not
        aligned.

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
    if checkpoint.is_checkpoint(path):
        return checkpoint.open_checkpoint(path, held)
    source = Source(path)
    try:
        row = table.detect(source)
        options = {} if burn is None else {"burn": burn}
        _hold_options(options, row)
        stored = row.reader()(source, held, dtype, **options)
        if row.name == "safetensors":
            return checkpoint.wrapped(path, row.name, source, stored, held)
        # a model may be split into several files, of which this is one
        return StoredReader(path, row.name, getattr(stored, "source", source), stored, held)
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
    burn: str | None = None,
    layout: str | None = None,
    like: Reader | None = None,
    format: str | None = None,
    convention: str | None = None,
    shard_bytes: int | None = None,
    companions: str | os.PathLike[str] | None = None,
) -> None:
    """Write tensors to a file: whole or not at all, and the same bytes for the same tensors.

    Parameters
    ----------
    path
        The destination; its suffix names the format. It may be the file that ``tensors`` is being read from. A path
        that is a folder, ends with a slash or has no suffix becomes a checkpoint: shards, index, configuration.
    tensors
        Arrays and quantized tensors by name, or an open file. An open file of the same format, with nothing to add,
        is copied byte for byte; a .bpk of an older Burn is brought into the newest form.
    metadata
        Texts to store along.
    overwrite
        Whether an existing file may be replaced. The old one stays until the new one is complete.
    provenance
        Whether a digest of each stored array and the version of qcore are recorded; a mapping adds its texts.
    burn
        The Burn version to write a .bpk for: ``0.19``, ``0.20``, ``0.21``, ``0.22-pre.2`` or ``0.22``. By default
        the form that the newest published Burn reads.
    layout
        For an open file: ``torch-to-burn`` or ``burn-to-torch`` transpose the weights of linear layers and rename
        those of norms, ``keep`` leaves them. A .bpk is not written from a file of another format with matrices
        unless this is said.
    like
        An open file whose texts beside tensors go along where the format is the same: scalars of a .bpk.
    format
        The format to write, where the suffix does not name it.
    convention
        How quantized tensors lie in .safetensors: ``"qcore"`` (the default of a single file; every scheme) or
        ``"compressed-tensors"`` (the default of a folder; what vLLM and transformers load). For 8-bit integers the
        latter takes a form: ``"compressed-tensors:pack-quantized"`` or ``":int-quantized"``.
    shard_bytes
        The size at which a folder's next shard begins; 5 GB unless given.
    companions
        A folder whose configuration and tokenizer files are copied along, with ``quantization_config`` brought up to
        date; by default that of the checkpoint ``tensors`` is.

    Raises
    ------
    qcore.errors.FormatError
        ``file-exists``, ``file-name-refused``, ``file-not-regular``, ``state-the-layout``.
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
    from qcore.formats import checkpoint_save
    from qcore.formats.content import gather

    target = Path(path)
    row = hold_destination(path, overwrite=None, format=format)
    name = str(target)
    options: dict[str, Any] = {} if burn is None else {"burn": burn}
    _hold_options(options, row)
    told = _provenance(provenance)
    folder = row.name == "safetensors" and format is None and checkpoint_save.is_folder(path)
    if folder and companions is None and isinstance(tensors, StoredReader):
        companions = tensors.folder
    if isinstance(tensors, StoredReader) and not (folder and layout is None):
        like, moves = tensors, _moves(tensors, row, layout)
        in_one = isinstance(tensors.source, Source)
        if in_one and not moves and convention is None and (row.rewriter() or not (metadata or provenance)):
            with atomic_write(target, overwrite=overwrite) as file:
                _again(file, name, tensors, row, {**(metadata or {}), **told}, bool(provenance), options)
            return
        if moves:
            from qcore.formats import orientation

            for_burn = row.name == "burnpack"
            told |= orientation.recorded(tensors, layout, burnpack=for_burn)
            metadata = {**texts_for(tensors, row.name), **(metadata or {})}
            tensors = orientation.arranged(tensors, moves, for_burn=for_burn)
    elif layout is not None and not isinstance(tensors, StoredReader):
        raise errors.build("option-value", option="layout", expected="given with an open file", got=layout)
    if folder:
        checkpoint_save.save_checkpoint(
            path, tensors, metadata, overwrite=overwrite, provenance=told, convention=convention,
            shard_bytes=shard_bytes, companions=companions,
        )  # fmt: skip
        return
    content = gather(tensors, name, metadata, digests=bool(provenance))
    for key, text in told.items():
        content = content.with_text(key, text)
    if isinstance(like, StoredReader) and like.format == row.name and row.rewriter():
        options["like"] = like.stored
    if row.name != "npy":
        source_file = like if isinstance(like, StoredReader) else None
        if row.name == "burnpack":
            options["others"] = identities.scalars_for(source_file, Limits())
        else:
            content = identities.carried(content, source_file)
    content = replace(content, options=options)
    if convention is not None:
        content = checkpoint_save.as_file(content, tensors, name, convention, row.name)
    with atomic_write(target, overwrite=overwrite) as file:
        row.writer()(file, name, content)


def hold_destination(
    path: str | os.PathLike[str], *, overwrite: bool | None, format: str | None = None
) -> FileFormat:
    """Name the format of a destination, that of its files for a folder; refuse one that a save would refuse.

    Parameters
    ----------
    path, format
        As in :func:`save`.
    overwrite
        As there; None where nothing will be written.
    """
    from qcore.formats import checkpoint_save, new_folder

    if format is None and checkpoint_save.is_folder(path):
        if overwrite is not None:
            new_folder.hold_replaceable(Path(os.path.realpath(path)), str(path), overwrite=overwrite)
        return table.for_suffix(Path("model.safetensors"))
    row = table.for_suffix(Path(path), format)
    if overwrite is not None:
        destination_of(path, overwrite=overwrite)
    return row


def hold_form(info: TensorInfo, path: str | os.PathLike[str], convention: str | None) -> None:
    """Refuse a quantized tensor that a destination's convention has no form for, before anything is made."""
    from qcore.formats import checkpoint_save

    if convention is None and checkpoint_save.is_folder(path):
        convention = checkpoint_save.COMPRESSED
    if convention is not None:
        checkpoint_save.hold_in_convention(info, str(path), convention)


def _provenance(asked: bool | Mapping[str, str]) -> dict[str, str]:
    if not asked:
        return {}
    from qcore import __version__

    told = dict(asked) if isinstance(asked, Mapping) else {}
    return {PROVENANCE: json.dumps({"qcore": __version__, **told}, sort_keys=True)}


def _moves(reader: StoredReader, row: FileFormat, layout: str | None) -> tuple[Any, ...]:
    """What a layout makes of the tensors; nothing where all stay as they are in a file of the same format."""
    from qcore.formats import orientation

    if layout is None and reader.format == row.name:
        return ()
    infos = [reader.info(name) for name in reader.names()]
    if layout is None and row.name == "burnpack":
        orientation.demand_layout(reader, infos)
    moves = orientation.plan(infos, orientation.KEEP if layout is None else layout)
    return () if reader.format == row.name and all(move.is_nothing for move in moves) else moves


def texts_for(reader: StoredReader, format: str) -> dict[str, str]:
    """The texts of a file as a format is to carry them: ``format`` in a burnpack is the name of the container."""
    moved = reader.format != format and "burnpack" in (reader.format, format)
    return {key: text for key, text in reader.metadata.items() if key != "format" or not moved}


def _again(
    file: BinaryIO,
    path: str,
    reader: StoredReader,
    row: FileFormat,
    texts: Mapping[str, str],
    digests: bool,
    options: Mapping[str, Any],
) -> None:
    """Write an open file again in its own format: by the format's own means, else byte for byte."""
    rewrite = row.rewriter()
    if rewrite is not None:
        rewrite(file, path, reader.stored, texts, digests=digests, **options)
        return
    file.writelines(pieces(reader.source, 0, reader.source.size))


def _hold_options(options: Mapping[str, Any], row: FileFormat) -> None:
    for option in options:
        if row.name != "burnpack":
            raise errors.build(
                "option-value", option=option, expected="given for a .bpk file", got=f"a {row.name} file"
            )
