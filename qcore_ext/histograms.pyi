import numpy as np

def magnitudes(
    x: np.ndarray,
    bins: np.ndarray,
    block: int,
    shift: int,
    prefix: int,
    chunks: int,
    geometry: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> None: ...
def distances(
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
    step: int = 0,
    threads: int = 1,
) -> None: ...
