"""Rows of files. Errors of the operating system (not found, no space, no permission) pass unchanged."""

from __future__ import annotations

from qcore.errors.base import ChecksumError, ErrorDoc, FormatError, LimitError, TruncatedFileError

__all__ = ["ROWS"]

ROWS: tuple[ErrorDoc, ...] = (
    ErrorDoc(
        code="file-not-recognised",
        family=FormatError,
        message="{path} is no file that qcore reads: it begins with {found}",
        cause=(
            "Files are recognised by their first bytes, and by their suffix only where a format has no mark."
        ),
        when="qcore.open with a file of another format, an empty file, or a text.",
        solutions=(
            "Check the path: a pointer of a version-control store is a short text, not the file.",
            "Export the weights as safetensors, GGUF, burnpack or npy.",
        ),
        refs=("file-pickle-refused", "file-truncated"),
    ),
    ErrorDoc(
        code="file-truncated",
        family=TruncatedFileError,
        message="{path} has {size} bytes, but {what} needs {needed}",
        variants={
            "perhaps-burn-0.19": (
                "{path} has {size} bytes, but {what} needs {needed}; if Burn 0.19 wrote it, whose data is not "
                'aligned, open it with burn="0.19"'
            ),
        },
        cause="The file ends before something that its header announces.",
        when="Reading a file that was cut off, or one that is still being written.",
        solutions=(
            "Fetch or write the file again and compare its length.",
            "Wait until the writer has finished: qcore writes beside the target and renames.",
        ),
        refs=("file-malformed",),
    ),
    ErrorDoc(
        code="file-part-missing",
        family=FormatError,
        message="{path} is part {number} of {count} of a model, and {missing} is not beside it",
        cause=(
            "A model that was split into several GGUF files is read as one, and each part holds only its own tensors."
        ),
        when="Opening one file of a set NAME-00001-of-0000N.gguf whose other files are elsewhere or named otherwise.",
        solutions=(
            "Put all parts into one folder under the names they were made with.",
            "Fetch the part that is missing.",
        ),
        refs=("file-truncated",),
    ),
    ErrorDoc(
        code="file-limit",
        family=LimitError,
        message="{path}: {what} is {found}, the limit is {limit}",
        cause=(
            "Limits keep a hostile or broken file from taking memory or time that its own size does not "
            "justify."
        ),
        when="Reading a file with a header, count, name, rank or nesting beyond the fixed limits.",
        solutions=(
            "See the limits and how to raise one: qcore limits.",
            "If the file is not known to be good, do not raise it.",
        ),
        refs=("file-malformed",),
    ),
    ErrorDoc(
        code="file-malformed",
        family=FormatError,
        message="{path}, {where}: {reason}",
        cause=(
            "The file contradicts its own format: sizes that do not agree, ranges that overlap, fields of "
            "the wrong type."
        ),
        when="Opening or reading a file whose structure fails a check.",
        solutions=(
            "Fetch or write the file again.",
            "Read it with the program that wrote it; if that succeeds, report the case.",
        ),
        refs=("file-truncated", "file-limit"),
    ),
    ErrorDoc(
        code="file-pickle-refused",
        family=FormatError,
        message="{path} holds a pickle ({found}), and qcore never unpickles",
        variants={
            "asks-for-more": (
                "{path} asks for more than tensors ({found}), and qcore runs nothing that a file names"
            ),
        },
        cause=(
            "Unpickling runs whatever program the file contains. The zip archives of torch.save are read without "
            "it: tables, numbers, texts and tensors, nothing else."
        ),
        when=(
            "Opening pickles that are no such archive (.ckpt, .bin, .pkl, .pt and .pth of PyTorch before 1.6), "
            "object arrays, TorchScript programs, and archives of whole models or of other classes."
        ),
        solutions=(
            "Convert it where it was made: safetensors.torch.save_file(model.state_dict(), path).",
            "Of a file of PyTorch before 1.6: torch.save(torch.load(path, weights_only=True), 'new.pt').",
            "Save arrays with a plain dtype: np.save(path, x.astype(np.float32)).",
        ),
        refs=("file-not-recognised",),
    ),
    ErrorDoc(
        code="file-exists",
        family=FormatError,
        message="{path} exists and is not overwritten without being asked to",
        cause="Writing replaces the whole file.",
        when="qcore.save to a path that exists, without overwrite=True (--overwrite).",
        solutions=(
            "Say overwrite=True, or --overwrite; the old file stays until the new one is complete.",
            "Choose another path.",
        ),
    ),
    ErrorDoc(
        code="file-tensor-missing",
        family=FormatError,
        message="{path} has no tensor {name!r}; close to it: {choices}",
        variants={
            "none-close": "{path} has no tensor {name!r}",
        },
        cause="Tensors are named exactly, with the dots and case that the file uses.",
        when=(
            "f.tensor(name), f.info(name), a shard that lacks a tensor its index promises, a part of a "
            "quantized tensor."
        ),
        solutions=(
            "List the names: f.names(), or qcore info.",
            "Check prefixes such as model. that frameworks add.",
        ),
        refs=("unknown-name",),
    ),
    ErrorDoc(
        code="file-checksum",
        family=ChecksumError,
        message="{path}: the data of {name!r} has the digest {got}, the file records {expected}",
        cause="The bytes changed after they were written.",
        when="qcore verify, and reading with verification, when a tensor's digest does not match.",
        solutions=(
            "Fetch or write the file again.",
            "If the tensor was edited on purpose, save it with qcore so that the digest is renewed.",
        ),
        refs=("file-truncated",),
    ),
    ErrorDoc(
        code="npy-lost-dtype",
        family=FormatError,
        message="{path} stores its elements as {descr!r}, which does not say what they are",
        cause=(
            "NumPy's format has no names for bfloat16 and small floats; saving such an array loses its dtype."
        ),
        when="Opening an .npy or .npz file that was saved from an array of an ml_dtypes type.",
        solutions=(
            "Say what they are when opening: dtype='bf16'.",
            "Save with qcore.save, which records the dtype.",
        ),
        refs=("input-dtype",),
    ),
    ErrorDoc(
        code="state-the-layout",
        family=FormatError,
        message=(
            "{source} stores weights as [out, in] and a .bpk as [in, out]; say which layout is meant for its "
            "matrices: {shown}"
        ),
        cause=(
            "Burn keeps the weights of linear layers as [in, out], nearly everyone else as [out, in], and "
            "files do not say."
        ),
        when=(
            "Writing a .bpk with matrices from a file of another format without layout= (--layout), or a map "
            "of its tensors (--map)."
        ),
        solutions=(
            (
                'layout="torch-to-burn" (--layout torch-to-burn) transposes the weights of linear layers exactly: '
                "codes, scales and blocks."
            ),
            (
                'layout="keep" (--layout keep) writes them as they are: for a file that Burn made, or weights that '
                "no linear layer uses."
            ),
        ),
        refs=("file-malformed",),
    ),
)
