import numpy as np

def errors(
    x: np.ndarray,
    values: np.ndarray,
    scales: np.ndarray,
    whole: float,
    totals: np.ndarray,
    counts: np.ndarray,
    chunks: int,
    geometry: bytes,
    codec: bytes,
    scale: bytes,
    first: int,
    last: int,
) -> tuple[int, int, int]: ...
def histogram(
    x: np.ndarray,
    values: np.ndarray,
    scales: np.ndarray,
    whole: float,
    bins: np.ndarray,
    shift: int,
    prefix: int,
    chunks: int,
    geometry: bytes,
    codec: bytes,
    scale: bytes,
    first: int,
    last: int,
) -> None: ...
