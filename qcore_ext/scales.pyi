import numpy as np

def solve(
    peaks: np.ndarray, whole: float, stored: np.ndarray, scale: bytes, first: int, last: int
) -> None: ...
