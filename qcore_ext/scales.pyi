import numpy as np

def solve(
    peaks: np.ndarray,
    whole: float,
    stored: np.ndarray,
    scale: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> None: ...
