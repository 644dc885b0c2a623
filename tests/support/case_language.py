"""The small language of tests/data/vectors/burn_cases.json: what a case feeds in, does, and expects.

Inputs are data or a named generator; steps are a tiny program over named variables (ndarray or QTensor); an
expectation compares one variable exactly, within Burn's tolerance, or with another variable.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import qcore
from qcore.errors import QuantError

CASES_FILE = Path(__file__).parents[1] / "data" / "vectors" / "burn_cases.json"
CASES: list[dict[str, Any]] = json.loads(CASES_FILE.read_text())


# ---- reading a case ----


def scheme_of(case: dict[str, Any], backend: str = "cpu") -> qcore.QuantScheme:
    """The case's scheme; ``burn-ndarray`` stores natively, as the device defaults of that backend do."""
    given = case["scheme"]
    dim = int(given["store"].partition("(")[2].rstrip(")") or 0)
    store = {
        "Native": qcore.QuantStore.native,
        "PackedU32": lambda: qcore.QuantStore.packed_u32(dim),
        "PackedNative": lambda: qcore.QuantStore.packed_native(dim),
    }["Native" if backend == "burn-ndarray" else given["store"].partition("(")[0]]()
    scheme = qcore.QuantScheme().with_value(given["value"]).with_store(store).with_mode(given["mode"])
    if given["block"] is not None:
        scheme = scheme.per_block(given["block"]["size"], given["block"]["dtype"])
    if given["tensor_scale"] is not None:
        scheme = scheme.per_tensor(given["tensor_scale"])
    return scheme


def numbers(data: list[Any], dtype: Any = np.float32) -> np.ndarray:
    """A list of numbers ("inf", "-inf" and "nan" are words) as an array."""
    return np.array([float(v) if isinstance(v, str) else v for v in data]).astype(dtype)


def tensor(given: dict[str, Any], qparams: dict[str, Any] | None = None) -> np.ndarray:
    """One input: its data, or what its generator makes, in float32."""
    shape = given["shape"]
    if "data" in given:
        return numbers(given["data"]).reshape(shape)
    gen = given["gen"]
    return GENERATORS[gen["kind"]](math.prod(shape), gen, qparams).astype(np.float32).reshape(shape)


def _arange_div(n: int, gen: dict[str, Any], qparams: Any) -> np.ndarray:
    return (np.float32(gen["start"]) + np.arange(n, dtype=np.float32)) / np.float32(gen["div"])


def _levels(n: int, gen: dict[str, Any], qparams: Any) -> np.ndarray:
    i = np.arange(n)
    scales = np.asarray(qparams["scales"], np.float32)[i // 32]
    return ((i % 255) - 127).astype(np.float32) * np.float32(qparams["global"]) * scales


def _normal_lcg(n: int, gen: dict[str, Any], qparams: Any) -> np.ndarray:
    state, uniform = int(gen["seed_hex"], 16), []
    for _ in range(2 * n):
        state = (state * gen["mul"] + gen["inc"]) % 2**64
        uniform.append(np.float32(((state >> 40) + 0.5) / 2**24))
    u1, u2 = np.array(uniform[::2], np.float32), np.array(uniform[1::2], np.float32)
    return np.sqrt(np.float32(-2) * np.log(u1)) * np.cos(np.float32(2 * np.pi) * u2) * np.float32(gen["std"])


GENERATORS: dict[str, Callable[[int, dict[str, Any], Any], np.ndarray]] = {
    "arange_div": _arange_div,
    "centered": lambda n, gen, qparams: np.arange(n) - n / 2,
    "centered_unit": lambda n, gen, qparams: (np.arange(n) - n / 2) / n,
    "levels": _levels,
    "normal_lcg": _normal_lcg,
}


def params_of(case: dict[str, Any]) -> qcore.QuantParams:
    """Explicit parameters of a case."""
    given = case["qparams"]
    return qcore.QuantParams(scales=np.asarray(given["scales"], np.float32), global_scale=given["global"])


def attempt(action: Callable[[], Any]) -> tuple[Any, QuantError | None]:
    """What an action gives, or what it refuses with."""
    try:
        return action(), None
    except QuantError as refused:
        return None, refused


# ---- comparing ----


def close(found: np.ndarray, wanted: np.ndarray, tolerance: dict[str, float]) -> np.ndarray:
    """Burn's approximate equality, element by element."""
    x, y = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    allowed = np.maximum(tolerance["absolute"], tolerance["relative"] * np.maximum(np.abs(x), np.abs(y)))
    return (x == y) | (np.abs(x - y) < allowed) | (np.isnan(x) & np.isnan(y))


def hold(expectation: dict[str, Any], env: dict[str, Any]) -> None:
    """Assert one numeric expectation about the variables of a finished case."""
    found = env[expectation["var"]]
    if "shape_only" in expectation:
        assert list(found.shape) == expectation["shape_only"]
        return
    if "same_as" in expectation:
        wanted = env[expectation["same_as"]]
        assert found.shape == wanted.shape
    else:
        wanted = numbers(expectation["data"], np.float64)
        if "at" in expectation:
            found = np.asarray(found).reshape(-1)[expectation["at"]]
        else:
            assert list(found.shape) == expectation["shape"]
            wanted = wanted.reshape(expectation["shape"])
    if isinstance(found, qcore.QTensor) and isinstance(wanted, qcore.QTensor):
        assert found.to_data() == wanted.to_data()
    elif expectation.get("exact"):
        as_found = np.asarray(wanted).astype(np.asarray(found).dtype)
        np.testing.assert_array_equal(np.asarray(found), as_found)
        if as_found.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found), np.signbit(as_found))
    else:
        assert close(found, wanted, expectation["tolerance"]).all()


# ---- steps ----


class Machine:
    """Runs the steps of a case on one backend."""

    def __init__(self, case: dict[str, Any], backend: str) -> None:
        self.backend = backend
        self.scheme = scheme_of(case, backend)
        self.env: dict[str, Any] = {name: tensor(given) for name, given in case.get("inputs", {}).items()}
        self.kinds: dict[str, type] = {}

    def run(self, steps: list[dict[str, Any]]) -> dict[str, Any]:
        """Every step in order; returns the variables."""
        for step in steps:
            operands = [self.env[name] for name in step["in"]]
            results = STEPS[step["op"]](self, step, *operands)
            names = step.get("outs") or [step["out"]]
            assert len(names) == len(results)
            self.env.update(zip(names, results, strict=True))
            if step["op"] != "dequantize":
                self.kinds.update({name: type(result) for name, result in zip(names, results, strict=True)})
        return self.env

    def quantize(self, x: np.ndarray) -> qcore.QTensor:
        """Min-max quantization under the case's scheme."""
        return qcore.quantize(x, self.scheme, backend=self.backend)

    def exactly(self, operation: Callable[..., Any], *operands: Any) -> Any:
        """A layout operation: exact where qcore has it exact, else what its refusal advises."""
        result, refused = attempt(lambda: operation(*operands))
        if refused is None:
            return result
        assert refused.code == "would-split-block"
        assert any("dequantize" in solution for solution in refused.solutions)
        floats = [q.dequantize() for q in operands]
        return self.quantize(np.ascontiguousarray(operation(*floats)))


def _cat(machine: Machine, axis: int, operands: tuple[Any, ...]) -> Any:
    def join(*parts: Any) -> Any:
        return (
            qcore.concat(parts, axis) if isinstance(parts[0], qcore.QTensor) else np.concatenate(parts, axis)
        )

    return machine.exactly(join, *operands)


def _sliced(machine: Machine, x: Any, key: tuple[slice, ...]) -> Any:
    return machine.exactly(lambda value: value[key], x)


def _along(x: Any, dim: int, start: int, length: int) -> tuple[slice, ...]:
    return tuple(slice(start, start + length) if axis == dim else slice(None) for axis in range(len(x.shape)))


def _pieces(machine: Machine, x: Any, dim: int, sizes: list[int]) -> list[Any]:
    starts = np.cumsum([0, *sizes])
    return [_sliced(machine, x, _along(x, dim, int(s), n)) for s, n in zip(starts, sizes, strict=False)]


def _split(machine: Machine, step: dict[str, Any], x: Any) -> list[Any]:
    dim, total = step["dim"], x.shape[step["dim"]]
    size = step["size"] if step["op"] == "split" else -(-total // step["n"])
    sizes = [min(size, total - start) for start in range(0, total, size)]
    return _pieces(machine, x, dim, sizes)


def _permuted(machine: Machine, x: Any, axes: list[int]) -> list[Any]:
    return [machine.exactly(lambda value: value.transpose(*axes), x)]


def _swapped(machine: Machine, step: dict[str, Any], x: Any) -> list[Any]:
    rank = len(x.shape)
    first, second = (step["dim0"], step["dim1"]) if step["op"] == "swap_dims" else (rank - 2, rank - 1)
    axes = list(range(rank))
    axes[first], axes[second] = axes[second], axes[first]
    return _permuted(machine, x, axes)


def _reshaped(machine: Machine, step: dict[str, Any], x: Any) -> list[Any]:
    shape = [x.shape[axis] if dim == 0 else dim for axis, dim in enumerate(step["shape"])]
    if -1 in shape:
        known = -math.prod(shape)
        shape[shape.index(-1)] = math.prod(x.shape) // known
    return [machine.exactly(lambda value: value.reshape(tuple(shape)), x)]


def _stacked(machine: Machine, step: dict[str, Any], *operands: Any) -> list[Any]:
    shape = list(operands[0].shape)
    shape.insert(step["dim"], 1)
    return [_cat(machine, step["dim"], tuple(q.reshape(tuple(shape)) for q in operands))]


def _flipped(machine: Machine, step: dict[str, Any], x: Any) -> list[Any]:
    key = tuple(slice(None, None, -1 if axis in step["axes"] else 1) for axis in range(len(x.shape)))
    return [_sliced(machine, x, key)]


STEPS: dict[str, Callable[..., list[Any]]] = {
    "quantize_dynamic": lambda m, step, x: [m.quantize(x)],
    "dequantize": lambda m, step, x: [x.dequantize() if isinstance(x, qcore.QTensor) else x],
    "transpose": _swapped,
    "swap_dims": _swapped,
    "permute": lambda m, step, x: _permuted(m, x, step["axes"]),
    "reshape": _reshaped,
    "slice": lambda m, step, x: [_sliced(m, x, tuple(slice(*part) for part in step["slices"]))],
    "narrow": lambda m, step, x: [_sliced(m, x, _along(x, step["dim"], step["start"], step["length"]))],
    "split": _split,
    "chunk": _split,
    "split_with_sizes": lambda m, step, x: _pieces(m, x, step["dim"], step["sizes"]),
    "flip": _flipped,
    "cat": lambda m, step, *xs: [_cat(m, step["dim"], xs)],
    "stack": _stacked,
    "repeat_dim": lambda m, step, x: [_cat(m, step["dim"], (x,) * step["times"])],
}
