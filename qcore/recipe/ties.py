"""Tensors that runtimes fuse into one: queries, keys and values; gate and up. One row for each kind and spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

__all__ = ["TIES", "tie_of"]

TIES: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = MappingProxyType(
    {
        "qkv": (
            ("q_proj", "k_proj", "v_proj"),
            ("query", "key", "value"),
            ("q_lin", "k_lin", "v_lin"),
            ("query_proj", "key_proj", "value_proj"),
            ("to_q", "to_k", "to_v"),
            ("attn_q", "attn_k", "attn_v"),
            ("wq", "wk", "wv"),
        ),
        "gate-up": (("gate_proj", "up_proj"), ("w1", "w3"), ("ffn_gate", "ffn_up")),
    }
)
"""Kind -> spellings; the words of one spelling are parts of names that differ in that part alone."""


def tie_of(name: str, kinds: Iterable[str]) -> str | None:
    """Name the group of tied tensors that a tensor belongs to; None for none.

    Examples
    --------
    >>> tie_of("model.layers.0.self_attn.k_proj.weight", ("qkv",))
    'model.layers.0.self_attn.{q_proj,k_proj,v_proj}.weight'
    >>> tie_of("model.norm.weight", ("qkv",)) is None
    True
    """
    for kind in kinds:
        for words, pattern in _patterns(kind):
            found = pattern.fullmatch(name)
            if found is not None:
                return f"{found[1]}{{{','.join(words)}}}{found[2]}"
    return None


@cache
def _patterns(kind: str) -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    return tuple(
        (words, re.compile(rf"((?:.*\.)?)(?:{'|'.join(words)})(\.weight|)", re.DOTALL)) for words in TIES[kind]
    )
