"""The cpu backend: adapters that turn plans into calls of the compiled kernels, in threads."""

from __future__ import annotations

from qcore.backends.cpu.engine import Cpu, open_backend

__all__ = ["Cpu", "open_backend"]
