"""Every scheme that can be built and every JSON value, for Hypothesis; and refusals as values."""

from hypothesis import strategies as st

from qcore import errors
from qcore.scheme import BlockScale, BlockSize, QuantMode, QuantScheme, QuantStore, QuantValue, ScaleDtype

extents = st.lists(st.integers(1, 255), max_size=5)
block_sizes = st.builds(BlockSize, extents)
stores = st.one_of(
    st.just(QuantStore.native()),
    st.builds(QuantStore.packed_u32, st.integers(0, 5)),
    st.builds(QuantStore.packed_native, st.integers(0, 5)),
)
schemes = st.builds(
    QuantScheme,
    st.sampled_from(QuantValue),
    stores,
    st.sampled_from(QuantMode),
    st.none() | st.sampled_from(ScaleDtype),
    st.none() | st.builds(BlockScale, block_sizes, st.sampled_from(ScaleDtype)),
)

_numbers = st.integers() | st.floats() | st.integers(10**30, 10**40)
json_values = st.recursive(
    st.none() | st.booleans() | _numbers | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def refusal(call, *arguments):
    """Return the documented error that a call raises, or None; any other error is the test's."""
    try:
        call(*arguments)
    except errors.QuantError as error:
        return error
    return None
