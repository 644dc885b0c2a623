"""A scheme as Rust: builder code to paste into a Burn program of a given version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from qcore import errors
from qcore.scheme import words
from qcore.scheme.blocks import BlockSize
from qcore.scheme.scheme import QuantScheme
from qcore.scheme.store import PACKED_U32

_INDENT: Final = "\n    "


def to_rust(scheme: QuantScheme, burn: str = "head") -> str:
    """Return code that builds a scheme in a Burn program.

    The names it uses are those of ``burn::tensor::quantization``.

    Parameters
    ----------
    scheme : QuantScheme
        The scheme.
    burn : str
        The Burn version: ``head``, ``0.22``, ``0.21``, ``0.20`` or ``0.19``.

    Returns
    -------
    str
        Rust to paste.

    Raises
    ------
    UnsupportedSchemeError
        ``unsupported-scheme``, when that version cannot express the scheme.
    InvalidSchemeError
        ``unknown-name``, for a version that is not in the table.

    Examples
    --------
    >>> print(to_rust(QuantScheme.parse("q4s/u32/b32:f16"), "0.21"))
    QuantScheme::default()
        .with_value(QuantValue::Q4S)
        .with_store(QuantStore::PackedU32(0))
        .with_level(QuantLevel::block([32]))
        .with_param(QuantParam::F16)
    """
    write = words.look_up(_VERSIONS, burn)
    if write is None:
        words.unknown("Burn version", burn, _VERSIONS)
    return "QuantScheme::default()" + "".join(_INDENT + line for line in write(scheme))


def _head(scheme: QuantScheme) -> Sequence[str]:
    """Burn's current builders: one call for each level."""
    lines = [_value(scheme), f".with_store(QuantStore::{scheme.store.debug()})"]
    if scheme.is_lookup:
        lines.append(".with_mode(QuantMode::Lookup)")
    if scheme.block:
        lines.append(f".per_block({_extents(scheme.block.size)}, ScaleDtype::{scheme.block.dtype.debug()})")
    if scheme.tensor:
        lines.append(f".per_tensor(ScaleDtype::{scheme.tensor.debug()})")
    return lines


def _two_levels(scheme: QuantScheme) -> Sequence[str]:
    """0.22: one level and one param, the level possibly of two."""
    if not scheme.block or not scheme.tensor:
        return _levels("0.22")(scheme)
    size, outer = _extents(scheme.block.size), scheme.tensor.debug()
    level = f"QuantLevel::BlockTensor {{ block: BlockSize::new({size}), global: QuantParam::{outer} }}"
    return _older(scheme, "0.22", f"QuantStore::{scheme.store.debug()}", level)


def _levels(version: str) -> Callable[[QuantScheme], Sequence[str]]:
    """0.20 and 0.21: one level and one param."""
    return lambda scheme: _older(
        scheme, version, f"QuantStore::{scheme.store.debug()}", _level(scheme, version)
    )


def _first(scheme: QuantScheme) -> Sequence[str]:
    """0.19: the same, and words packed along the last axis only."""
    store = scheme.store
    if not store.is_native and (store.kind != PACKED_U32 or store.dim):
        _refuse(scheme, "0.19", f"it has no store {store.debug()}, only Native and U32")
    return _older(
        scheme, "0.19", f"QuantStore::{'Native' if store.is_native else 'U32'}", _level(scheme, "0.19")
    )


def _older(scheme: QuantScheme, version: str, store: str, level: str) -> Sequence[str]:
    if scheme.is_lookup:
        _refuse(scheme, version, "it has no lookup mode")
    param = f"QuantParam::{scheme.scale_dtype.debug()}"
    return [_value(scheme), f".with_store({store})", f".with_level({level})", f".with_param({param})"]


def _level(scheme: QuantScheme, version: str) -> str:
    if scheme.block and scheme.tensor:
        _refuse(scheme, version, "it has one level of scales, not two")
    return f"QuantLevel::block({_extents(scheme.block.size)})" if scheme.block else "QuantLevel::Tensor"


def _value(scheme: QuantScheme) -> str:
    return f".with_value(QuantValue::{scheme.value.debug()})"


def _extents(size: BlockSize) -> str:
    # an empty array would leave Rust to guess its element type
    return f"[{', '.join(map(str, size.extents or (1,)))}]"


def _refuse(scheme: QuantScheme, version: str, reason: str) -> None:
    target = f"Burn {version}"
    raise errors.build(
        "unsupported-scheme", variant="no-form", target=target, scheme=scheme.debug(), reason=reason
    )


_VERSIONS: Final[dict[str, Callable[[QuantScheme], Sequence[str]]]] = {
    "head": _head,
    "0.22": _two_levels,
    "0.21": _levels("0.21"),
    "0.20": _levels("0.20"),
    "0.19": _first,
}
BURN_VERSIONS: Final = tuple(_VERSIONS)
"""What `to_rust` can write for."""
