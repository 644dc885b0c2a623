import numpy as np

def kth(
    x: np.ndarray, ranks: np.ndarray, grid: np.ndarray, geometry: bytes, first: int, last: int
) -> None: ...
def histogram(
    x: np.ndarray,
    counts: np.ndarray,
    block: int,
    shift: int,
    prefix: int,
    geometry: bytes,
    first: int,
    last: int,
) -> None: ...
