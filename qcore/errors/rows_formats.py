"""Rows of opening and writing files, beside those of their content in ``rows_files``."""

from __future__ import annotations

from qcore.errors.base import ErrorDoc, FormatError, UnsupportedSchemeError

__all__ = ["ROWS"]

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="file-not-regular",
        family=FormatError,
        message="{path} is {kind}, not a regular file",
        cause=(
            "Tensors are read by position and files are replaced as a whole; pipes, devices and folders "
            "allow neither."
        ),
        when="qcore.open and qcore.save with a path that names something else than a file.",
        solutions=(
            "Copy what comes through the pipe to a file first.",
            "Name a file inside the folder.",
        ),
        refs=("file-exists",),
    ),
    ErrorDoc(
        code="file-changed",
        family=FormatError,
        message=(
            "{path} changed while it was open: reading byte {offset}, it has {found} bytes after {allowed}"
        ),
        cause="Another program wrote to the file or cut it off after its header was checked.",
        when=(
            "Reading a tensor from a file whose length or time of change is not what it was when it was "
            "opened."
        ),
        solutions=(
            "Wait until the writer has finished, then open the file again.",
            "Write beside the file and rename, as qcore.save does: readers then keep the old file.",
        ),
        refs=("file-truncated",),
    ),
    ErrorDoc(
        code="file-closed",
        family=FormatError,
        message="{path} is closed",
        cause="Tensors are read when they are asked for, so the file has to be open then.",
        when="f.tensor(name) after f.close() or after the end of its with block.",
        solutions=(
            "Read inside the with block.",
            "Keep the tensor instead of the file.",
        ),
    ),
    ErrorDoc(
        code="file-cannot-hold",
        family=UnsupportedSchemeError,
        message="{path}: {format} files cannot hold {what}",
        cause=(
            "The format has no place, or no name, for what was to be written, and a reader would not get "
            "it back."
        ),
        when=(
            "Saving a quantized tensor, bfloat16 or a small float as a bare .npy, several tensors as one "
            ".npy, a dtype that the format does not know, or a scheme that compressed-tensors has no form for."
        ),
        solutions=(
            "Save as .npz or .safetensors: both keep the scheme, the scales and every dtype.",
            "Dequantize, or convert the array to a dtype that the format knows.",
            'In a folder, convention="qcore" (--convention qcore) takes every scheme.',
        ),
        refs=("npy-lost-dtype",),
    ),
    ErrorDoc(
        code="file-name-refused",
        family=FormatError,
        message="{path} cannot hold a tensor named {name}: {reason}",
        cause="What a writer accepts, every reader of the format must be able to open.",
        when=(
            "Saving under a name that is reserved, too long, taken by a part of another tensor, or no "
            "valid Unicode."
        ),
        solutions=(
            "Rename the tensor.",
            (
                "The scales of a quantized tensor w are stored as w.scale, w.global_scale and "
                "w.lookup_table: leave them free."
            ),
        ),
        refs=("file-limit",),
    ),
    ErrorDoc(
        code="nothing-selected",
        family=FormatError,
        message="{path}: none of its {count} tensors is selected",
        cause="An output without a single converted tensor is a mistake more often than a wish.",
        when="qcore quantize with --include or --exclude patterns that leave nothing to quantize.",
        solutions=(
            "See the names: qcore info FILE.",
            "Patterns are globs over whole names: '*.weight', 'encoder.*'.",
        ),
        refs=("file-tensor-missing",),
    ),
    ErrorDoc(
        code="folder-not-a-checkpoint",
        family=FormatError,
        message="{path} is no checkpoint that qcore opens: it holds {found}",
        cause=(
            "A folder is opened by its model.safetensors, else by the only index or the only safetensors file "
            "in it."
        ),
        when="qcore.open with a folder that holds no safetensors file, or several and no index.",
        solutions=(
            "Name one of the files.",
            "Fetch model.safetensors.index.json, which says what lies where.",
        ),
        refs=("file-not-recognised", "file-tensor-missing"),
    ),
)
