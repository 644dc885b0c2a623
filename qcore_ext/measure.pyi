import numpy as np

def peaks(
    x: np.ndarray,
    grid: np.ndarray,
    finite: bool,
    geometry: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> None: ...
def nonfinite(
    x: np.ndarray, geometry: bytes, first: int, last: int, step: int = 0, threads: int = 1
) -> tuple[int, int]: ...
