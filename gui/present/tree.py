"""The tensor tree: names folded at their dots, or a flat list of what a filter lets through."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..state import State, TensorRow
from . import text

__all__ = ["HEADERS", "Node", "TreeData", "cells", "fold", "pattern", "present", "shown"]

HEADERS = ("name", "shape", "type", "params", "bytes")


@dataclass(frozen=True, slots=True)
class Node:
    """A folder of names, or a tensor."""

    label: str
    row: TensorRow | None
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeData:
    """What the tree draws."""

    nodes: tuple[Node, ...]
    flat: bool
    filter: str
    selected: str
    chips: tuple[str, ...]
    summary: str


def shown(state: State) -> tuple[TensorRow, ...]:
    """Return the tensors that the filter lets through, in the file's order."""
    return () if state.file is None else _filtered(state.file.rows, state.filter.strip().lower())


@lru_cache(maxsize=8)
def _filtered(rows: tuple[TensorRow, ...], words: str) -> tuple[TensorRow, ...]:
    if not words:
        return rows
    parts = words.split()
    return tuple(row for row in rows if all(_has(row.name.lower(), part) for part in parts))


def _has(name: str, part: str) -> bool:
    return part in name or ("#" in part and part in pattern(name))


def pattern(name: str) -> str:
    """Put ``#`` where a name has a number.

    Examples
    --------
    >>> pattern("model.layers.12.mlp.w1.weight")
    'model.layers.#.mlp.w1.weight'
    """
    return re.sub(r"(^|\.)\d+(?=\.|$)", r"\1#", name)


@lru_cache(maxsize=2)
def fold(rows: tuple[TensorRow, ...]) -> tuple[Node, ...]:
    """Fold names at their dots; a folder with a single child is joined to it.

    Examples
    --------
    >>> rows = tuple(TensorRow(n, (1,), "float32", 1, 4) for n in ("a.b.c", "a.b.d", "e"))
    >>> [(node.label, [child.label for child in node.children]) for node in fold(rows)]
    [('a.b', ['c', 'd']), ('e', [])]
    """
    root: dict[str, object] = {}
    for row in rows:
        here = root
        *folders, leaf = row.name.split(".")
        for folder in folders:
            found = here.setdefault(f"{folder}/", {})
            assert isinstance(found, dict)
            here = found
        here[leaf] = row
    return _nodes(root)


def _nodes(folder: dict[str, object]) -> tuple[Node, ...]:
    found = []
    for name, inner in folder.items():
        if isinstance(inner, TensorRow):
            found.append(Node(name, inner))
            continue
        assert isinstance(inner, dict)
        children = _nodes(inner)
        label = name[:-1]
        if len(children) == 1:
            found.append(Node(f"{label}.{children[0].label}", children[0].row, children[0].children))
        else:
            found.append(Node(label, None, children))
    return tuple(found)


def cells(node: Node) -> tuple[str, str, str, str, str]:
    """Texts of a node's columns."""
    if node.row is None:
        return node.label, "", "", "", ""
    row = node.row
    return node.label, text.shape(row.shape), row.kind, f"{row.size:,}", text.size(row.nbytes)


def present(state: State) -> TreeData:
    """Return what the tree draws."""
    if state.file is None:
        return TreeData((), True, "", "", (), "no file")
    rows = shown(state)
    filtered = bool(state.filter.strip())
    nodes = tuple(Node(row.name, row) for row in rows) if filtered else fold(rows)
    summary = f"{len(rows):,} of {len(state.file.rows):,} tensors" if filtered else text.count(len(rows), "tensor")
    selected = "" if state.selected is None else state.selected.name
    return TreeData(nodes, filtered, state.filter, selected, chips(state), summary)


def chips(state: State) -> tuple[str, ...]:
    """Short words on the selected tensor."""
    row, facts = state.selected, state.facts
    found = []
    if row is not None and row.quantized:
        found.append("already quantized")
    if facts is not None:
        if facts.nan or facts.infinite:
            found.append(f"{facts.nan + facts.infinite:,} non-finite")
        if facts.std and facts.peak > 12 * facts.std:
            found.append(f"outlier {facts.peak / facts.std:.0f}\u03c3")
        if facts.count and facts.zeros == facts.count:
            found.append("all zero")
    if row is not None and state.measured is not None:
        extents = state.measured.extents
        if any(d % e for d, e in zip(row.shape or (1,), extents or (1,), strict=False) if e):
            found.append("ragged blocks")
    return tuple(found)
