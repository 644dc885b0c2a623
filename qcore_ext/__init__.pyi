from types import ModuleType

from qcore_ext import (
    compare as compare,
)
from qcore_ext import (
    cpu as cpu,
)
from qcore_ext import (
    decode as decode,
)
from qcore_ext import (
    encode as encode,
)
from qcore_ext import (
    ggml as ggml,
)
from qcore_ext import (
    histograms as histograms,
)
from qcore_ext import (
    measure as measure,
)
from qcore_ext import (
    numbers as numbers,
)
from qcore_ext import (
    packing as packing,
)
from qcore_ext import (
    quantize as quantize,
)
from qcore_ext import (
    ranks as ranks,
)
from qcore_ext import (
    scales as scales,
)
from qcore_ext import (
    search as search,
)
from qcore_ext import (
    sums as sums,
)

KERNELS: tuple[str, ...]

def available_levels() -> tuple[str, ...]: ...
def level() -> str: ...
def load(kernel: str, at: str) -> ModuleType: ...
