import numpy as np

def search(
    x: np.ndarray,
    peaks: np.ndarray,
    whole: float,
    errors: np.ndarray,
    winners: np.ndarray,
    chunks: int,
    geometry: bytes,
    codec: bytes,
    scale: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> None: ...
