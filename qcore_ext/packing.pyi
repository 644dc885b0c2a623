import numpy as np

def pack(
    codes: np.ndarray,
    values: np.ndarray,
    geometry: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> None: ...
def unpack(
    values: np.ndarray,
    codes: np.ndarray,
    sign: int,
    geometry: bytes,
    first: int,
    last: int,
    step: int = 0,
    threads: int = 1,
) -> None: ...
