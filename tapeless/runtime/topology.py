"""The one device: the CPU, with all its cores."""

from __future__ import annotations

from typing import Any

__all__ = ["CpuDevice", "cpu_device"]


class CpuDevice:
    """The CPU, with all its cores."""

    __slots__ = ()
    id = 0
    platform = "cpu"
    device_kind = "cpu"
    process_index = 0
    host_id = 0
    local_hardware_id = 0

    def __repr__(self) -> str:
        """Return JAX's form."""
        return "CpuDevice(id=0)"

    def __str__(self) -> str:
        """Return JAX's short form."""
        return "TFRT_CPU_0"

    def __reduce__(self) -> str:
        """Pickle as the one device."""
        return "cpu_device"

    @property
    def client(self) -> Any:
        """The run time that owns it: here the device itself, which knows its platform."""
        return self

    def memory_stats(self) -> None:
        """Return None: the CPU has no memory of its own."""


cpu_device = CpuDevice()
