import numpy as np

def kth(
    x: np.ndarray,
    ranks: np.ndarray,
    grid: np.ndarray,
    geometry: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> None: ...
