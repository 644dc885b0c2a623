"""The configuration beside a checkpoint: which convention it names, and the one edit we make to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats.convention import strict_object
from qcore.formats.faults import malformed
from qcore.formats.json_cursor import Cursor
from qcore.formats.source import Source

if TYPE_CHECKING:
    from qcore.formats.limits import Limits

__all__ = ["CONFIG", "NAMES", "Settings", "edited", "read_settings"]

CONFIG, MODELOPT, GPTQ = "config.json", "hf_quant_config.json", "quantize_config.json"
NAMES = (MODELOPT, GPTQ)
"""Files that hold nothing but the configuration of a convention."""
_BLOCK, _MLX = "quantization_config", "quantization"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a folder declares: the convention's name (empty if none), its configuration, and the text it stands in."""

    method: str = ""
    block: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    text: str = ""


def read_settings(folder: Path, limits: Limits, *, strict: bool) -> Settings:
    """Read the configuration files of a folder, those it has.

    ``strict`` refuses a ``config.json`` that is no JSON object. Beside a single file it may belong to something
    else: there it then counts as missing.
    """
    try:
        text, found = _object(folder / CONFIG, limits)
    except errors.QuantError:
        if strict:
            raise
        text, found = "", {}
    block = found.get(_BLOCK)
    if isinstance(block, dict):
        method = block.get("quant_method")
        if not isinstance(method, str):  # early files of compressed-tensors do without
            method = "compressed-tensors" if "config_groups" in block else ""
        return Settings(method.lower(), MappingProxyType(block), text)
    if isinstance(found.get(_MLX), dict):
        return Settings("mlx", MappingProxyType(found[_MLX]), text)
    for name, method in ((MODELOPT, "modelopt"), (GPTQ, "gptq")):
        try:
            _, other = _object(folder / name, limits)
        except errors.QuantError:
            if strict:
                raise
            other = {}
        if other:
            inner = other.get("quantization", other)
            return Settings(method, MappingProxyType(inner if isinstance(inner, dict) else {}), text)
    return Settings(text=text)


def _object(path: Path, limits: Limits) -> tuple[str, dict[str, Any]]:
    """The text of a file and the object it holds; nothing if there is no such file."""
    if not path.is_file():
        return "", {}
    source = Source(path)
    try:
        limits.hold("config-json", source.size, path=source.name)
        data = source.read(0, source.size)
    finally:
        source.close()
    try:
        text = data.decode()
    except UnicodeDecodeError as problem:
        raise malformed(str(path), problem.start, "the text", "bytes", "UTF-8") from None
    return text, strict_object(text, str(path), "in its text")


def edited(text: str, block: Mapping[str, Any] | None, path: str) -> str:
    """Put a ``quantization_config`` in the place of the old one, or take it out; every other byte stays.

    Examples
    --------
    >>> edited('{"a": 1e-05, "quantization_config": {"x": 1}, "b": 2}', None, "config.json")
    '{"a": 1e-05, "b": 2}'
    >>> print(edited('{"a": 1}', {"bits": 4}, "config.json"))
    {
      "a": 1,
      "quantization_config": {
        "bits": 4
      }
    }
    """
    members = _members(text, path)
    kept = [member for member in members if member[0] not in (_BLOCK, _MLX)]
    if block is None:
        return text if len(kept) == len(members) else _rebuilt(text, members, kept)
    written = json.dumps(block, indent=2, ensure_ascii=False).replace("\n", "\n  ")
    found = next((member for member in members if member[0] == _BLOCK), None)
    if found is not None and len(kept) == len(members) - 1:
        _, _, value, end = found
        return text[:value] + written + text[end:]
    inner = [text[start:end] for _, start, _, end in kept] + [f'"{_BLOCK}": {written}']
    return (
        "{\n  " + ",\n  ".join(inner) + "\n}" + text[text.rindex("}") + 1 :]
        if text
        else ("{\n  " + inner[-1] + "\n}\n")
    )


def _members(text: str, path: str) -> list[tuple[str, int, int, int]]:
    """Each key of the outermost object with where it, its value and its end stand."""
    if not text:
        return []
    cursor = Cursor(text, path=path, base=0)
    found = []
    for key, at in cursor.keys("an object"):
        value = cursor.here()
        cursor.skip()
        end = len(text[: cursor.here()].rstrip(" \t\r\n"))
        found.append((key, at, value, end))
    cursor.end()
    return found


def _rebuilt(
    text: str, members: list[tuple[str, int, int, int]], kept: list[tuple[str, int, int, int]]
) -> str:
    """The text with some members taken out, the spaces between the others as they were."""
    if not kept:
        return "{}" + text[text.rindex("}") + 1 :]
    between = text[members[0][3] : members[1][1]] if len(members) > 1 else ""
    head, tail = text[: members[0][1]], text[members[-1][3] :]
    return head + between.join(text[start:end] for _, start, _, end in kept) + tail
