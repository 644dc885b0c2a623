import numpy as np

def magnitudes(
    x: np.ndarray,
    totals: np.ndarray,
    counts: np.ndarray,
    chunks: int,
    geometry: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> None: ...
