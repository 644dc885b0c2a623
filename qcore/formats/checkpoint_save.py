"""Writing a folder that other programs load: shards, their index, and the configuration with its one edit.

Which form a quantized tensor takes, its convention decides; how a folder comes to be, ``new_folder`` does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats import safetensors_file
from qcore.formats.checkpoint import INDEX_SUFFIX, SINGLE, CheckpointReader
from qcore.formats.content import Content, Deferred, Group, gather
from qcore.formats.conventions.settings import CONFIG, NAMES, edited, read_settings
from qcore.formats.conventions.table import CONVENTIONS
from qcore.formats.limits import Limits
from qcore.formats.new_folder import PIECE, copy, new_file, new_folder
from qcore.formats.safetensors_header import METADATA
from qcore.formats.source import Shards

if TYPE_CHECKING:
    from qcore.formats.protocol import Reader, TensorInfo

__all__ = [
    "BLOCK_KEY",
    "COMPRESSED",
    "OWN",
    "SHARD_BYTES",
    "as_file",
    "hold_in_convention",
    "in_convention",
    "is_folder",
    "save_checkpoint",
]

OWN, COMPRESSED = "qcore", "compressed-tensors"
SHARD_BYTES = 5_000_000_000
BLOCK_KEY = "qcore.quantization_config"
_COMPANIONS = (".json", ".txt", ".model", ".jinja", ".tiktoken", ".vocab", ".py", ".md")


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a destination means a folder: it is one, it ends with a slash, or it has no suffix."""
    return os.path.isdir(path) or os.fspath(path).endswith((os.sep, "/")) or not Path(path).suffix


def save_checkpoint(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Any] | Reader,
    metadata: Mapping[str, str] | None,
    *,
    overwrite: bool,
    provenance: Mapping[str, str],
    convention: str | None,
    shard_bytes: int | None,
    companions: str | os.PathLike[str] | None,
) -> None:
    """Write tensors as a folder, quantized ones as the convention has them; compressed-tensors if none is named."""
    reader = tensors if isinstance(tensors, CheckpointReader) and tensors.folder is not None else None
    beside = Path(companions) if companions is not None else None if reader is None else reader.folder
    if beside is None and os.path.isdir(path):
        beside = Path(path)
    with new_folder(path, overwrite=overwrite) as folder:
        if beside is not None:
            _copy_companions(beside, folder)
        if reader is not None and convention is None and not metadata and not provenance:
            _copy_as_it_is(reader, folder)
            return
        name = str(path)
        texts = {**({} if isinstance(tensors, Mapping) else tensors.metadata), **(metadata or {})}
        content = gather(_turned(tensors), name, texts, digests=bool(provenance))
        for key, text in provenance.items():
            content = content.with_text(key, text)
        content.hold_names(name, reserved=(METADATA,))
        content, block = in_convention(content, tensors, name, convention or COMPRESSED)
        _write_shards(folder, content, shard_bytes or SHARD_BYTES)
        _write_config(folder, block, _kept(tensors, content, convention or COMPRESSED))


def in_convention(
    content: Content, tensors: Mapping[str, Any] | Reader, path: str, convention: str
) -> tuple[Content, dict[str, Any] | None]:
    """Put quantized tensors as a convention has them, and make the configuration that says so."""
    from qcore.formats.conventions.compressed_tensors_write import rewritten

    name, form = _parsed(convention)
    if name == OWN:
        return content.with_text("format", content.metadata.get("format", "pt")), None
    return rewritten(content, path, _origins(tensors), form)


def as_file(
    content: Content, tensors: Mapping[str, Any] | Reader, path: str, convention: str, format: str
) -> Content:
    """The content of a single file in a convention; its configuration goes into the file's texts."""
    if format != "safetensors":
        if convention == OWN:
            return content
        what = f"the convention {convention!r}"
        raise errors.build("file-cannot-hold", tensor=None, path=path, format=format, what=what)
    made, block = in_convention(content, tensors, path, convention)
    return made if block is None else made.with_text(BLOCK_KEY, json.dumps(block, sort_keys=True))


def _turned(tensors: Mapping[str, Any] | Reader) -> Mapping[str, Any] | Reader:
    """Weights that lie as ``[in, out]`` in their file, the way a folder keeps them; only bits move."""
    from qcore.formats import orientation

    if isinstance(tensors, Mapping):
        return {
            name: orientation.turned(value) if isinstance(value, Deferred) else value
            for name, value in tensors.items()
        }
    if not any(orientation.lies_turned(tensors.info(name)) for name in tensors.names()):
        return tensors
    return {name: orientation.turned(Deferred.of(tensors, name)) for name in tensors.names()}


def hold_in_convention(info: TensorInfo, path: str, convention: str) -> None:
    """Refuse a quantized tensor that a convention has no form for."""
    from qcore.formats.conventions.compressed_tensors_forms import form_of

    name, form = _parsed(convention)
    if name != OWN:
        form_of(info, path, form, lambda: bool(info.rules.get("tied") == "row"))


def _parsed(convention: str) -> tuple[str, str | None]:
    """A convention's name and the form that is asked for."""
    from qcore.formats.conventions.compressed_tensors_forms import FORMATS

    name, _, form = convention.partition(":")
    if convention == OWN or (name == COMPRESSED and (convention == name or form in FORMATS)):
        return name, form or None
    choices = (OWN, COMPRESSED, *(f"{COMPRESSED}:{word}" for word in FORMATS))
    raise errors.build("unknown-name", kind="convention to write", name=convention, choices=choices)


def _origins(tensors: Mapping[str, Any] | Reader) -> dict[str, str]:
    """Where tensors come from, as far as they say."""
    if isinstance(tensors, Mapping):
        infos = {name: getattr(value, "info", None) for name, value in tensors.items()}
        return {name: info.origin for name, info in infos.items() if info is not None}
    return {name: tensors.info(name).origin for name in tensors.names()}


def _kept(tensors: Mapping[str, Any] | Reader, content: Content, convention: str) -> bool:
    """Whether the configuration stays true word for word: the same tensors, in the forms they had."""
    if not isinstance(tensors, CheckpointReader) or convention != COMPRESSED:
        return False
    quantized = [group.info.name for group in content.groups if group.info.scheme is not None]
    ours = all(tensors.info(name).origin.startswith(f"{COMPRESSED} ") for name in quantized)
    foreign = any(tensors.info(name).origin and tensors.info(name).scheme is None for name in tensors.names())
    return bool(quantized) and ours and not foreign and tensors.settings.method == COMPRESSED


# ---- what is in it -------------------------------------------------------------------------------------------


def _copy_companions(beside: Path, folder: Path) -> None:
    """Configuration, tokenizer, licence: what is no weight and no index of weights."""
    for name in sorted(os.listdir(beside)):
        known = Path(name).suffix.lower() in _COMPANIONS or name.upper().startswith(("LICENSE", "NOTICE"))
        if (
            known
            and not name.startswith(".")
            and not name.endswith(".index.json")
            and (beside / name).is_file()
        ):
            copy(beside / name, folder / name)


def _copy_as_it_is(reader: CheckpointReader, folder: Path) -> None:
    """Shards and index, byte for byte."""
    buffer = memoryview(bytearray(PIECE))
    assert isinstance(reader.source, Shards)  # a checkpoint's source is its shards, be it one
    for source in reader.source.sources:
        with new_file(folder / source.path.name) as file:
            for at in range(0, source.size, PIECE):
                part = buffer[: min(PIECE, source.size - at)]
                source.read_into(at, part)
                file.write(part)
    if reader.index is not None:
        copy(reader.index, folder / reader.index.name)


def _write_shards(folder: Path, content: Content, most: int) -> None:
    """One file, or as many as it takes to keep each below a size, with an index; a tensor's parts stay together."""
    shards: list[list[Group]] = [[]]
    filled = total = 0
    for group in content.groups:
        nbytes = sum(entry.nbytes for entry in group.entries)
        if shards[-1] and filled + nbytes > most:
            shards.append([])
            filled = 0
        shards[-1].append(group)
        filled += nbytes
        total += nbytes
    weights: dict[str, str] = {}
    for number, groups in enumerate(shards, 1):
        name = SINGLE if len(shards) == 1 else f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        records = {
            g.info.name: content.records[g.info.name] for g in groups if g.info.name in content.records
        }
        weights.update({entry.name: name for group in groups for entry in group.entries})
        with new_file(folder / name) as file:
            part = replace(content, groups=tuple(groups), records=records)
            safetensors_file.write(file, str(folder / name), part)
    if len(shards) > 1:
        index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weights.items()))}
        with new_file(folder / f"model{INDEX_SUFFIX}") as file:
            file.write((json.dumps(index, indent=2, ensure_ascii=False) + "\n").encode())


def _write_config(folder: Path, block: Mapping[str, Any] | None, kept: bool) -> None:
    """Edit the configuration's one place, unless it is still true."""
    if kept:
        return
    told = read_settings(folder, Limits(), strict=True)
    for name in NAMES:  # they describe what the tensors were
        (folder / name).unlink(missing_ok=True)
    if block is None and not any(told.method in row.methods for row in CONVENTIONS):
        return
    path = folder / CONFIG
    new = edited(told.text, block, str(path))
    path.unlink(missing_ok=True)
    with new_file(path) as file:
        file.write(new.encode())
