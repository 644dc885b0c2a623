"""Quantize, dequantize and bit-pack tensors under Burn's quantization schemes.

Every public name is listed in one table below and loaded when it is first used, so that ``import qcore``
costs little and ``qcore --help`` needs no NumPy.

Examples
--------
>>> import numpy as np, qcore
>>> q = qcore.quantize(np.linspace(-1, 1, 64, dtype=np.float32), "q4s/u32/b32:f16")
>>> q.shape, q.nbytes
((64,), 36)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qcore import errors as errors
    from qcore.analysis import ErrorReport as ErrorReport
    from qcore.analysis.compare import compare as compare
    from qcore.analysis.sweep import sweep as sweep
    from qcore.backends.cpu.threads import set_threads as threads
    from qcore.calibration import QuantParams as QuantParams
    from qcore.capability import Verdict as Verdict
    from qcore.capability import survey as survey
    from qcore.capability.check import check as check
    from qcore.formats import open as open
    from qcore.formats import save as save
    from qcore.layout import quantized_data_len as quantized_data_len
    from qcore.ops import compute_qparams as compute_qparams
    from qcore.ops import dequantize as dequantize
    from qcore.ops import from_data as from_data
    from qcore.ops import pack as pack
    from qcore.ops import quantize as quantize
    from qcore.ops import unpack as unpack
    from qcore.scheme import PRESETS as PRESETS
    from qcore.scheme import BlockScale as BlockScale
    from qcore.scheme import BlockSize as BlockSize
    from qcore.scheme import Codebook as Codebook
    from qcore.scheme import Preset as Preset
    from qcore.scheme import QuantMode as QuantMode
    from qcore.scheme import QuantScheme as QuantScheme
    from qcore.scheme import QuantStore as QuantStore
    from qcore.scheme import QuantValue as QuantValue
    from qcore.scheme import ScaleDtype as ScaleDtype
    from qcore.tensor import QTensor as QTensor
    from qcore.tensor import TensorData as TensorData
    from qcore.tensor import concat as concat

__version__ = "0.1.0"

__all__ = [
    "PRESETS",
    "BlockScale",
    "BlockSize",
    "Codebook",
    "ErrorReport",
    "Preset",
    "QTensor",
    "QuantMode",
    "QuantParams",
    "QuantScheme",
    "QuantStore",
    "QuantValue",
    "ScaleDtype",
    "TensorData",
    "Verdict",
    "check",
    "compare",
    "compute_qparams",
    "concat",
    "dequantize",
    "errors",
    "from_data",
    "open",
    "pack",
    "quantize",
    "quantized_data_len",
    "save",
    "survey",
    "sweep",
    "threads",
    "unpack",
]

# public name -> where it lives: "module" (under the same name), "module:attribute", or "module:" (all of it)
_HOMES = {
    "PRESETS": "qcore.scheme",
    "BlockScale": "qcore.scheme",
    "BlockSize": "qcore.scheme",
    "Codebook": "qcore.scheme",
    "ErrorReport": "qcore.analysis",
    "Preset": "qcore.scheme",
    "QTensor": "qcore.tensor",
    "QuantMode": "qcore.scheme",
    "QuantParams": "qcore.calibration",
    "QuantScheme": "qcore.scheme",
    "QuantStore": "qcore.scheme",
    "QuantValue": "qcore.scheme",
    "ScaleDtype": "qcore.scheme",
    "TensorData": "qcore.tensor",
    "Verdict": "qcore.capability",
    "check": "qcore.capability.check",
    "compare": "qcore.analysis.compare",
    "compute_qparams": "qcore.ops",
    "concat": "qcore.tensor",
    "dequantize": "qcore.ops",
    "errors": "qcore.errors:",
    "from_data": "qcore.ops",
    "open": "qcore.formats",
    "pack": "qcore.ops",
    "quantize": "qcore.ops",
    "quantized_data_len": "qcore.layout",
    "save": "qcore.formats",
    "survey": "qcore.capability",
    "sweep": "qcore.analysis.sweep",
    "threads": "qcore.backends.cpu.threads:set_threads",
    "unpack": "qcore.ops",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        # the protocol of module attributes asks for exactly this class
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, colon, attribute = home.partition(":")
    value: object = import_module(module)
    if attribute or not colon:
        value = getattr(value, attribute or name)
    globals()[name] = value  # found at once from now on
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
