import copy
import pickle

import pytest
import source

from qcore import errors
from qcore.scheme import PRESETS, QuantScheme, resolve
from qcore.scheme.tables import TABLE_NAMES

TABLE = {
    # name: scheme, and what it implies beyond minmax, rounded up
    "burn-default": ("q8f/u32", {}),
    "burn-int8": ("q8s/u32/b32:f32", {}),
    "burn-int4": ("q4s/u32/b32:f32", {}),
    "int8": ("q8s/native/t:f32", {}),
    "int8-b32": ("q8s/native/b32:f16", {}),
    "int8-channel": ("q8s/native", {"tied": "row"}),
    "int4-b32": ("q4s/u32/b32:f16", {}),
    "int2-b32": ("q2s/u32/b32:f16", {}),
    "bitnet": ("q2s/u32/t:f32", {"calibration": "absmean"}),
    "fp8": ("e4m3/native/t:f32", {}),
    "fp8-channel": ("e4m3/native", {"tied": "row"}),
    "fp8-e5m2": ("e5m2/native/t:f32", {}),
    "mxfp8": ("e4m3/native/b32:ue8m0", {}),
    "mxfp4": ("e2m1/packed/b32:ue8m0", {"scale_rounding": "even"}),
    "nvfp4": ("e2m1/packed/b16:ue4m3/t:f32", {"scale_rounding": "nearest"}),
    "nf4": ("q4f/u32/lookup/b64:f32", {"codebook": "nf4"}),
    "fp4-bnb": ("q4f/u32/lookup/b64:f32", {"codebook": "fp4-bnb"}),
    "q8_0": ("q8s/native/b32:f16", {"scale_rounding": "nearest", "arithmetic": "ggml-q8_0"}),
    "q4_0": ("q4f/u32/b32:f16", {"scale_rounding": "nearest", "arithmetic": "ggml-q4_0"}),
}
PLAIN = {
    "calibration": "minmax",
    "scale_rounding": "up",
    "tied": None,
    "codebook": None,
    "arithmetic": "exact",
}


def test_the_presets_are_those_of_the_table():
    assert list(PRESETS) == list(TABLE)
    assert len(PRESETS) == len(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_a_preset_is_a_scheme_and_what_it_implies(name):
    text, implied = TABLE[name]
    preset = PRESETS[name]
    assert (preset.name, str(preset), str(preset.scheme)) == (name, name, text)
    assert {field: getattr(preset, field) for field in PLAIN} == PLAIN | implied


@pytest.mark.parametrize("name", TABLE)
def test_a_preset_says_what_it_is_and_where_it_loads(name):
    for sentence in (PRESETS[name].summary, PRESETS[name].portable):
        assert sentence.endswith(".")
        assert len(sentence) > 20


@pytest.mark.parametrize("name", TABLE)
def test_presets_are_read_in_any_case_with_either_dash(name):
    spelled = name.upper().replace("-", "_")
    assert PRESETS[spelled] is PRESETS[name] is resolve(spelled).preset
    assert spelled in PRESETS
    assert QuantScheme.parse(spelled) == PRESETS[name].scheme


def test_burns_own_preset_is_burns():
    assert PRESETS["nvfp4"].scheme == QuantScheme.nvfp4()


def test_presets_are_values():
    for preset in PRESETS.values():
        assert pickle.loads(pickle.dumps(preset)) == copy.deepcopy(preset) == preset
        assert hash(pickle.loads(pickle.dumps(preset))) == hash(preset)


def test_an_unknown_preset_is_a_documented_error_and_is_not_contained():
    with pytest.raises(
        errors.InvalidSchemeError, match="unknown preset 'nf5', expected one of: burn-default"
    ) as caught:
        PRESETS["nf5"]
    assert caught.value.code == "unknown-name"
    assert "nf5" not in PRESETS
    assert 5 not in PRESETS
    assert PRESETS.get("nf5") is None
    assert PRESETS.get("nf5", 3) == 3
    assert PRESETS.get("NF4") is PRESETS["nf4"]


def test_the_codebooks_that_presets_imply_exist():
    assert {p.codebook for p in PRESETS.values() if p.codebook} <= set(TABLE_NAMES)


@pytest.mark.parametrize(
    ("given", "preset", "hint"),
    [
        ("nf4", "nf4", "nf4"),
        ("q4f/lookup:iq4_nl/b32:f16", None, "iq4-nl"),
        ("q4f/lookup/b32:f16", None, None),
        ("int8", "int8", None),
        ("int8/u32", None, None),
        (QuantScheme.nvfp4(), None, None),
        (PRESETS["fp4-bnb"], "fp4-bnb", "fp4-bnb"),
    ],
)
def test_a_scheme_argument_resolves_to_all_that_came_with_it(given, preset, hint):
    found = resolve(given)
    assert (found.preset.name if found.preset else None, found.table_hint) == (preset, hint)
    assert resolve(found) is found


@pytest.mark.parametrize("wrong", [None, 4, b"q4s", ["q4s"]])
def test_anything_else_is_the_wrong_type_of_argument(wrong):
    with pytest.raises(
        errors.DTypeError, match="scheme must be a QuantScheme, its text or the name of a preset"
    ):
        resolve(wrong)


def test_schemes_need_no_numpy_and_codebooks_bring_it():
    code = (
        "import sys; from qcore.scheme import QuantScheme, PRESETS, resolve; import qcore.layout.packing as p; "
        "s = QuantScheme.parse('nf4'); s.to_dict(); s.to_rust(); s.debug(); p.quantized_data_len(s, (3, 5)); "
        "before = 'numpy' in sys.modules; from qcore.scheme import Codebook; print(before, 'numpy' in sys.modules)"
    )
    assert source.in_fresh_python(code) == "False True"


def test_an_unknown_attribute_of_the_package_is_pythons_own_error():
    import qcore.scheme

    with pytest.raises(AttributeError, match="nothing_here"):
        _ = qcore.scheme.nothing_here
