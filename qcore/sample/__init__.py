"""Small real weights that ship with the package: for ``qcore demo``, the examples and a first try.

The arrays are unmodified weights of published models and keep their own licences (``licenses/`` beside them).
Loading them needs NumPy, listing them does not.

Examples
--------
>>> from qcore import sample
>>> [s.name for s in sample.SAMPLES]
['minilm_l0_query', 'silero_conv1']
>>> sample.load("minilm_l0_query").shape
(384, 384)
"""

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from qcore import errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SAMPLES", "Sample", "load"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One shipped array: its name, file, origin and licence."""

    name: str
    file: str
    shape: tuple[int, ...]
    what: str
    source: str
    licence: str


SAMPLES = (
    Sample(
        name="minilm_l0_query",
        file="minilm_l0_query_384x384.npy",
        shape=(384, 384),
        what="attention projection, well behaved",
        source="sentence-transformers/all-MiniLM-L6-v2, encoder.layer.0.attention.self.query.weight",
        licence="Apache-2.0",
    ),
    Sample(
        name="silero_conv1",
        file="silero_conv1_128x129x3.npy",
        shape=(128, 129, 3),
        what="3-D convolution, odd inner dimensions, one outlier of 39 standard deviations",
        source="silero-vad 6.2.3, conv1.weight",
        licence="MIT",
    ),
)


def load(name: str) -> "NDArray[np.float32]":
    """Return a shipped array as float32.

    Parameters
    ----------
    name : str
        A name of `SAMPLES`.

    Returns
    -------
    numpy.ndarray
        A fresh, writable array.

    Raises
    ------
    InvalidSchemeError
        ``unknown-name``: there is no such sample.

    Examples
    --------
    >>> load("silero_conv1").dtype
    dtype('float32')
    """
    import numpy as np

    for sample in SAMPLES:
        if sample.name == name:
            with as_file(files(__name__).joinpath(sample.file)) as path:
                array: NDArray[np.float32] = np.load(path, allow_pickle=False)
            return array
    raise errors.build("unknown-name", kind="sample", name=name, choices=tuple(s.name for s in SAMPLES))
