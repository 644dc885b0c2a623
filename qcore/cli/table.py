"""The commands: one row each. A module is a word until its command is run, so ``qcore --help`` imports none."""

from dataclasses import dataclass

__all__ = ["COMMANDS", "Command"]

# what a command takes beside its own options; --json, -v and -q are taken by all
BACKEND, THREADS, OVERWRITE, LIMIT = "backend", "threads", "overwrite", "limit"


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its name, the module with its ``run``, one sentence, examples, and the shared options it takes."""

    name: str
    module: str
    summary: str
    examples: tuple[str, ...]
    shared: tuple[str, ...] = ()


def _row(name: str, summary: str, examples: tuple[str, ...], *shared: str) -> Command:
    return Command(name, f"qcore.cli.commands.{name}", summary, examples, shared)


_ROWS = (
    _row(
        "demo",
        "Quantize the weights that ship with qcore under a dozen schemes and print the comparison.",
        ("qcore demo", "qcore demo silero_conv1", "qcore demo --json | jq '.rows[0]'"),
        BACKEND,
        THREADS,
    ),
    _row(
        "info",
        "List a file's tensors: shape, dtype or scheme, parameters, bytes.",
        (
            "qcore info model.safetensors",
            "qcore info model.safetensors --pattern '*.weight'",
            "qcore info a.npz b.npy --tree",
        ),
        LIMIT,
    ),
    _row(
        "inspect",
        "Look at one tensor: statistics, histogram, blocks and scales, a slice of values, the bits of a block.",
        (
            "qcore inspect model.safetensors encoder.weight",
            "qcore inspect w.npy --scheme int4-b32",
            "qcore inspect w.npy --scheme nvfp4 --block 0,3 --bits",
        ),
        BACKEND,
        THREADS,
        LIMIT,
    ),
    _row(
        "schemes",
        "List the presets, or explain one scheme.",
        ("qcore schemes", "qcore schemes explain nvfp4", "qcore schemes explain q4f/u32/b32:f16"),
    ),
    _row(
        "check",
        "Say whether a scheme is valid for each tensor of a file, or for a shape, without doing any work.",
        (
            "qcore check model.safetensors --scheme int4-b32",
            "qcore check --shape 4096,4096 --scheme mxfp4 --on burn-cubecl",
            "qcore check w.npz --scheme q8s/native/b32:f16 --on gguf",
            "qcore check model.bpk --on burn-flex",
            "qcore check model.safetensors --recipe model.toml --on burn-cubecl",
        ),
        LIMIT,
    ),
    _row(
        "quantize",
        "Quantize the tensors of a file into another.",
        (
            "qcore quantize model.safetensors -o model-int4.safetensors --scheme int4-b32",
            "qcore quantize w.npy -o w.npz --scheme nvfp4 --calibration mse",
            "qcore quantize m.safetensors -o q.safetensors --scheme int8 --exclude '*norm*' --on-invalid float",
            "qcore quantize m.safetensors -o q.safetensors --scheme int4-b32 --dry-run",
            "qcore quantize m.safetensors -o q.bpk --recipe m.toml --layout torch-to-burn",
            "qcore quantize MODEL -o MODEL-int4 --scheme int4-b32 --on-invalid float",
        ),
        BACKEND,
        THREADS,
        OVERWRITE,
        LIMIT,
    ),
    _row(
        "dequantize",
        "Decode the quantized tensors of a file to floats.",
        (
            "qcore dequantize model-int4.safetensors -o model-f32.safetensors",
            "qcore dequantize w.npz -o w.npy --dtype f16",
        ),
        BACKEND,
        THREADS,
        OVERWRITE,
        LIMIT,
    ),
    _row(
        "convert",
        "Write the tensors of a file in another format, or lying the other way, and say how faithfully.",
        (
            "qcore convert model.safetensors -o model.bpk --layout torch-to-burn",
            "qcore convert model.bpk -o model.safetensors --layout burn-to-torch",
            "qcore convert model.safetensors -o model.bpk --map names.toml --burn 0.21",
        ),
        OVERWRITE,
        LIMIT,
    ),
    _row(
        "upgrade",
        "Bring a burnpack of an older Burn into the form of the newest.",
        ("qcore upgrade model.bpk", "qcore upgrade old.bpk -o new.bpk", "qcore upgrade old.bpk --burn 0.19"),
        OVERWRITE,
        LIMIT,
    ),
    _row(
        "verify",
        "Check a file: structure, digests, finite scales, codes in range.",
        ("qcore verify model-int4.safetensors", "qcore verify model-int4.safetensors --json"),
        LIMIT,
    ),
    _row(
        "explain",
        "Show the page of a documented error.",
        ("qcore explain missing-global-scale", "qcore explain"),
    ),
    _row(
        "limits",
        "List the fixed limits on what a file may ask for.",
        ("qcore limits", "qcore limits --json"),
    ),
    _row(
        "devices",
        "List the OpenCL devices, whether each gives the processor's bits, and what is missing where there is none.",
        ("qcore devices", "qcore devices --json", "QCORE_DEVICE=nvidia qcore devices"),
    ),
    _row(
        "gui",
        "Open the inspector: a window on a file's tensors and what a scheme does to them.",
        ("qcore gui model.safetensors", "qcore gui --sample", "qcore gui w.npy --scheme int4-b32"),
    ),
    _row(
        "doctor",
        "Say what is installed, what is missing, and what is in the way.",
        ("qcore doctor", "qcore doctor --json"),
    ),
)

COMMANDS: dict[str, Command] = {row.name: row for row in _ROWS}
