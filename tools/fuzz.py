"""Feed a reader with hostile input, guided by coverage (atheris).

    python tools/fuzz.py TARGET [libFuzzer options, corpus folders]
    python tools/fuzz.py --list

Any input must end in a valid object or in a QuantError; anything else is a finding, and so is an object that does not
come back equal from its own output. A finding's input is written as libFuzzer does; give its path to run it again.
"""

import contextlib
import importlib
import io
import json
import logging
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TEXTS = (
    "q8f/u32",
    "q4s/u32/b32:f16",
    "e2m1/packed/b16:ue4m3/t:f32",
    "e4m3/native/b32:ue8m0",
    "q4f/u32:1/lookup:nf4/b2x16:f32",
    "q2s/native/t:bf16",
)
# what the serialised shapes of a scheme are made of, now and earlier
WORDS = (
    *("value", "store", "mode", "tensor", "block", "level", "param", "size", "dtype", "storage", "len"),
    *(
        "Q8F",
        "Q8S",
        "Q4F",
        "Q2S",
        "E4M3",
        "E2M1",
        "Native",
        "PackedU32",
        "PackedNative",
        "Symmetric",
        "Lookup",
    ),
    *("Tensor", "Block", "BlockTensor", "F32", "F16", "BF16", "UE8M0", "UE4M3"),
)
NUMBERS = (0, 1, 2, 4, 5, 6, 16, 32, 255, 256, -1, 1 << 31, 1 << 32, 1 << 63, 1 << 64, 10**30)
OPTIONS = {
    "value": ("q8f", "q8s", "q4f", "q4s", "q2f", "q2s", "e4m3", "e5m2", "e2m1"),
    "store": ("/native", "/u32", "/u32:1", "/packed"),
    "mode": ("", "/lookup"),
    "level": ("", "/t:f32", "/b4:f16", "/b2x3:ue8m0", "/b4:ue4m3/t:f32"),
}


ROOT = Path(__file__).resolve().parent.parent


class Choices:
    """Decisions read off the input, so that the fuzzer's mutations are decisions too."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def of(self, options: Any) -> Any:
        return options[self.byte() % len(options)]

    def rest(self) -> bytes:
        return self.data[self.at :]

    def value(self, depth: int) -> Any:
        """Anything JSON can hold."""
        kind = self.byte() % 8
        if kind < 2:
            return self.of(WORDS)
        if kind == 2:
            return self.of(NUMBERS)
        if kind == 3:
            return self.of((None, True, False, 0.5, float("nan"), float("inf"), "", "q8s", "F32\0"))
        if depth == 0:
            return self.byte()
        count = self.byte() % 6
        if kind < 6:
            return [self.value(depth - 1) for _ in range(count)]
        return {self.of(WORDS): self.value(depth - 1) for _ in range(count)}


def scheme_text(data: bytes) -> None:
    from qcore import QuantScheme, errors

    try:
        scheme = QuantScheme.parse(data.decode("utf-8", "replace"))
    except errors.QuantError:
        return
    assert QuantScheme.parse(str(scheme)) == scheme, str(scheme)


def scheme_dict(data: bytes) -> None:
    """A serialised scheme with up to seven of its places changed."""
    from qcore import QuantScheme, errors

    choices = Choices(data)
    shape: Any = QuantScheme.parse(choices.of(TEXTS)).to_dict()
    for _ in range(choices.byte() % 8):
        place: Any = shape
        while isinstance(place, dict) and place:
            key = choices.of(sorted(place, key=str))
            if choices.byte() % 3 or not isinstance(place[key], (dict, list)):
                break
            place = place[key]
        if isinstance(place, dict) and place and choices.byte() % 4:
            place[key] = choices.value(3)
        elif isinstance(place, dict):
            place[choices.of(WORDS)] = choices.value(3)
        elif place:
            place[choices.byte() % len(place)] = choices.value(2)
    try:
        scheme = QuantScheme.from_dict(shape)
    except errors.QuantError:
        return
    assert QuantScheme.from_dict(json.loads(json.dumps(scheme.to_dict()))) == scheme


def tensor_data(data: bytes) -> None:
    """A scheme, a shape, and the bytes of a tensor: of the right length, or of any."""
    import qcore
    from qcore import errors

    choices = Choices(data)
    scheme = qcore.QuantScheme.parse("".join(choices.of(row) for row in OPTIONS.values()))
    codebook = qcore.Codebook.nf4() if choices.byte() % 2 else None
    right_length = choices.byte() % 4
    shape = tuple(choices.byte() % 20 for _ in range(choices.byte() % 4))
    body = choices.rest()
    with contextlib.suppress(errors.QuantError):
        if right_length:
            expected = qcore.quantized_data_len(scheme, shape)
            body = body[:expected].ljust(expected, b"\x5a")
    try:
        q = qcore.from_data(qcore.TensorData(body, shape, scheme), codebook=codebook)
        y = q.dequantize()
    except errors.QuantError:
        return
    assert y.shape == shape
    assert y.dtype == np.float32
    again = qcore.from_data(q.to_data(), codebook=codebook)
    assert again.to_data().bytes == q.to_data().bytes


def file_of(suffix: str) -> Callable[[bytes], None]:
    """The reader of a format: everything that the file lists is read."""
    shared_memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(dir=shared_memory if shared_memory.is_dir() else None)
    path = Path(folder) / f"input{suffix}"

    def read(data: bytes) -> None:
        import qcore
        from qcore import errors

        path.write_bytes(data)
        with contextlib.suppress(errors.QuantError), qcore.open(path) as file:
            dict(file.metadata)
            for name in file.names():
                file.info(name)
                with contextlib.suppress(errors.QuantError):
                    file.tensor(name)

    return read


def torch_pickle() -> Callable[[bytes], None]:
    """The pickle inside an archive of PyTorch; the archive around it is sound."""
    shared_memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(dir=shared_memory if shared_memory.is_dir() else None)) / "x.pt"

    def read(data: bytes) -> None:
        import qcore
        from qcore import errors

        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x/data.pkl", data)
            for key in range(4):
                archive.writestr(f"x/data/{key}", bytes(96))
        with contextlib.suppress(errors.QuantError), qcore.open(path) as file:
            for name in file.names():
                with contextlib.suppress(errors.QuantError):
                    array = np.asarray(file.tensor(name))
                    assert array.shape == file.info(name).shape

    return read


def _pickle_seeds() -> list[bytes]:
    seeds = []
    for path in sorted((ROOT / "tests" / "data" / "torch").glob("*.pt")):
        with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
            member = archive.getinfo(name)  # some were written without sums, which the module would hold
            start = member.header_offset + 30 + len(name) + int.from_bytes(
                path.read_bytes()[member.header_offset + 28 :][:2], "little"
            )
            seeds.append(path.read_bytes()[start : start + member.file_size])
    return seeds


def checkpoint() -> Callable[[bytes], None]:
    """A folder with an index and a configuration that the input changes in some places, or writes itself.

    The arrays are those of several conventions at once; which of them lie where, under which names and what is
    declared about them, the input says.
    """
    import qcore
    from qcore import errors

    shared_memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=shared_memory if shared_memory.is_dir() else None))
    arrays = _checkpoint_arrays()
    index, config = folder / "model.safetensors.index.json", folder / "config.json"

    def read(data: bytes) -> None:
        choices = Choices(data)
        kind = choices.byte() % 8
        names = sorted(arrays)
        placed = {name: arrays[name] for _ in range(1 + choices.byte() % 2) for name in choices.of(SETS).split()}
        for _ in range(choices.byte() % 4):
            name = choices.of(names)
            change = choices.byte() % 4
            if change == 0:
                placed.pop(name, None)
            elif change == 1:
                placed[name] = arrays[choices.of(names)]
            elif change == 2:  # other bytes of the same kind
                kinds = placed.get(name, arrays[name])
                body = bytes(choices.byte() for _ in range(min(kinds.nbytes, 16)))
                whole = (body + kinds.tobytes())[: kinds.nbytes]
                placed[name] = np.frombuffer(whole, kinds.dtype).reshape(kinds.shape)
            else:
                placed[name] = arrays[name].reshape(-1)
        about = {"block_size": choices.of((16, 32)), "is_swizzled_scales": choices.of((False, True))}
        told = {"_type": choices.of(("NVFP4Tensor", "MXTensor", "Int8Tensor")), "_data": about}
        texts = {"tensor_names": '["e.weight"]', "e.weight": json.dumps(told)} if choices.byte() % 2 else {}
        (folder / "a.safetensors").write_bytes(_plain_safetensors(placed, texts))
        weights: Any = dict.fromkeys(placed, "a.safetensors")
        if choices.byte() % 4 == 0:
            weights[choices.of(names)] = choices.of(("a.safetensors", "b.safetensors", "../a.safetensors", 3, None))
        block = {choices.of(CONFIG_KEYS): choices.of(CONFIG_VALUES) for _ in range(choices.byte() % 6)}
        block["quant_method"] = choices.of(METHODS)
        beside: Any = {"quantization_config": block} if choices.byte() % 4 else {"quantization": block}
        rest = choices.rest()
        index.write_bytes(rest if kind == 1 else json.dumps({"weight_map": weights}).encode())
        config.write_bytes(rest if kind == 2 else json.dumps(beside).encode())
        # a shard that is not there is the system's error, which passes unchanged
        with contextlib.suppress(errors.QuantError, FileNotFoundError), qcore.open(folder) as file:
            for name in file.names():
                file.info(name)
                with contextlib.suppress(errors.QuantError):
                    np.asarray(file.tensor(name))

    return read


def _plain_safetensors(arrays: dict[str, Any], texts: dict[str, str]) -> bytes:
    """A file without the care of the real writer, which costs most of a run."""
    from qcore.formats.dtypes import BY_NAME

    header: dict[str, Any] = {"__metadata__": texts}
    body = b""
    for name, array in arrays.items():
        end = len(body) + array.nbytes
        code = BY_NAME[array.dtype.name].code
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [len(body), end]}
        body += array.tobytes()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


NESTED = "i.weight i.weight.absmax i.weight.nested_absmax"
# arrays that belong together
SETS = (
    "a.weight_packed a.weight_scale a.weight_shape",
    "a.weight_packed a.weight_scale a.weight_shape a.weight_zero_point",
    "a.weight_packed a.weight_scale a.weight_shape a.weight_g_idx",
    "a.weight a.weight_scale_inv",
    "a.qweight a.qzeros a.scales a.g_idx",
    "h.qweight h.qzeros h.scales",
    "b.weight b.weight.absmax b.weight.quant_map b.weight.quant_state.bitsandbytes__nf4",
    f"{NESTED} i.weight.quant_map i.weight.nested_quant_map i.weight.quant_state.bitsandbytes__nf4",
    "c_blocks c_scales",
    "d.weight d.scales",
    "j.weight j.scales j.biases",
    "e._weight_qdata e._weight_scale",
    "f.weight f.weight_scale f.weight_scale_2",
    "f.weight_packed f.weight_scale f.weight_global_scale",
    "g.weight g.weight_scale",
    "k.weight k.SCB",
)
METHODS = ("compressed-tensors", "fp8", "modelopt", "gptq", "awq", "bitsandbytes", "mxfp4", "mlx", "torchao", "", 7)
CONFIG_KEYS = ("bits", "group_size", "sym", "desc_act", "checkpoint_format", "weight_block_size", "config_groups", "a")
CONFIG_VALUES: tuple[Any, ...] = (
    *(2, 4, 8, 16, 32, 0, -1, True, False, None, "gptq_v2", [128, 128], [16, 2], [0, 3], []),
    {"g": {"weights": {"num_bits": 4, "block_structure": [8, 8]}}},
    {"g": {"weights": {"num_bits": 8}}},
    {"g": 3},
    {"bits": 4, "group_size": 16},
)


def _checkpoint_arrays() -> dict[str, Any]:
    """Arrays under the names of several conventions, those of each fitting together."""
    import ml_dtypes

    def e4m3(*shape: int) -> Any:
        return np.ones(shape, ml_dtypes.float8_e4m3fn)

    half, byte, word, single = np.float16, np.uint8, np.int32, np.float32
    plain = {"quant_type": "nf4", "blocksize": 64, "shape": [4, 32]}
    nested = {**plain, "nested_blocksize": 256, "nested_offset": 0.5}
    state, inner = (np.frombuffer(json.dumps(told).encode(), byte) for told in (plain, nested))
    table = np.linspace(-1, 1, 16, dtype=single)
    return {
        "a.weight_packed": np.ones((4, 4), word),
        "a.weight_scale": np.ones((4, 2), half),
        "a.weight_shape": np.array([4, 32], np.int64),
        "a.weight_zero_point": np.zeros((4, 2), np.int8),
        "a.weight_g_idx": np.zeros(32, word),
        "a.weight_scale_inv": np.ones((1, 1), single),
        "a.weight": e4m3(4, 32),
        "a.qweight": np.ones((4, 16), word),
        "a.qzeros": np.full((2, 2), 0x77777777, word),
        "a.scales": np.ones((2, 16), half),
        "a.g_idx": (np.arange(32) // 16).astype(word),
        "h.qweight": np.ones((32, 2), word),
        "h.qzeros": np.ones((2, 2), word),
        "h.scales": np.ones((2, 16), half),
        "b.weight": np.ones((64, 1), byte),
        "b.weight.absmax": np.ones(2, single),
        "b.weight.quant_map": table,
        "b.weight.quant_state.bitsandbytes__nf4": state,
        "i.weight": np.ones((64, 1), byte),
        "i.weight.absmax": np.ones(2, byte),
        "i.weight.quant_map": table,
        "i.weight.nested_absmax": np.ones(1, single),
        "i.weight.nested_quant_map": np.linspace(-1, 1, 256, dtype=single),
        "i.weight.quant_state.bitsandbytes__nf4": inner,
        "c_blocks": np.ones((2, 3, 16), byte),
        "c_scales": np.ones((2, 3), byte),
        "d.weight": np.ones((2, 8), np.uint32),
        "d.scales": np.ones((2, 2), byte),
        "j.weight": np.ones((2, 8), np.uint32),
        "j.scales": np.ones((2, 4), half),
        "j.biases": np.ones((2, 4), half),
        "e._weight_qdata": np.ones((4, 16), byte),
        "e._weight_scale": np.ones((4, 1), byte),
        "f.weight": np.ones((4, 16), byte),
        "f.weight_scale": e4m3(4, 2),
        "f.weight_scale_2": np.ones((), single),
        "f.weight_packed": np.ones((4, 16), byte),
        "f.weight_global_scale": np.ones(1, single),
        "g.weight": np.ones((4, 32), np.int8),
        "g.weight_scale": np.ones((4, 1), single),
        "k.weight": np.ones((4, 32), np.int8),
        "k.SCB": np.ones(4, single),
    }


def _file_seeds(suffix: str) -> list[bytes]:
    import qcore

    if suffix == ".pt":  # what PyTorch wrote: it is not written here
        return [path.read_bytes() for path in sorted((ROOT / "tests" / "data" / "torch").glob("*.pt"))]

    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 32), dtype=np.float32)
    contents: list[dict[str, Any]] = [{"x": x}]
    if suffix != ".npy":
        contents.append({"x": x, "bias": np.arange(3, dtype=np.int64), "none": np.zeros((0, 2), np.float16)})
        contents += [{"q": qcore.quantize(x, text)} for text in ("q4s/u32/b32:f16", "nvfp4", "nf4")]
    if suffix == ".gguf":
        q = [qcore.quantize(np.tile(x, 2), text) for text in ("q4_0", "int8-b32", "mxfp4", "nvfp4")]
        contents[2:] = [{f"{n}.weight": tensor for n, tensor in enumerate(q)}, {"s": np.float32(1)}]
    seeds = [gguf_of_all_types()] if suffix == ".gguf" else []
    with tempfile.TemporaryDirectory() as folder:
        for number, content in enumerate(contents):
            path = Path(folder) / f"{number}{suffix}"
            qcore.save(path, content)
            seeds.append(path.read_bytes())
        for burn in ("0.19", "0.21", "0.22-pre.2") if suffix == ".bpk" else ():
            q = {} if burn == "0.19" else {"q": qcore.quantize(x, "q4s/u32/b32:f16")}
            qcore.save(path, {"x": x, "truth": x > 0, **q}, burn=burn, overwrite=True)
            seeds.append(path.read_bytes())
    return seeds


def gguf_of_all_types() -> bytes:
    """A GGUF file with a block of each type and a key of each kind."""
    from qcore.formats.content import Content, Group
    from qcore.formats.gguf_types import BY_ID
    from qcore.formats.gguf_values import LAYOUT
    from qcore.formats.gguf_write import write
    from qcore.formats.protocol import AsStored, StoredPart, TensorInfo

    groups = []
    for row in BY_ID.values():
        name, data = row.name, bytes(range(1, row.nbytes + 1))
        part = StoredPart(name, name, (row.block,), row.nbytes, lambda data=data: iter((data,)))  # type: ignore[misc]
        info = TensorInfo(name, part.shape, "float32", None, row.nbytes, (name,), fidelity="requantized")
        groups.append(Group(info, (), dict, AsStored("gguf", (part,))))
    texts = {
        "u8": "1",
        "i16": "-1",
        "f64": "0.5",
        "bool": "true",
        "str": "ü",
        "str[]": '["a",""]',
        "f32[]": "[1,2]",
    }
    layout = {"keys": {kind: kind for kind in texts}, "tensors": {}}
    file = io.BytesIO()
    metadata = {"general.architecture": "x", **texts, LAYOUT: json.dumps(layout)}
    write(file, "seed", Content(tuple(groups), metadata))
    return file.getvalue()


def _text_seeds() -> list[bytes]:
    return [text.encode() for text in TEXTS]


def _choice_seeds() -> list[bytes]:
    return [np.random.default_rng(number).bytes(60) for number in range(40)]


SUFFIXES = (".bpk", ".gguf", ".npy", ".npz", ".pt", ".safetensors")
TARGETS: dict[str, tuple[Callable[[], Callable[[bytes], None]], Callable[[], list[bytes]]]] = {
    "scheme-text": (lambda: scheme_text, _text_seeds),
    "scheme-dict": (lambda: scheme_dict, _choice_seeds),
    "tensor-data": (lambda: tensor_data, _choice_seeds),
    "checkpoint": (checkpoint, _choice_seeds),
    "torch-pickle": (torch_pickle, _pickle_seeds),
    **{
        suffix[1:]: (lambda suffix=suffix: file_of(suffix), lambda suffix=suffix: _file_seeds(suffix))  # type: ignore[misc]
        for suffix in SUFFIXES
    },
}


def saved(name: str) -> list[bytes]:
    """The corpus that is kept of a target."""
    path = ROOT / "tests" / "data" / "corpus" / f"{name}.zip"
    if not path.exists():
        return []
    with zipfile.ZipFile(path) as archive:
        return [archive.read(member) for member in archive.namelist()]


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in {*TARGETS, "--list"}:
        sys.exit(f"usage: fuzz.py {{{','.join(TARGETS)}}} [libFuzzer options]\n\n{__doc__}")
    if sys.argv[1] == "--list":
        print(*TARGETS, sep="\n")
        return
    import atheris

    # every module of ours that a target reaches is watched; NumPy is not
    with atheris.instrument_imports(include=["qcore"]):
        for module in ("qcore.ops", "qcore.scheme", "qcore.tensor", "qcore.formats"):
            importlib.import_module(module)
        for name in ("burnpack", "gguf", "npy", "npz", "pt", "safetensors"):
            importlib.import_module(f"qcore.formats.{name}_file")
        importlib.import_module("qcore.formats.gguf_repack")
        for row in importlib.import_module("qcore.formats.conventions.table").CONVENTIONS:
            importlib.import_module(f"qcore.formats.conventions.{row.module}")
    logging.disable(logging.WARNING)
    name = sys.argv.pop(1)
    make_target, make_seeds = TARGETS[name]
    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(saved(name)):  # what earlier runs found worth keeping comes first
            (Path(corpus) / f"saved-{number}").write_bytes(data)
        for number, seed in enumerate(make_seeds()):
            (Path(corpus) / f"seed-{number}").write_bytes(seed)
        atheris.Setup([*sys.argv, corpus], make_target())
        atheris.Fuzz()


if __name__ == "__main__":
    main()
