import copy
import pickle

import pytest
from any_scheme import stores
from hypothesis import given

from qcore import errors
from qcore.scheme import QuantMode, QuantStore


@pytest.mark.parametrize(
    ("store", "debug", "text", "dim"),
    [
        (QuantStore.native(), "Native", "native", None),
        (QuantStore.packed_u32(), "PackedU32(0)", "u32", 0),
        (QuantStore.packed_u32(2), "PackedU32(2)", "u32:2", 2),
        (QuantStore.packed_native(), "PackedNative(0)", "packed", 0),
        (QuantStore.packed_native(1), "PackedNative(1)", "packed:1", 1),
    ],
)
def test_a_store_prints_as_burn_does_and_as_texts_do(store, debug, text, dim):
    assert (store.debug(), str(store), store.packing_dim) == (debug, text, dim)
    assert QuantStore.parse(text) == QuantStore.parse(debug) == QuantStore.parse(text.upper()) == store


@given(stores)
def test_every_store_is_read_back_from_all_its_texts(store):
    assert QuantStore.parse(str(store)) == QuantStore.parse(store.debug()) == eval(repr(store)) == store
    assert pickle.loads(pickle.dumps(store)) == copy.deepcopy(store) == store
    assert hash(copy.copy(store)) == hash(store)


def test_a_store_cannot_be_changed_once_made():
    with pytest.raises(AttributeError):
        QuantStore.native().dim = 1


@pytest.mark.parametrize(
    "wrong", ["", "u16", "u32:", "u32:-1", "u32:x", "u32:1:2", "nativ", 3, None, [], "u32:٣"]
)
def test_what_names_no_store_is_a_documented_error(wrong):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        QuantStore.parse(wrong)
    assert caught.value.code == "unknown-name"


@pytest.mark.parametrize("dim", [-1, 256, True, 1.0, "1", None, "huge"])
def test_a_packing_dim_is_a_small_whole_number(dim):
    with pytest.raises(errors.InvalidSchemeError) as caught:
        QuantStore.packed_u32(10**5000 if dim == "huge" else dim)
    assert caught.value.code == "option-value"


@pytest.mark.parametrize(
    "make", [lambda: QuantStore("native", 1), lambda: QuantStore.parse("native:1"), lambda: QuantStore([])]
)
def test_native_takes_no_dim_and_a_store_needs_a_kind(make):
    with pytest.raises(errors.InvalidSchemeError):
        make()


def test_modes_have_names_in_any_case():
    assert QuantMode("LOOKUP") is QuantMode("codebook") is QuantMode.LOOKUP
    assert QuantMode("Symmetric").debug() == "Symmetric"
    assert eval(repr(QuantMode.LOOKUP)) is pickle.loads(pickle.dumps(QuantMode.LOOKUP)) is QuantMode.LOOKUP
    with pytest.raises(
        errors.InvalidSchemeError, match="unknown mode 'affine', expected one of: symmetric, lookup"
    ):
        QuantMode("affine")
