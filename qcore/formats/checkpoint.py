"""Checkpoints: one safetensors file or many with an index, in a folder whose configuration says what they mean.

The index alone decides which tensor lies in which shard; what it names must be there. Names of shards are names of
files in the index's own folder, never paths.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats.conventions import table as conventions
from qcore.formats.conventions.settings import Settings, read_settings
from qcore.formats.faults import malformed
from qcore.formats.json_cursor import Cursor
from qcore.formats.protocol import Entry, StoredReader
from qcore.formats.safetensors_file import SafetensorsFile
from qcore.formats.source import Shards, Source

if TYPE_CHECKING:
    import numpy as np

    from qcore.formats.limits import Limits
    from qcore.formats.protocol import Stored

__all__ = [
    "FORMAT",
    "INDEX_SUFFIX",
    "SINGLE",
    "CheckpointReader",
    "is_checkpoint",
    "open_checkpoint",
    "wrapped",
]

INDEX_SUFFIX = ".safetensors.index.json"
SINGLE = "model.safetensors"
FORMAT = "checkpoint"
_FORBIDDEN = ("/", "\\", "\0", ":")


class ShardedFile:
    """The entries of all shards that the index lists, each read from its shard."""

    def __init__(self, path: str, weights: Mapping[str, str], shards: Mapping[str, SafetensorsFile]) -> None:
        entries: dict[str, Entry] = {}
        texts: dict[str, str] = {}
        records: dict[str, str] = {}
        digests: dict[str, str] = {}
        for shard_name, shard in shards.items():
            for key, text in shard.metadata.items():
                texts.setdefault(key, text)
            listed = {name: entry for name, entry in shard.entries.items() if weights.get(name) == shard_name}
            entries.update(listed)
            records.update({name: text for name, text in shard.records.items() if name in listed})
            digests.update({name: text for name, text in shard.digests.items() if name in listed})
        for name, shard_name in weights.items():
            if name not in entries:
                raise errors.build(
                    "file-tensor-missing", variant="none-close", path=f"{path}: {shard_name!a}", name=name,
                    choices=(),
                )  # fmt: skip
        self._shards = shards
        self._weights = weights
        self.entries: Mapping[str, Entry] = MappingProxyType(entries)
        self.metadata: Mapping[str, str] = MappingProxyType(texts)
        self.records: Mapping[str, str] = MappingProxyType(records)
        self.digests: Mapping[str, str] = MappingProxyType(digests)

    def array(self, name: str) -> np.ndarray:
        """Read one entry."""
        return self._shards[self._weights[name]].array(name)

    def raw(self, name: str) -> Iterator[bytes]:
        """Read one entry's bytes, piece by piece."""
        return self._shards[self._weights[name]].raw(name)


class CheckpointReader(StoredReader):
    """A reader that joins what the conventions of other projects keep in several arrays."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        format: str,
        source: Source | Shards,
        stored: Stored,
        limits: Limits,
        settings: Settings,
        folder: Path | None = None,
        index: Path | None = None,
    ) -> None:
        super().__init__(path, format, source, stored, limits)
        self.settings = settings
        self.folder = folder
        self.index = index
        self._infos, self._found = conventions.found_in(stored, settings, self._infos, str(self.path), limits)

    def tensor(self, name: str) -> Any:
        """Read a tensor: an array of its own, a quantized tensor, or one that only decodes."""
        found = self._found.get(name)
        return super().tensor(name) if found is None else found.load(self.stored.array)


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Whether a path is opened as a checkpoint: a folder, or an index."""
    return os.path.isdir(path) or str(path).endswith(INDEX_SUFFIX)


def open_checkpoint(path: str | os.PathLike[str], limits: Limits) -> CheckpointReader:
    """Open a folder of safetensors files, or an index of them."""
    where = Path(path)
    folder = where if where.is_dir() else where.parent
    chosen = _chosen(where) if where.is_dir() else where
    settings = read_settings(folder, limits, strict=True)
    if not chosen.name.endswith(INDEX_SUFFIX):
        source = Source(chosen)
        try:
            single: Any = SafetensorsFile(source, limits)
            return CheckpointReader(where, FORMAT, Shards([source]), single, limits, settings, folder)
        except BaseException:
            source.close()
            raise
    weights = read_index(chosen, limits)
    sources: dict[str, Source] = {}
    try:
        for name in sorted(set(weights.values())):
            sources[name] = Source(folder / name)
        shards = {name: SafetensorsFile(source, limits) for name, source in sources.items()}
        whole = ShardedFile(str(chosen), weights, shards)
        files = Shards(list(sources.values()))
        return CheckpointReader(where, FORMAT, files, whole, limits, settings, folder, chosen)
    except BaseException:
        for source in sources.values():
            source.close()
        raise


def wrapped(
    path: str | os.PathLike[str], format: str, source: Source, stored: Stored, limits: Limits
) -> CheckpointReader:
    """The reader of a single safetensors file: the configuration beside it counts, if there is one."""
    settings = read_settings(Path(path).parent, limits, strict=False)
    return CheckpointReader(path, format, source, stored, limits, settings)


def _chosen(folder: Path) -> Path:
    """The file a folder is opened by: ``model.safetensors``, the only index, the only file."""
    names = sorted(os.listdir(folder))
    indices = [name for name in names if name.endswith(INDEX_SUFFIX)]
    files = [name for name in names if name.endswith(".safetensors")]
    for name in (SINGLE, f"model{INDEX_SUFFIX}"):
        if name in files or name in indices:
            return folder / name
    if len(indices) == 1:
        return folder / indices[0]
    if not indices and len(files) == 1:
        return folder / files[0]
    found = f"{len(indices)} indices and {len(files)} safetensors files"
    raise errors.build("folder-not-a-checkpoint", path=str(folder), found=found)


def read_index(path: Path, limits: Limits) -> dict[str, str]:
    """Read which tensor lies in which file, trusting nothing."""
    source = Source(path)
    name = source.name
    try:
        limits.hold("config-json", source.size, path=name)
        data = source.read(0, source.size)
    finally:
        source.close()
    try:
        text = data.decode()
    except UnicodeDecodeError as problem:
        raise malformed(
            name, problem.start, "the index", f"byte 0x{data[problem.start]:02x}", "UTF-8"
        ) from None
    cursor = Cursor(text, path=name, base=0)
    weights: dict[str, str] | None = None
    for key, at in cursor.keys("the index's object"):
        if key != "weight_map":
            cursor.skip()
        elif weights is not None:
            raise cursor.fault("weight_map a second time", "each key once", at=at, rule="the index")
        else:
            weights = _weights(cursor, limits, name)
    cursor.end()
    if weights is None:
        raise malformed(name, "in its text", "the index", "without a weight_map", "an object with one")
    limits.hold("shards", len(set(weights.values())), path=name)
    return weights


def _weights(cursor: Cursor, limits: Limits, path: str) -> dict[str, str]:
    weights: dict[str, str] = {}
    for tensor, at in cursor.keys("an object under weight_map"):
        if tensor in weights:
            raise cursor.fault(f"the tensor {tensor!r} a second time", "each once", at=at, rule="the index")
        limits.hold("name", len(tensor.encode()), path=path)
        file = cursor.string("a file's name in quotes")
        if (
            not file.endswith(".safetensors")
            or file.startswith(".")
            or any(mark in file for mark in _FORBIDDEN)
        ):
            allowed = "a .safetensors file of the same folder"
            raise cursor.fault(repr(file), allowed, at=at, rule="the name of a shard", tensor=tensor)
        weights[tensor] = file
    return weights
