"""Exit codes, and which error ends with which."""

from qcore import errors

__all__ = ["CORRUPT", "DEVICE", "FAILED", "INTERRUPTED", "OK", "REFUSED", "UNEXPECTED", "USAGE", "of_error"]

OK = 0
UNEXPECTED = 1
USAGE = 2
REFUSED = 3
CORRUPT = 4
FAILED = 5
DEVICE = 6
SOME_FAILED = 7  # of a batch under --keep-going
INTERRUPTED = 130

# errors of what was typed, whatever their class
_USAGE_CODES = frozenset(
    {
        "file-exists",
        "option-value",
        "file-tensor-missing",
        "nothing-selected",
        "params-and-calibration",
        "state-the-layout",
    }
)
# words that name a scheme; any other unknown word is a mistyped option
_SCHEME_WORDS = frozenset(
    {"preset", "scheme", "value", "quant value", "store", "scale dtype", "mode", "codebook"}
)
_BY_CLASS: tuple[tuple[type[errors.QuantError], int], ...] = (
    (errors.DeviceError, DEVICE),
    (errors.OperationCancelled, INTERRUPTED),
    (errors.NonFiniteError, CORRUPT),
    (errors.FormatError, CORRUPT),
    (errors.QuantError, REFUSED),
)


def of_error(error: errors.QuantError) -> int:
    """Return the exit code of a documented error.

    Examples
    --------
    >>> of_error(errors.build("native-sub-byte")), of_error(errors.build("file-closed", path="x"))
    (3, 4)
    """
    if error.code in _USAGE_CODES:
        return USAGE
    if error.code == "unknown-name" and error.params.get("kind") not in _SCHEME_WORDS:
        return USAGE
    return next(code for family, code in _BY_CLASS if isinstance(error, family))
