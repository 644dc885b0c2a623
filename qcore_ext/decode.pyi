import numpy as np

def decode(
    values: np.ndarray,
    scales: np.ndarray,
    whole: float,
    out: np.ndarray,
    geometry: bytes,
    codec: bytes,
    scale: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> None: ...
