"""Which way round the weights of linear layers lie, and what a tensor is called on the other side.

Burn keeps them as ``[in, out]``, nearly everyone else as ``[out, in]``; a square matrix loads transposed without an
error. Nothing in a file says what a matrix is for, so a plan goes by names as Burn's own adapters do by modules:
the ``weight`` of anything but an embedding is transposed, weight and bias of a norm are called gamma and beta. A map
of the caller's own rules comes before it. Transposing is exact, also of a quantized tensor: codes, scales and
block extents move together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from qcore import errors
from qcore.formats.content import Deferred

if TYPE_CHECKING:
    from qcore.formats.orientation_map import Rule
    from qcore.formats.protocol import Reader, StoredReader, TensorInfo

__all__ = [
    "LAYOUTS", "Move", "arranged", "demand_layout", "lies_as_burn",
    "lies_turned", "matrices", "moved", "plan", "turned",
]  # fmt: skip

KEEP, TO_BURN, TO_TORCH = "keep", "torch-to-burn", "burn-to-torch"
LAYOUTS: Final = (KEEP, TO_BURN, TO_TORCH)
LAYOUT_KEY: Final = "qcore.layout"
_BURN: Final = "burn"

_EMBEDDING: Final = re.compile(r"embed|(?:^|_)(?:embd?|wte|wpe)(?:$|_)", re.IGNORECASE)
_NORM: Final = re.compile(r"(?:^|_)(?:\w*norm|ln|bn|gn)(?:_?(?:\d+|[a-z]{1,3}))?$", re.IGNORECASE)
_TO_BURN: Final = {"weight": "gamma", "bias": "beta"}
_TO_TORCH: Final = {"gamma": "weight", "beta": "bias"}
_SHOWN: Final = 8
_TURNED: Final = " [in, out]"


@dataclass(frozen=True, slots=True)
class Move:
    """What becomes of one tensor: its name there, whether its two axes change places, and why."""

    name: str
    target: str
    transpose: bool
    reason: str

    @property
    def is_nothing(self) -> bool:
        """Whether the tensor stays as it is."""
        return self.name == self.target and not self.transpose


def plan(infos: Sequence[TensorInfo], layout: str = KEEP, rules: Iterable[Rule] = ()) -> tuple[Move, ...]:
    """Decide what becomes of each tensor.

    Parameters
    ----------
    infos
        The tensors of a file.
    layout
        ``keep``, ``torch-to-burn`` or ``burn-to-torch``.
    rules
        Rules of a map; the first that matches a name decides about that tensor, and the layout about the rest.

    Returns
    -------
    One move for each tensor, in their order.

    Raises
    ------
    InvalidSchemeError
        ``unknown-name``, for a layout that is none.
    ShapeError
        ``axis-invalid``, for a rule that transposes something else than a matrix.

    Examples
    --------
    >>> from qcore.formats.protocol import TensorInfo
    >>> linear = TensorInfo("fc.weight", (10, 4), "float32", None, 160, ("fc.weight",))
    >>> plan([linear], "torch-to-burn")
    (Move(name='fc.weight', target='fc.weight', transpose=True, reason='a linear weight'),)
    """
    if layout not in LAYOUTS:
        raise errors.build("unknown-name", kind="layout", name=str(layout), choices=LAYOUTS)
    ordered = tuple(rules)
    names = {info.name for info in infos}
    moves = tuple(_move(info, layout, ordered, names) for info in infos)
    _hold_targets(moves)
    return moves


def _move(info: TensorInfo, layout: str, rules: Sequence[Rule], names: set[str]) -> Move:
    for rule in rules:
        target = rule.target(info.name)
        if target is None:
            continue
        if rule.transpose is None and rule.rename is None:
            break  # a rule of a recipe may speak of neither: it ends the search and leaves both to the layout
        if rule.transpose and len(info.shape) != 2:
            raise errors.build("axis-invalid", tensor=info.name, axis="(1, 0)", rank=len(info.shape))
        # what a rule leaves open, the layout settles
        settled = (
            rule.transpose if rule.transpose is not None else _layout_move(info, layout, names).transpose
        )
        return Move(info.name, target, settled, f"the map's rule {rule.text!r}")
    return _layout_move(info, layout, names)


def _layout_move(info: TensorInfo, layout: str, names: set[str]) -> Move:
    def stays(reason: str) -> Move:
        return Move(info.name, info.name, False, reason)

    if layout == KEEP:
        return stays("kept")
    if layout == TO_BURN and lies_turned(info):
        return stays("[in, out] in its file")
    head, dot, last = info.name.rpartition(".")
    module = _module(head)
    renames = _TO_BURN if layout == TO_BURN else _TO_TORCH
    if len(info.shape) == 1 and last in renames and (_NORM.search(module) or f"{head}.running_mean" in names):
        return Move(info.name, f"{head}{dot}{renames[last]}", False, "of a norm")
    if last == "weight" and len(info.shape) == 2:
        if _EMBEDDING.search(module):
            return stays("an embedding")
        return Move(info.name, info.name, True, "a linear weight")
    return stays("no linear weight by its name" if len(info.shape) == 2 else "no matrix")


def _module(head: str) -> str:
    """The last part of a module's path that is no number."""
    return next((part for part in reversed(head.split(".")) if not part.isdigit()), "")


def _hold_targets(moves: Sequence[Move]) -> None:
    taken: dict[str, str] = {}
    for move in moves:
        if move.target in taken:
            reason = f"both {taken[move.target]!r} and {move.name!r} would have it"
            raise errors.build("file-name-refused", path="the map", name=ascii(move.target), reason=reason)
        taken[move.target] = move.name


def arranged(
    reader: Reader, moves: Iterable[Move], *, for_burn: bool, said: Callable[[str], None] | None = None
) -> dict[str, Deferred]:
    """The tensors of an open file as their moves want them, each made when its turn to be written comes.

    Parameters
    ----------
    reader
        The open file.
    moves
        From :func:`plan`.
    for_burn
        Whether Burn is to read them: words that a transpose leaves packed along the other axis are then packed
        along the last one again, the only one that Burn packs. Only bits move.
    said
        Called with each name when its turn comes.
    """
    return {move.target: _arranged(reader, move, for_burn, said) for move in moves}


def lies_turned(info: TensorInfo) -> bool:
    """Whether a tensor lies as ``[in, out]`` in a file of others, as some conventions of checkpoints have it."""
    return info.origin.endswith(_TURNED)


def turned(found: Deferred) -> Deferred:
    """A tensor that lies as ``[in, out]`` in a file of others, as ``[out, in]``; any other as it is."""
    if not lies_turned(found.info):
        return found
    return Deferred(_transposed_info(found.info, found.info.name, True), lambda: repacked(found.load().T))


def _arranged(reader: Reader, move: Move, for_burn: bool, said: Callable[[str], None] | None) -> Deferred:
    found = Deferred.of(reader, move.name)
    if for_burn and not move.transpose and lies_turned(found.info):
        twice = turned(found)  # its words are packed along the other axis
        return Deferred(
            _transposed_info(twice.info, move.target, True),
            _told(lambda: repacked(twice.load().T), move, said),
        )
    last = for_burn or lies_turned(found.info)  # nobody who keeps it the usual way packs another axis
    if not move.transpose:
        raw = None if found.raw is None else _told(found.raw, move, said)
        return replace(
            found, info=replace(found.info, name=move.target), load=_told(found.load, move, said), raw=raw
        )

    def load() -> Any:
        import numpy as np

        from qcore.tensor import QTensor

        tensor = found.load()
        if not isinstance(tensor, QTensor):
            return np.asarray(tensor).T  # one that no scheme expresses decodes
        return repacked(tensor.T) if last else tensor.T

    return Deferred(_transposed_info(found.info, move.target, last), _told(load, move, said))


def _told(load: Callable[[], Any], move: Move, said: Callable[[str], None] | None) -> Callable[[], Any]:
    def telling() -> Any:
        if said is not None:
            said(move.name)
        return load()

    return telling


def moved(info: TensorInfo, move: Move) -> TensorInfo:
    """What is known of a plain tensor once it is moved."""
    return _transposed_info(info, move.target, False) if move.transpose else replace(info, name=move.target)


def _transposed_info(info: TensorInfo, name: str, for_burn: bool) -> TensorInfo:
    shape, scheme = info.shape[::-1], info.scheme
    info = replace(info, origin=info.origin.removesuffix(_TURNED))
    if scheme is None:
        return replace(info, name=name, shape=shape)
    from qcore.layout import packing
    from qcore.tensor.layout_ops import permuted_scheme

    before = packing.quantized_data_len(scheme, info.shape)
    scheme = permuted_scheme(scheme, (1, 0))
    if for_burn and scheme.store.packing_dim:
        scheme = scheme.with_store(type(scheme.store)(scheme.store.kind, 0))
    table = info.nbytes - before if scheme.is_lookup else 0
    nbytes = packing.quantized_data_len(scheme, shape) + table
    return replace(info, name=name, shape=shape, scheme=scheme, nbytes=nbytes)


def repacked(tensor: Any) -> Any:
    """A quantized tensor with its words packed along the last axis; only bits move. Any other is as it is."""
    from qcore.tensor import QTensor
    from qcore.tensor.layout_ops import with_store

    if not isinstance(tensor, QTensor):
        return tensor
    store = tensor.scheme.store
    return with_store(tensor, type(store)(store.kind, 0)) if store.packing_dim else tensor


def matrices(infos: Iterable[TensorInfo]) -> tuple[TensorInfo, ...]:
    """The tensors that may lie either way."""
    return tuple(info for info in infos if len(info.shape) == 2)


def lies_as_burn(reader: StoredReader) -> bool:
    """Whether a file's weights are known to lie as Burn keeps them.

    A burnpack is Burn's own; another format says so in a text that qcore wrote, or was written by Burn with Burn's
    names of norms. The names alone prove nothing: older checkpoints of others have a gamma, too.
    """
    if reader.format == "burnpack" or reader.stored.metadata.get(LAYOUT_KEY) == _BURN:
        return True
    named = any(name.rpartition(".")[2] in _TO_TORCH for name in reader.names())
    return reader.metadata.get("producer") == "burn" and named


def demand_layout(reader: StoredReader, infos: Sequence[TensorInfo], rules: Sequence[Rule] = ()) -> None:
    """Refuse to write a burnpack from a file whose matrices may lie the other way, listing them.

    Matrices about which a rule of a map says whether they are transposed are settled.
    """
    if lies_as_burn(reader):
        return
    found = [info for info in matrices(infos) if not _settled(info.name, rules)]
    if not found:
        return
    listed = [f"{info.name} {list(info.shape)}" for info in found]
    rest = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    raise errors.build(
        "state-the-layout",
        source=str(reader.path),
        shown=", ".join(listed[:_SHOWN]) + rest,
        tensors=tuple(listed),
    )


def _settled(name: str, rules: Sequence[Rule]) -> bool:
    first = next((rule for rule in rules if rule.target(name) is not None), None)
    return first is not None and first.transpose is not None


def recorded(reader: StoredReader, layout: str | None, *, burnpack: bool) -> Mapping[str, str]:
    """What a file in another format says about how its weights lie, when that is known."""
    turned = layout == TO_TORCH or (layout in (None, KEEP) and not lies_as_burn(reader))
    return {} if burnpack or turned else {LAYOUT_KEY: _BURN}
