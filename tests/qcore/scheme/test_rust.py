import pytest
from any_scheme import schemes
from hypothesis import given
from hypothesis import strategies as st

from qcore import errors
from qcore.scheme import QuantScheme
from qcore.scheme.rust import BURN_VERSIONS

CODE = {
    ("q8f/u32", "head"): """
        .with_value(QuantValue::Q8F)
        .with_store(QuantStore::PackedU32(0))""",
    ("e2m1/packed/b16:ue4m3/t:f32", "head"): """
        .with_value(QuantValue::E2M1)
        .with_store(QuantStore::PackedNative(0))
        .per_block([16], ScaleDtype::UE4M3)
        .per_tensor(ScaleDtype::F32)""",
    ("q4f/u32:1/lookup/b2x16:f16", "HEAD"): """
        .with_value(QuantValue::Q4F)
        .with_store(QuantStore::PackedU32(1))
        .with_mode(QuantMode::Lookup)
        .per_block([2, 16], ScaleDtype::F16)""",
    ("q8s/native/b1:f32", "head"): """
        .with_value(QuantValue::Q8S)
        .with_store(QuantStore::Native)
        .per_block([1], ScaleDtype::F32)""",
    ("e2m1/packed/b16:ue4m3/t:f32", "0.22"): """
        .with_value(QuantValue::E2M1)
        .with_store(QuantStore::PackedNative(0))
        .with_level(QuantLevel::BlockTensor { block: BlockSize::new([16]), global: QuantParam::F32 })
        .with_param(QuantParam::UE4M3)""",
    ("q4s/u32/b32:f16", "0.22"): """
        .with_value(QuantValue::Q4S)
        .with_store(QuantStore::PackedU32(0))
        .with_level(QuantLevel::block([32]))
        .with_param(QuantParam::F16)""",
    ("q4s/u32:1", "0.21"): """
        .with_value(QuantValue::Q4S)
        .with_store(QuantStore::PackedU32(1))
        .with_level(QuantLevel::Tensor)
        .with_param(QuantParam::F32)""",
    ("q8s/native/t:bf16", "0.20"): """
        .with_value(QuantValue::Q8S)
        .with_store(QuantStore::Native)
        .with_level(QuantLevel::Tensor)
        .with_param(QuantParam::BF16)""",
    ("q4s/u32/b32:f32", "0.19"): """
        .with_value(QuantValue::Q4S)
        .with_store(QuantStore::U32)
        .with_level(QuantLevel::block([32]))
        .with_param(QuantParam::F32)""",
}


@pytest.mark.parametrize(("text", "burn"), CODE)
def test_the_code_builds_the_scheme_in_that_version(text, burn):
    code = QuantScheme.parse(text).to_rust(burn=burn)
    assert code == "QuantScheme::default()" + CODE[text, burn].replace("\n        ", "\n    ")


@pytest.mark.parametrize(
    ("text", "burn", "reason"),
    [
        ("q4f/u32/lookup", "0.22", "it has no lookup mode"),
        ("q4f/u32/lookup", "0.19", "it has no lookup mode"),
        ("q8s/b32:f16/t:f32", "0.21", "it has one level of scales, not two"),
        ("q8s/b32:f16/t:f32", "0.19", "it has one level of scales, not two"),
        ("q8s/u32:1", "0.19", "it has no store PackedU32(1), only Native and U32"),
        ("e2m1/packed", "0.19", "it has no store PackedNative(0), only Native and U32"),
    ],
)
def test_what_a_version_cannot_express_is_a_documented_error(text, burn, reason):
    with pytest.raises(errors.UnsupportedSchemeError) as caught:
        QuantScheme.parse(text).to_rust(burn)
    assert caught.value.code == "unsupported-scheme"
    assert str(caught.value).startswith(f"Burn {burn} has no form for QuantScheme {{")
    assert caught.value.params["reason"] == reason


def test_an_unknown_version_is_a_documented_error():
    with pytest.raises(
        errors.InvalidSchemeError, match=r"unknown Burn version '0\.18', expected one of: head, 0\.22"
    ):
        QuantScheme().to_rust("0.18")


@given(schemes, st.sampled_from(BURN_VERSIONS))
def test_every_scheme_has_code_or_a_documented_error(scheme, burn):
    try:
        code = scheme.to_rust(burn)
    except errors.UnsupportedSchemeError:
        assert burn != "head"
    else:
        assert code.startswith("QuantScheme::default()\n    .with_value(QuantValue::")
        assert code.count("(") == code.count(")")
