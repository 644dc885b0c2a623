"""The forms of compressed-tensors: which one a scheme takes, and the configuration that names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats.conventions.bits import FLOAT_SCALES, largest_divisor
from qcore.formats.conventions.compressed_tensors import NAME

if TYPE_CHECKING:
    from qcore.formats.protocol import TensorInfo

__all__ = ["FORMATS", "LEAF", "Form", "configuration", "form_of"]

FORMATS = ("pack-quantized", "int-quantized")
"""Forms that 8-bit integers can take; the others follow from the scheme."""
LEAF = "weight"


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one tensor: its format, the ``weights`` of its group, and how scales are laid."""

    format: str
    weights: tuple[tuple[str, Any], ...]
    strategy: str
    bits: int


def form_of(info: TensorInfo, path: str, wanted: str | None, tied: Callable[[], bool]) -> Form:
    """Choose the form of a scheme, or refuse it with the reason."""
    scheme, rank = info.scheme, len(info.shape)
    assert scheme is not None

    def refused(what: str) -> errors.QuantError:
        return errors.build("file-cannot-hold", tensor=info.name, path=path, format=NAME, what=what)

    if info.name != LEAF and not info.name.endswith("." + LEAF):
        raise refused("a quantized tensor that is not named '....weight'")
    if rank < 2 or 0 in info.shape:
        raise refused(f"a quantized tensor of shape {list(info.shape)}")
    value, row = scheme.value, info.shape[-1]
    block = None if scheme.block_size is None else scheme.block_size.expand(rank)
    one_row = block is not None and all(extent == 1 for extent in block[:-1])
    group = 0 if block is None else block[-1]
    scale = scheme.scale_dtype.numpy_dtype.name
    if not scheme.is_lookup and scheme.value.name == "E2M1" and one_row and row % group == 0:
        if (group, scale) == (16, "float8_e4m3fn"):
            return _described("nvfp4-pack-quantized", 4, "float", "tensor_group", 16, "torch.float8_e4m3fn")
        if (group, scale, scheme.is_two_level) == (32, "float8_e8m0fnu", False):
            return _described("mxfp4-pack-quantized", 4, "float", "group", 32, "torch.uint8")
    if scheme.is_lookup or scheme.is_two_level or value.name in ("E2M1", "E5M2"):
        raise refused(f"{scheme}")
    if value.name == "E4M3" and one_row and (group, scale) == (32, "float8_e8m0fnu") and row % group == 0:
        return _described("mxfp8-quantized", 8, "float", "group", 32, "torch.uint8")
    if scale not in FLOAT_SCALES:
        raise refused(f"{scheme}")
    if block is None:
        strategy = "tensor"
    elif one_row and (group == row or (group == largest_divisor(row) and tied())):
        strategy = "channel"
    elif one_row and row % group == 0:
        strategy = "group"
    elif value.name == "E4M3" and all(extent == 1 for extent in block[:-2]):
        strategy = "block"
    else:
        raise refused(f"{scheme} of {list(info.shape)}: its blocks are no groups of a row ([out, in])")
    if value.name == "E4M3":
        size = (
            list(block[-2:])
            if block is not None and strategy == "block"
            else group
            if strategy == "group"
            else None
        )
        return _described("float-quantized", 8, "float", strategy, size)
    bits = value.bits
    format = (wanted or "int-quantized") if bits == 8 else "pack-quantized"
    if format == "pack-quantized" and strategy == "tensor":
        strategy = "channel"
    return _described(format, bits, "int", strategy, group if strategy == "group" else None)


def _described(
    format: str,
    bits: int,
    kind: str,
    strategy: str,
    size: int | list[int] | None = None,
    scale: str | None = None,
) -> Form:
    weights: dict[str, Any] = {
        "num_bits": bits,
        "type": kind,
        "symmetric": True,
        "strategy": strategy,
        "group_size": size if isinstance(size, int) else None,
        "block_structure": size if isinstance(size, list) else None,
        "dynamic": False,
        "actorder": None,
        "observer": "minmax",
        "observer_kwargs": {},
    }
    if scale is not None:
        weights["scale_dtype"] = scale
    return Form(format, tuple(weights.items()), strategy, bits)


def configuration(forms: Mapping[str, Form], plain: Iterable[TensorInfo]) -> dict[str, Any]:
    """The configuration: a group for each form, modules by name where there is more than one."""
    kinds: dict[tuple[str, str], list[str]] = {}
    by_key: dict[tuple[str, str], Form] = {}
    for name, form in forms.items():
        key = (form.format, repr(form.weights))
        kinds.setdefault(key, []).append(name.removesuffix(LEAF).removesuffix("."))
        by_key[key] = form
    groups: dict[str, Any] = {}
    for number, key in enumerate(sorted(kinds)):
        form = by_key[key]
        groups[f"group_{number}"] = {
            "targets": ["Linear"] if len(kinds) == 1 else sorted(kinds[key]),
            "weights": dict(form.weights),
            "input_activations": _activations(form),
            "output_activations": None,
            "format": form.format,
        }
    formats = {form.format for form in forms.values()}
    ignored = (info.name for info in plain if info.name.endswith("." + LEAF) and len(info.shape) == 2)
    return {
        "config_groups": groups,
        "format": formats.pop() if len(formats) == 1 else "mixed-precision",
        "global_compression_ratio": None,
        "ignore": sorted(name.removesuffix("." + LEAF) for name in ignored),
        "kv_cache_scheme": None,
        "quant_method": NAME,
        "quantization_status": "compressed",
    }


def _activations(form: Form) -> dict[str, Any] | None:
    """Unpacked integers are multiplied by integers: the activations of each token are quantized as they come."""
    if form.format != "int-quantized" or form.strategy == "group":
        return None
    return {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "token", "dynamic": True}
