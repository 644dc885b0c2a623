"""What a device is, and whether its arithmetic gives the bits of the processor: plain numbers that cross processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Self

GPU, CPU, OTHER = "gpu", "cpu", "accelerator"

_CPU_RUN: Final = 4096
_GPU_RUN: Final = 2048
_GPU_LANES: Final = 8
_GROUP: Final = 64


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """One device, as its driver describes it."""

    platform: int
    device: int
    platform_name: str
    name: str
    vendor: str
    version: str
    driver: str
    kind: str
    compute_units: int
    memory: int
    max_alloc: int
    local_memory: int
    max_group: int
    unified: bool
    little_endian: bool
    denormals: bool
    divides_right: bool
    fp16: bool
    fp64: bool

    @property
    def spelled(self) -> str:
        """How a call names this device.

        Examples
        --------
        >>> facts = DeviceFacts(0, 1, "P", "D", "V", "", "", CPU, 1, 1, 1, 1, 1, True, True, True, True, False, False)
        >>> facts.spelled, facts.bit_exact
        ('opencl:0:1', True)
        """
        return f"opencl:{self.platform}:{self.device}"

    @property
    def bit_exact(self) -> bool:
        """Whether every code, scale and decoded float equals the processor's."""
        return self.denormals

    @property
    def reason(self) -> str:
        """Why the device is bit-exact, or why it is not."""
        if not self.denormals:
            return "the device flushes float32 denormals to zero: results below 2^-126 become 0"
        if self.divides_right:
            return "denormals kept, division correctly rounded by build option"
        return "denormals kept, division corrected in whole numbers"

    @property
    def lanes(self) -> int:
        """Neighbouring items that share a run, so that a GPU's loads lie side by side."""
        return 1 if self.kind == CPU else _GPU_LANES

    @property
    def run(self) -> int:
        """Elements of a run at most (benchmarks/opencl.py measures the choice)."""
        return _CPU_RUN if self.kind == CPU else _GPU_RUN

    @property
    def group(self) -> int:
        """Items of a work-group: a power of two the device takes."""
        return min(_GROUP, 1 << (max(self.max_group, 1).bit_length() - 1))

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain words and numbers."""
        return asdict(self)

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Self:
        """The facts that :meth:`to_dict` wrote."""
        return cls(**{field.name: found[field.name] for field in fields(cls)})


def read_facts(device: Any, platform_index: int, device_index: int) -> DeviceFacts:
    """Ask a ``pyopencl.Device``."""
    import pyopencl as cl

    config = device.single_fp_config
    kinds = cl.device_type
    kind = GPU if device.type & kinds.GPU else CPU if device.type & kinds.CPU else OTHER
    extensions = device.extensions.split()
    return DeviceFacts(
        platform=platform_index,
        device=device_index,
        platform_name=device.platform.name.strip(),
        name=device.name.strip(),
        vendor=device.vendor.strip(),
        version=device.version.strip(),
        driver=device.driver_version.strip(),
        kind=kind,
        compute_units=int(device.max_compute_units),
        memory=int(device.global_mem_size),
        max_alloc=int(device.max_mem_alloc_size),
        local_memory=int(device.local_mem_size),
        max_group=int(device.max_work_group_size),
        unified=bool(device.host_unified_memory),
        little_endian=bool(device.endian_little),
        denormals=bool(config & cl.device_fp_config.DENORM),
        divides_right=bool(config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT),
        fp16="cl_khr_fp16" in extensions,
        fp64="cl_khr_fp64" in extensions,
    )
