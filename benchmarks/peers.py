"""What people use instead: functions that yield (operation, name, call); those not installed are left out.

The names of operations are those of operations.py. NumPy stands in peers_numpy.py, torch and what builds on it in
peers_torch.py.
"""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from harness import Case
from peers_numpy import numpy_peer

if TYPE_CHECKING:
    from operations import Data

Found = Iterator[tuple[str, str, Callable[[], object]]]


GGML_TYPES: Final = (
    ("q8_0", 8, "q8_0"), ("q4_0", 2, "q4_0"), ("mxfp4", 39, "mxfp4"), ("nvfp4", 40, "nvfp4"), ("int2", 35, "tq2_0"),
    ("nf4", 20, "iq4_nl"),
)  # fmt: skip
"""Our operation, ggml's number of the type, its name in symbols."""


def ggml_peer(data: Data) -> Found:
    """ggml's C functions through ctypes, on preallocated buffers. GGML_LIB_DIR names another build of it."""
    folder = os.environ.get("GGML_LIB_DIR")
    if folder is None:
        spec = importlib.util.find_spec("ggml")
        if spec is None or not spec.submodule_search_locations:
            raise ImportError("ggml")
        folder = str(Path(spec.submodule_search_locations[0]) / "lib")
    base = ctypes.CDLL(str(Path(folder) / "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
    cpu = ctypes.CDLL(str(Path(folder) / "libggml-cpu.so"))
    cpu.ggml_cpu_init()
    base.ggml_row_size.restype, base.ggml_row_size.argtypes = ctypes.c_size_t, [ctypes.c_int, ctypes.c_int64]
    rows, columns = data.shape
    pool = ThreadPoolExecutor(data.threads)
    source, target = data.x.ctypes.data, data.y.ctypes.data

    def call(
        library: ctypes.CDLL, symbol: str, start: int, pitch: int, end: int, step: int
    ) -> Callable[[], object]:
        function = getattr(library, symbol)
        function.restype, function.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        if data.threads == 1:
            return lambda: function(start, end, data.n)
        each = rows // data.threads

        def part(i: int) -> None:
            function(start + i * each * pitch, end + i * each * step, each * columns)

        return lambda: list(pool.map(part, range(data.threads)))

    for op, number, name in GGML_TYPES:
        row = base.ggml_row_size(number, columns)
        held, spare = np.zeros(row * rows, np.uint8), np.zeros(row * rows, np.uint8)
        try:
            call(base, f"quantize_row_{name}_ref", source, columns * 4, held.ctypes.data, row)()
        except AttributeError:  # an older ggml without this type
            continue
        to, back = spare.ctypes.data, held.ctypes.data
        run = call(base, f"quantize_row_{name}_ref", source, columns * 4, to, row)
        yield f"q.{op}", f"ggml {name}", lambda run=run, keep=spare: run()
        if name == "q8_0":
            run = call(cpu, "quantize_row_q8_0", source, columns * 4, to, row)
            yield f"q.{op}", "ggml q8_0 SIMD", lambda run=run, keep=spare: run()
        run = call(base, f"dequantize_row_{name}", back, row, target, columns * 4)
        yield f"d.{op}", f"ggml {name}", lambda run=run, keep=held: run()


def onnxruntime_peer(data: Data) -> Found:
    """Graphs of one operator with bound inputs, and the block quantizers behind its tools."""
    import onnxruntime
    from onnx import TensorProto, helper
    from onnxruntime.capi import _pybind_state as tools

    rows, columns = data.shape
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.log_severity_level = data.threads, 3
    value = helper.make_tensor_value_info

    def graph(
        operator: str, inputs: dict[str, Any], outputs: list[Any], **attributes: Any
    ) -> Callable[[], object]:
        names = [output.name for output in outputs]
        node = helper.make_node(operator, list(inputs), names, **attributes)
        described = [
            value(key, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for key, a in inputs.items()
        ]
        model = helper.make_model(
            helper.make_graph([node], "g", described, outputs),
            opset_imports=[helper.make_opsetid("", 21)],
            ir_version=10,
        )
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
        )
        binding = session.io_binding()
        held = {
            key: onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(a))
            for key, a in inputs.items()
        }
        for key, given in held.items():
            binding.bind_ortvalue_input(key, given)
        for key in names:
            binding.bind_output(key)
        return lambda: session.run_with_iobinding(binding) and held

    byte, floats = TensorProto.UINT8, TensorProto.FLOAT
    quantized = [value("q", byte, data.shape), value("s", floats, []), value("z", byte, [])]
    yield (
        "q.int8_tensor",
        "onnxruntime DynamicQuantizeLinear",
        graph("DynamicQuantizeLinear", {"x": data.x}, quantized),
    )
    codes = np.clip(np.rint(data.x * 30), -127, 127).astype(np.int8)
    y = [value("y", floats, data.shape)]
    one = {"q": codes, "s": np.array(1 / 30, np.float32)}
    yield "d.int8_tensor", "onnxruntime DequantizeLinear", graph("DequantizeLinear", one, y)
    many = {"q": codes, "s": np.full((rows, columns // 32), 1 / 30, np.float32)}
    yield "d.q8_0", "onnxruntime DequantizeLinear", graph("DequantizeLinear", many, y, axis=1, block_size=32)
    for op, bits in (("q8_0", 8), ("q4_0", 4), ("int2", 2)):
        function = getattr(tools, f"quantize_matmul_{bits}bits", None)
        if function is None:
            continue
        packed = np.zeros((columns, rows // 32, 4 * bits), np.uint8)
        scales, zeros = (
            np.zeros(columns * rows // 32, np.float32),
            np.zeros(columns * -(-rows // 32 * bits // 8), np.uint8),
        )
        arguments = (packed, data.x, scales, zeros, 32, columns, rows, True)
        yield f"q.{op}", f"onnxruntime quantize_matmul_{bits}bits", lambda f=function, a=arguments: f(*a)
    packed, peaks = np.zeros(data.n // 2, np.uint8), np.zeros(data.n // 64, np.float32)
    bnb4 = (packed, data.x, peaks, 64, 1, columns, rows)
    yield "q.nf4", "onnxruntime quantize_matmul_bnb4", lambda: tools.quantize_matmul_bnb4(*bnb4)


def _torch(name: str) -> Callable[[Data], Found]:
    def peer(data: Data) -> Found:
        if importlib.util.find_spec("torch") is None:
            raise ImportError("torch")
        import peers_torch

        return getattr(peers_torch, name)(data)

    return peer


PEERS: Final[dict[str, Callable[[Any], Found]]] = {
    "numpy": numpy_peer, "ggml": ggml_peer, "onnxruntime": onnxruntime_peer, "torch": _torch("torch_peer"),
    "torch.compile": _torch("compiled_peer"), "torchao": _torch("torchao_peer"),
    "bitsandbytes": _torch("bitsandbytes_peer"),
}  # fmt: skip
_made: dict[int, dict[str, list[tuple[str, str, Callable[[], object]]]]] = {}


def beside(op: str, data: Data, wanted: list[str]) -> list[Case]:
    """The cases of all installed peers for one operation."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    of_data = _made.setdefault(id(data), {})
    found = []
    for peer in wanted:
        if peer not in of_data:
            of_data[peer] = _opened(peer, data)
        kind = "numpy" if peer == "numpy" else "peer"
        found += [Case(name, run, kind) for its_op, name, run in of_data[peer] if its_op == op]
    return found


def _opened(peer: str, data: Data) -> list[tuple[str, str, Callable[[], object]]]:
    opened: list[tuple[str, str, Callable[[], object]]] = []
    try:
        opened.extend(PEERS[peer](data))
    except ImportError:
        pass
    except Exception as error:
        print(f"  {peer}, from here on left out: {type(error).__name__}: {error}"[:200])
    return opened
