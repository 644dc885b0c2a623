"""The scheme: five fields that say how a tensor is quantized, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from qcore.scheme.blocks import BlockScale, BlockSize
from qcore.scheme.scales import ScaleDtype
from qcore.scheme.store import PACKED_NATIVE, PACKED_U32, QuantMode, QuantStore
from qcore.scheme.values import QuantValue

# The texts (text.py), the serialised shape (serde.py) and the Rust code (rust.py) all make or read schemes, so
# they import this module; its own methods of those names import them when called.

_WORD_BITS: Final = 32
_WORDS: Final = QuantStore.packed_u32()
_TWO_LEVEL_CEILING: Final = 65504.0
"""A block scale dtype that reaches further leaves nothing for a per-tensor scale to absorb."""


@dataclass(frozen=True, slots=True, repr=False)
class QuantScheme:
    """How a tensor is quantized: Burn's scheme, field for field.

    A scheme is an immutable, hashable value. ``==`` compares fields, as Burn does; `same_as` compares meaning.
    Fields accept their text forms. A scheme that no backend can use is still a scheme: it can be built,
    printed and asked about.

    Parameters
    ----------
    value : QuantValue
        Type of the elements.
    store : QuantStore
        How they lie in memory.
    mode : QuantMode
        Times a scale, or through a table.
    tensor : ScaleDtype or None
        Type of the per-tensor scale, if the scheme names one.
    block : BlockScale or None
        Blocks and the type of their scales.

    Examples
    --------
    >>> s = QuantScheme().with_value("q4s").per_block([32], "f16")
    >>> str(s), s.num_levels, s.params_shape((4, 64))
    ('q4s/u32/b32:f16', 1, (4, 2))
    """

    value: QuantValue = QuantValue.Q8F
    store: QuantStore = _WORDS
    mode: QuantMode = QuantMode.SYMMETRIC
    tensor: ScaleDtype | None = None
    block: BlockScale | None = None

    def __post_init__(self) -> None:
        """Accept the spellings that the parts accept."""
        put = object.__setattr__
        put(self, "value", QuantValue(self.value))
        put(self, "store", QuantStore.parse(self.store))
        put(self, "mode", QuantMode(self.mode))
        if self.tensor is not None:
            put(self, "tensor", ScaleDtype(self.tensor))
        if self.block is not None:
            put(self, "block", BlockScale.of(self.block))

    # -- builders: any order gives an equal scheme

    def with_value(self, value: QuantValue | str) -> QuantScheme:
        """Return the scheme with another element type.

        Examples
        --------
        >>> str(QuantScheme().with_value("int8"))
        'q8s/u32'
        """
        return replace(self, value=QuantValue(value))

    def with_store(self, store: QuantStore | str) -> QuantScheme:
        """Return the scheme with another store."""
        return replace(self, store=QuantStore.parse(store))

    def with_mode(self, mode: QuantMode | str) -> QuantScheme:
        """Return the scheme with another mode."""
        return replace(self, mode=QuantMode(mode))

    def per_tensor(self, dtype: ScaleDtype | str) -> QuantScheme:
        """Return the scheme with a per-tensor scale; over blocks it becomes the global one.

        Examples
        --------
        >>> str(QuantScheme().per_tensor("f32"))
        'q8f/u32/t:f32'
        """
        return replace(self, tensor=ScaleDtype(dtype))

    def per_block(self, size: Iterable[int] | int | str, dtype: ScaleDtype | str) -> QuantScheme:
        """Return the scheme with one scale per block.

        Examples
        --------
        >>> str(QuantScheme().per_block([2, 16], "f16"))
        'q8f/u32/b2x16:f16'
        """
        return replace(self, block=BlockScale(BlockSize(size), ScaleDtype(dtype)))

    @classmethod
    def nvfp4(cls) -> QuantScheme:
        """Return Burn's NVFP4 scheme: E2M1 pairs, blocks of 16 with UE4M3 scales, one F32 scale over all.

        Examples
        --------
        >>> str(QuantScheme.nvfp4())
        'e2m1/packed/b16:ue4m3/t:f32'
        """
        return cls(
            value=QuantValue.E2M1,
            store=QuantStore(PACKED_NATIVE),
            tensor=ScaleDtype.F32,
            block=BlockScale(BlockSize((16,)), ScaleDtype.UE4M3),
        )

    # -- what follows from the fields

    @property
    def tensor_scale(self) -> ScaleDtype | None:
        """Type of the per-tensor scale; F32 when the scheme names no level at all."""
        if self.tensor is None and self.block is None:
            return ScaleDtype.F32
        return self.tensor

    @property
    def block_scale(self) -> BlockScale | None:
        """The block level, if there is one."""
        return self.block

    @property
    def block_size(self) -> BlockSize | None:
        """Extents of a block, if there are blocks."""
        return self.block.size if self.block else None

    @property
    def num_levels(self) -> int:
        """Scales that multiply an element: 1 or 2."""
        return (self.block is not None) + (self.tensor_scale is not None)

    @property
    def is_two_level(self) -> bool:
        """Whether a global scale multiplies the block scales."""
        return self.global_scale_dtype is not None

    @property
    def scale_dtype(self) -> ScaleDtype:
        """Type of the innermost scales."""
        return self.block.dtype if self.block else (self.tensor or ScaleDtype.F32)

    @property
    def global_scale_dtype(self) -> ScaleDtype | None:
        """Type of the scale above the blocks; None for one level."""
        return self.tensor if self.block else None

    @property
    def is_lookup(self) -> bool:
        """Whether fields are indices into a table."""
        return self.mode is QuantMode.LOOKUP

    @property
    def size_bits_value(self) -> int:
        """Bits of one field."""
        return self.value.bits

    @property
    def size_bits_stored(self) -> int:
        """Bits of one stored element: what `num_quants` fields share."""
        if self.store.kind == PACKED_U32:
            return _WORD_BITS
        return self.value.bits * (self.value.native_packing if self.store.kind == PACKED_NATIVE else 1)

    @property
    def num_quants(self) -> int:
        """Fields in one stored element."""
        return self.size_bits_stored // self.value.bits

    @property
    def quantizable(self) -> bool:
        """Burn's answer to "can this be computed here": it looks at the scale types only."""
        if self.scale_dtype is ScaleDtype.UE8M0:
            return False
        if self.block is None or self.tensor is None:
            return True
        return self.block.dtype.max_representable <= _TWO_LEVEL_CEILING and self.tensor is ScaleDtype.F32

    def params_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the stored scales of a tensor.

        Examples
        --------
        >>> QuantScheme().params_shape((3, 5)), QuantScheme().per_block(4, "f16").params_shape((3, 5))
        ((1,), (3, 2))
        """
        return self.block.size.grid(shape) if self.block else (1,)

    def same_as(self, other: QuantScheme | str) -> bool:
        """Tell whether two schemes mean the same, however they are spelled.

        Examples
        --------
        >>> QuantScheme().same_as("q8f/u32/t:f32"), QuantScheme() == QuantScheme.parse("q8f/u32/t:f32")
        (True, False)
        """
        one, two = self, other if isinstance(other, QuantScheme) else QuantScheme.parse(other)
        return replace(one, tensor=one.tensor_scale) == replace(two, tensor=two.tensor_scale)

    # -- texts

    def debug(self) -> str:
        """Return the text that Burn prints for the scheme.

        Examples
        --------
        >>> QuantScheme().debug()
        'QuantScheme { value: Q8F, store: PackedU32(0), mode: Symmetric, tensor: None, block: None }'
        """
        tensor = f"Some({self.tensor.debug()})" if self.tensor else "None"
        block = f"Some({self.block.debug()})" if self.block else "None"
        return (
            f"QuantScheme {{ value: {self.value.debug()}, store: {self.store.debug()}, mode: {self.mode.debug()}, "
            f"tensor: {tensor}, block: {block} }}"
        )

    @classmethod
    def parse(cls, text: str) -> QuantScheme:
        """Read a scheme's text or the name of a preset.

        Examples
        --------
        >>> QuantScheme.parse("nvfp4") == QuantScheme.nvfp4()
        True
        """
        from qcore.scheme.resolve import resolve

        return resolve(text).scheme

    def to_dict(self) -> dict[str, Any]:
        """Return the scheme in Burn's serialised shape.

        Examples
        --------
        >>> QuantScheme().to_dict()
        {'value': 'Q8F', 'store': {'PackedU32': 0}, 'mode': 'Symmetric', 'tensor': None, 'block': None}
        """
        from qcore.scheme.serde import to_dict

        return to_dict(self)

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> QuantScheme:
        """Read Burn's serialised shape, or one of the older ones (``level`` and ``param``).

        Examples
        --------
        >>> QuantScheme.from_dict(QuantScheme.nvfp4().to_dict()) == QuantScheme.nvfp4()
        True
        """
        from qcore.scheme.serde import from_dict

        return from_dict(shape)

    def to_rust(self, burn: str = "head") -> str:
        """Return code that builds the scheme in a Burn program.

        Examples
        --------
        >>> print(QuantScheme().per_tensor("f16").to_rust())
        QuantScheme::default()
            .with_value(QuantValue::Q8F)
            .with_store(QuantStore::PackedU32(0))
            .per_tensor(ScaleDtype::F16)
        """
        from qcore.scheme.rust import to_rust

        return to_rust(self, burn)

    def __str__(self) -> str:
        """Return the canonical text."""
        parts = [self.value.text, self.store.text]
        if self.is_lookup:
            parts.append("lookup")
        if self.block:
            parts.append(self.block.text)
        if self.tensor:
            parts.append(f"t:{self.tensor.text}")
        return "/".join(parts)

    def __repr__(self) -> str:
        """Return text that evaluates to the scheme."""
        return f"QuantScheme.parse({str(self)!r})"
