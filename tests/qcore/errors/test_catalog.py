"""The catalogue: every row is whole, every error is also what a Python user expects."""

import concurrent.futures
import copy
import pickle
import re
import string
from pathlib import Path

import pytest

from qcore import errors
from qcore.errors.catalog import join

ROWS = list(errors.CATALOG.values())
BUILTINS = {
    errors.UnsupportedSchemeError: NotImplementedError,
    errors.InvalidSchemeError: ValueError,
    errors.ScaleError: ValueError,
    errors.ShapeError: ValueError,
    errors.DTypeError: TypeError,
    errors.NonFiniteError: ValueError,
    errors.FormatError: ValueError,
    errors.TruncatedFileError: errors.FormatError,
    errors.LimitError: errors.FormatError,
    errors.ChecksumError: errors.FormatError,
    errors.DeviceError: RuntimeError,
    errors.OperationCancelled: concurrent.futures.CancelledError,
}
PARAMS = {
    "choices": ("a", "b"),
    "count": 3,
    "index": (0, 1),
    "value": -1.5,
    "scheme": "QuantScheme { value: Q8F, store: PackedU32(0), mode: Symmetric, tensor: None, block: None }",
}


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def build(row: errors.ErrorDoc, variant: str | None = None, tensor: str | None = None) -> errors.QuantError:
    params = {name: PARAMS.get(name, f"<{name}>") for name in fields(row.template(variant))}
    return errors.build(row.code, variant=variant, tensor=tensor, **params)


def forms() -> list[tuple[errors.ErrorDoc, str | None]]:
    return [(row, variant) for row in ROWS for variant in (None, *row.variants)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.code)
def test_a_row_is_whole(row):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.code)
    assert row.family in BUILTINS
    assert row.cause.endswith((".", ".)"))
    assert row.when.endswith((".", ".)"))
    assert 2 <= len(row.solutions) <= 4
    assert all(solution.endswith((".", ")")) for solution in row.solutions)
    assert all(ref in errors.CATALOG and ref != row.code for ref in row.refs)


@pytest.mark.parametrize(("row", "variant"), forms(), ids=lambda part: getattr(part, "code", part))
def test_a_message_is_formatted_from_its_parameters(row, variant):
    error = build(row, variant)
    assert type(error) is row.family
    assert str(error) == row.render(error.params, variant)
    assert not re.search(r"\{\w+\}", str(error))
    assert (error.code, error.cause, error.solutions, error.refs) == (
        row.code,
        row.cause,
        row.solutions,
        row.refs,
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.code)
def test_an_error_survives_pickle_and_copy(row):
    error = build(row, tensor="encoder.weight")
    error.add_note("seen twice")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert other == error
        assert hash(other) == hash(error)
        assert str(other) == str(error)
        assert (other.params, other.tensor) == (error.params, "encoder.weight")
        assert other.__notes__ == ["seen twice"]


@pytest.mark.parametrize("family", BUILTINS, ids=lambda family: family.__name__)
def test_a_class_is_also_the_builtin_a_python_user_expects(family):
    assert issubclass(family, errors.QuantError)
    assert issubclass(family, BUILTINS[family])
    assert family.__module__ == "qcore.errors"


def test_a_cause_given_with_from_is_kept_when_a_tensor_is_named():
    error = errors.build("data-value-type")
    error.__cause__ = KeyError("k")
    named = error.for_tensor("w")
    assert (named.tensor, error.tensor) == ("w", None)
    assert named.__cause__ is error.__cause__
    assert str(named) == str(error)


def test_a_parameter_may_be_called_code():
    error = errors.build("code-out-of-range", code=9, index=4, lo=-8, hi=7)
    assert (error.code, error.params["code"]) == ("code-out-of-range", 9)
    assert str(error) == "code 9 at index 4 is outside -8 to 7"


def test_words_are_listed_with_commas():
    error = errors.build("unknown-name", kind="backend", name="gpu", choices=("cpu", "opencl"))
    assert str(error) == "unknown backend 'gpu', expected one of: cpu, opencl"
    assert error.params["choices"] == ("cpu", "opencl")


def test_a_code_is_given_once():
    with pytest.raises(AssertionError, match="data-long"):
        join([errors.CATALOG["data-long"]], [errors.CATALOG["data-long"]])


def test_an_unknown_code_and_a_missing_parameter_are_mistakes_in_our_code():
    with pytest.raises(KeyError):
        errors.build("no-such-code")
    with pytest.raises(KeyError):
        errors.build("table-length", bits=4)


def test_codes_and_parameters_in_the_source_are_those_of_the_catalogue():
    source = Path(errors.__file__).parents[1]
    text = "\n".join(p.read_text(encoding="utf-8") for p in source.rglob("*.py") if "errors" not in p.parts)
    used = set(re.findall(r"""\bbuild\(\s*["']([a-z0-9-]+)["']""", text))
    assert used
    assert used <= set(errors.CATALOG)


MESSAGES = {
    "lookup-not-on-ndarray": "lookup quantization is not supported by the ndarray backend",
    "lookup-does-not-travel": "lookup quantization does not travel as a QFloat tensor",
    "quantize-unsupported-scheme": "Quantization not supported for scheme {scheme}",
    "from-data-unsupported-scheme": "from_data not supported for scheme {scheme}",
    "missing-global-scale": "a two-level scheme should have a per-tensor scale",
    "lookup-not-iterable": "lookup quantization is not supported for iteration",
    "native-sub-byte": "Can't store native sub-byte values",
    "native-packing-unsupported": "{value} doesn't support native packing",
    "not-quantized-data": "Invalid dtype (expected DType::QFloat, got {dtype})",
    "operation-not-implemented": "not implemented",
    "superfluous-global-scale": "a per-tensor scale should come with a two-level scheme",
    "global-scale-not-f32": "a two-level scheme stores its per-tensor scale as f32, got {scheme}",
    "global-scale-size": "the per-tensor scale must have exactly one element, got {dims}",
    "wrong-scale-count": (
        "Invalid per-block quantization: {count} blocks for a Shape {{ dims: {dims} }} tensor with {block} blocks"
    ),
    "absmean-two-level": (
        "AbsMean calibration has no two-level form: BitNet's gamma is a mean over the whole tensor or block, which a "
        "per-tensor scale cannot decompose"
    ),
    "two-level-block-dtype": "block scales in {dtype} reach f32's range, which a per-tensor scale cannot absorb",
    "lookup-needs-table": "Lookup takes a lookup table, but none was provided",
    "table-without-lookup": "a lookup table was provided, but Symmetric does not take one",
    "table-length": "a {bits}-bit lookup scheme indexes a table of exactly {expected} entries, got {got}",
    "lookup-minifloat": (
        "a lookup field is an index, so a minifloat value ({value}) has nothing to mean; use the integer value of the "
        "same width"
    ),
    "block-cap": "Tried creating a block size larger than the cap",
    "data-short": "quantized tensor data is shorter than its scheme's parameters",
    "global-short": "quantized parameter buffer is shorter than the scheme's global scale",
    "block-scales-short": "quantized parameter buffer is shorter than the scheme's block scales",
    "packing-not-innermost": "Packing must be on innermost dimension for splitting off values",
    "data-values-count": "{count} quantized values do not fill a tensor of shape {shape}",
    "data-needs-global": "{scheme} requires a per-tensor scale",
    "data-superfluous-global": "{scheme} does not take a per-tensor scale",
    "data-value-type": "Invalid quantized type",
    "ue8m0-unsupported": "UE8M0 scales are not yet supported",
    "not-divisible": "Tensor Shape {{ dims: {dims} }} must be evenly divisible by block size {block}",
    "u32-line": "Can't store in u32",
    "block-not-packed": "Block size must be divisible by {div}, got block_size={block_size}",
    "lookup-needs-u32": "lookup decode is only wired for packed-u32 storage, got {store}",
    "unsupported-scheme": "Unsupported quantization scheme {scheme}",
}


@pytest.mark.parametrize("code", MESSAGES)
def test_a_text_that_burn_words_is_burns(code):
    assert errors.CATALOG[code].message == MESSAGES[code]


FAMILIES = {
    errors.UnsupportedSchemeError: (
        "lookup-not-on-ndarray lookup-does-not-travel quantize-unsupported-scheme from-data-unsupported-scheme "
        "lookup-not-iterable native-sub-byte native-packing-unsupported operation-not-implemented absmean-two-level "
        "two-level-block-dtype packing-not-innermost ue8m0-unsupported u32-line block-not-packed lookup-needs-u32 "
        "unsupported-scheme"
    ),
    errors.InvalidSchemeError: (
        "global-scale-not-f32 lookup-minifloat block-cap block-extent scheme-text unknown-name params-and-calibration "
        "scale-rounding-needs-ue8m0 lookup-needs-table table-without-lookup table-length bad-codebook code-out-of-range"
    ),
    errors.ScaleError: (
        "missing-global-scale superfluous-global-scale global-scale-size wrong-scale-count negative-scale "
        "non-finite-scale"
    ),
    errors.ShapeError: "block-rank packing-axis not-divisible would-split-block out-shape",
    errors.DTypeError: "not-quantized-data ndarray-needs-f32 input-dtype input-device out-dtype",
    errors.NonFiniteError: "non-finite",
    errors.FormatError: (
        "data-short global-short block-scales-short data-long data-values-count data-needs-global "
        "data-superfluous-global data-value-type"
    ),
    errors.TruncatedFileError: "file-truncated",
    errors.LimitError: "file-limit",
    errors.ChecksumError: "file-checksum",
    errors.DeviceError: "device-unavailable forked-engine",
    errors.OperationCancelled: "cancelled",
}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_code_is_raised_as_its_class(family):
    for code in FAMILIES[family].split():
        assert errors.CATALOG[code].family is family, code
