import numpy as np

def minmax(
    x: np.ndarray,
    scales: np.ndarray,
    values: np.ndarray,
    geometry: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> bool: ...
