"""Arrays that lie on a device: the staircase where min-max runs there and the other measures on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from qcore import errors
from qcore.backends import auto
from qcore.ops import staircase
from qcore.ops.options import EXACT, Call, prepare
from qcore.tensor import arrays
from qcore.tensor.qtensor import QTensor

if TYPE_CHECKING:
    from qcore.calibration.params import QuantParams

_ARRAYS: Final = "pyopencl.array"


def is_held(x: Any) -> bool:
    """Tell whether ``x`` is an array of a device; PyOpenCL is not imported for that."""
    return type(x).__module__ == _ARRAYS


def quantize(x: Any, call: Call, params: QuantParams | None) -> QTensor:
    """Quantize a ``pyopencl.array.Array``; the parts stay on its device until they are asked for.

    Means, percentiles, searches and explicit scales are settled on the host from a copy, the codes on the device. What
    cannot stay there (float64, arrays with gaps, tensors beyond the largest buffer) is quantized through the host.

    Raises
    ------
    DTypeError
        ``input-device`` for a backend without devices, ``input-dtype`` for what is no float.
    """
    if auto.is_auto(call.backend):
        call = call._replace(backend=auto.DEVICE)
    ready = prepare(call)
    options, plan = ready.options, ready.plan
    if not options.row.has_devices:
        raise errors.build("input-device", device=f"{_ARRAYS}.Array")
    from qcore.backends.opencl import held

    stays = options.arithmetic == EXACT and held.stays_there(x, plan)
    if stays and params is None and options.is_plain_minmax:
        found = held.quantize_minmax(x, plan)
        if found is not None:
            return QTensor._hold(found, options.scheme, x.shape, options.codebook, options.row.name, ready.record)
    source = arrays.as_floats(np.asarray(x.get()))
    given = None if params is None else staircase.explicit_scales(params, plan, options)
    if not stays:
        parts = staircase.quantized_parts(source, plan, options, given)
        return QTensor._make(*parts, options.scheme, x.shape, options.codebook, options.row.name, ready.record)
    staged = staircase.stage(source, plan, options)
    staircase.refuse_nonfinite(staged, source, options)
    scales, level = staircase.calibrated(source, staged, plan, options) if given is None else given
    kept = held.encode(x, plan, scales, level)
    return QTensor._hold(kept, options.scheme, x.shape, options.codebook, options.row.name, ready.record)
