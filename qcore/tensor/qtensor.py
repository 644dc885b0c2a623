"""``QTensor``: a quantized tensor as it is stored, immutable, with everything needed to read it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from qcore import errors
from qcore.backends import auto, loader
from qcore.capability import backend_row, check
from qcore.layout import packing
from qcore.layout.dims import read_count
from qcore.plan import make_plan
from qcore.scheme import QuantMode, QuantScheme
from qcore.tensor import arrays, layout_ops, strategy
from qcore.tensor.stored import StoredTensor
from qcore.tensor.tables import check_table

if TYPE_CHECKING:
    from qcore.backends.protocol import Backend
    from qcore.plan import Plan
    from qcore.scheme.codebook import Codebook


class Part(NamedTuple):
    """A stored region as plain words: a uint8/uint16/uint32/int8/float32 array and the dtype its bits mean."""

    words: np.ndarray
    dtype: str


@final
class QTensor(StoredTensor):
    """A quantized tensor. Made by ``qcore.quantize`` and ``qcore.from_data``; immutable.

    Examples
    --------
    >>> import numpy as np, qcore
    >>> q = qcore.quantize(np.array([[-1.0, 0.5, 0.25, 1.0]], np.float32), "q8s/native/b2:f32")
    >>> q
    QTensor(shape=(1, 4), scheme='q8s/native/b2:f32', 12 bytes, 24.00 bits/weight, backend='cpu')
    >>> q.codes.tolist(), q.scales.shape
    ([[-127, 64, 32, 127]], (1, 2))
    """

    __slots__ = ()
    __iter__ = None  # a tensor is indexed by block slices, never iterated

    def __init__(self) -> None:
        raise errors.build("operation-not-implemented", operation="QTensor()", backend="any backend")

    @classmethod
    def from_parts(
        cls,
        *,
        values: np.ndarray,
        scales: np.ndarray,
        scheme: QuantScheme,
        shape: Sequence[int],
        global_scale: float | None = None,
        codebook: Codebook | None = None,
        backend: str = "cpu",
        rules: Mapping[str, Any] | None = None,
    ) -> QTensor:
        """Build a tensor from stored parts, checked.

        Parameters
        ----------
        values : ndarray
            The values region in its storage shape and dtype (``qcore.layout.packing``).
        scales : ndarray
            Stored scales, in the scale dtype and the shape of the grid; any bits are accepted.
        scheme, shape, codebook, backend
            As in ``from_data``.
        global_scale : float, optional
            The f32 scale of a two-level scheme.
        rules : mapping, optional
            How the parts were made, for the record.
        """
        name = backend_row(backend).name
        dims = tuple(int(d) for d in shape)
        check(scheme, dims, op="load", on=name, codebook=codebook is not None).demand()
        check_table(scheme, codebook)
        if scheme.is_two_level and global_scale is None:
            raise errors.build("data-needs-global", scheme=scheme.debug())
        if not scheme.is_two_level and global_scale is not None:
            raise errors.build("data-superfluous-global", scheme=scheme.debug())
        plan = make_plan(scheme, dims)
        wanted = (np.dtype(packing.values_dtype_name(scheme)), plan.storage_shape)
        if (values.dtype, values.shape) != wanted:
            raise errors.build("data-values-count", count=int(values.size), shape=str(list(dims)))
        grids = (plan.grid, packing.grid_shape(scheme, dims))
        if scales.dtype != scheme.scale_dtype.numpy_dtype or scales.shape not in grids:
            block = scheme.block_size
            if block is None:
                raise errors.build("wrong-scale-count", variant="per-tensor", count=int(scales.size))
            count, text = int(scales.size), str(list(dims))
            raise errors.build("wrong-scale-count", count=count, dims=text, block=block.debug())
        level = None if global_scale is None else np.float32(global_scale)
        grid = scales.reshape(plan.grid).copy()
        return cls._make(values.copy(), grid, level, scheme, dims, codebook, name, dict(rules or {}))

    # ---- reading back ------------------------------------------------------------------------------------------

    def dequantize(
        self,
        dtype: Any = np.float32,
        out: np.ndarray | None = None,
        *,
        backend: str | None = None,
        threads: int | None = None,
    ) -> np.ndarray:
        """Decode to floats: table or code times effective scale, in f32, rounded once to ``dtype``.

        Parameters
        ----------
        dtype : dtype, optional
            float32 (default), float64, float16 or bfloat16; None means the dtype of ``out``, else float32.
        out : ndarray, optional
            Written and returned. Its shape and dtype must match exactly.
        backend : str, optional
            Where to run; default where the tensor lives.
        threads : int, optional
            At most this many threads.

        Raises
        ------
        UnsupportedSchemeError
            ``lookup-not-on-ndarray`` for a lookup tensor on burn-ndarray.
        DTypeError, ShapeError
            ``out-dtype``, ``out-shape``.
        """
        if backend is not None and auto.is_auto(backend):
            return auto.run(lambda place: self.dequantize(dtype, out, backend=place, threads=threads), self.size)
        name = self._backend if backend is None else backend_row(backend).name
        engine, plan = self._ready.get(name) or self._get_ready(name)
        wanted = arrays.out_dtype(dtype, out if isinstance(out, np.ndarray) else None)
        if out is None:
            result = np.empty(self._shape, wanted)
        else:
            result = arrays.check_out(out, self._shape, (self._values, self._scales))
        if result.size:
            target = result.reshape(1) if result.ndim == 0 else result
            if self._held is not None and name == self._backend:
                self._held.decode(target)
            else:
                engine.decode(self._values, self._scales, self._global, plan, target, read_count(threads, "threads"))
        return result

    def _get_ready(self, name: str) -> tuple[Backend, Plan]:
        """The engine and the plan that decode here, once decoding has been found legal; remembered."""
        check(self._scheme, self._shape, op="dequantize", on=name, codebook=self._codebook is not None).demand()
        self._ready[name] = ready = loader.engine(name), self.plan(name)
        return ready

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise errors.build("array-needs-copy")
        wanted = np.dtype(np.float32 if dtype is None else dtype)
        if wanted in arrays.FLOAT_DTYPES:
            return self.dequantize(wanted)
        return self.dequantize().astype(wanted)

    def strategy(self, backend: str | None = None) -> strategy.Strategy:
        """How codes become values: PerTensorSymmetric, PerBlockSymmetric or Lookup.

        Raises
        ------
        UnsupportedSchemeError
            ``lookup-not-on-ndarray`` on burn-ndarray.
        """
        name = self._backend if backend is None else backend_row(backend).name
        check(self._scheme, self._shape, op="strategy", on=name, codebook=self._codebook is not None).demand()
        scales, block = self.effective_scales, self._scheme.block_size
        if self._scheme.mode is QuantMode.LOOKUP:
            assert self._codebook is not None
            return strategy.Lookup(self._codebook, scales, block)
        if block is None:
            return strategy.PerTensorSymmetric(float(scales[0]))
        return strategy.PerBlockSymmetric(scales, block)

    # ---- handing on --------------------------------------------------------------------------------------------

    def to(self, backend: str) -> QTensor:
        """The same tensor on another backend, checked as ``from_data`` is there. The codebook goes along."""
        name = backend_row(backend).name
        if name == self._backend:
            return self
        from qcore.tensor.loading import load

        return load(self.to_data(), name, self._codebook, self._rules)

    def parts(self, copy: bool = False) -> dict[str, Part]:
        """The raw regions for other libraries, by name: values, scales, global_scale, table.

        Each is a ``Part(words, dtype)``: an array of plain words that any consumer understands, and the name of the
        dtype that its bits mean (``ml_dtypes`` names).
        """
        found = {"values": Part(self._values, self._values.dtype.name), "scales": _raw(self._scales)}
        if self._global is not None:
            found["global_scale"] = Part(np.array([self._global], np.float32), "float32")
        if self._codebook is not None:
            found["table"] = Part(self._codebook.table, "float32")
        if copy:
            found = {name: Part(part.words.copy(), part.dtype) for name, part in found.items()}
        return found

    def to_torch(self) -> dict[str, Any]:
        """The parts of :meth:`parts` as torch tensors that own their memory, in torch's dtypes where it has them.

        Raises
        ------
        DTypeError
            ``package-missing`` where torch is not installed.
        """
        from qcore.tensor.interop import to_torch

        return to_torch(self.parts(copy=True))

    # ---- exact layout operations -------------------------------------------------------------------------------

    def transpose(self, *axes: int | Sequence[int] | None) -> QTensor:
        """Permute the axes (reversed by default): codes, scale grid, block extents and packing axis move exactly."""
        return layout_ops.transpose(self, axes)

    permute = transpose

    @property
    def T(self) -> QTensor:
        """The tensor with its axes reversed."""
        return layout_ops.transpose(self, ())

    def reshape(self, *shape: int | Sequence[int]) -> QTensor:
        """Reshape where whole blocks stay whole blocks; else ``would-split-block``."""
        return layout_ops.reshape(self, shape)

    def __getitem__(self, key: Any) -> QTensor:
        """Slice on block boundaries; else ``would-split-block``."""
        return layout_ops.getitem(self, key)

    def __repr__(self) -> str:
        return (
            f"QTensor(shape={self._shape}, scheme='{self._scheme}', {self.nbytes} bytes, "
            f"{self.bits_per_weight:.2f} bits/weight, backend='{self._backend}')"
        )

    def _repr_html_(self) -> str:
        from qcore.tensor.html import tensor_html

        return tensor_html(self)


def _raw(array: np.ndarray) -> Part:
    if array.dtype == np.float32:
        return Part(array, "float32")
    return Part(array.view({1: np.uint8, 2: np.uint16}[array.dtype.itemsize]), array.dtype.name)
