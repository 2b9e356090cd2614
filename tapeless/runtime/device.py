"""The one device, the CPU, and what programs written for many may ask about it."""

from __future__ import annotations

from typing import Any

from tapeless.runtime.array import Array, as_array
from tapeless.tree.flatten import tree_leaves
from tapeless.tree.maps import tree_map

__all__ = [
    "CpuDevice",
    "block_until_ready",
    "cpu_device",
    "default_backend",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
]


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

    def memory_stats(self) -> None:
        """Return None: the CPU has no memory of its own."""


cpu_device = CpuDevice()


def devices(backend: str | None = None) -> list[CpuDevice]:
    """Return the devices.

    >>> devices()
    [CpuDevice(id=0)]
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(
            f"Unknown backend: '{backend}' requested, but no platforms that are instances of "
            f"{backend} are present. Available: cpu."
        )
    return [cpu_device]


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[CpuDevice]:
    """Return the devices of this process."""
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """Return 1."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Return 1."""
    return len(devices(backend))


def process_index(backend: str | None = None) -> int:
    """Return 0: there is one process."""
    return 0


def process_count(backend: str | None = None) -> int:
    """Return 1."""
    return 1


def default_backend() -> str:
    """Return "cpu"."""
    return "cpu"


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: bool = False, may_alias: Any = None
) -> Any:
    """Return the tree `x` with Arrays for leaves; arrays from NumPy are copied.

    device: accepted where it names this device.

    >>> import numpy as np
    >>> device_put(np.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    return tree_map(_on_device, x)


def _on_device(x: Any) -> Any:
    """Return one leaf as an Array; a tracer stays what it is."""
    return x if hasattr(x, "aval") else as_array(x)


def device_get(x: Any) -> Any:
    """Return the tree `x` with NumPy arrays for leaves.

    >>> device_get(device_put([1.0, 2.0]))
    [array(1., dtype=float32), array(2., dtype=float32)]
    """
    return tree_map(lambda leaf: leaf.__array__() if hasattr(leaf, "__array__") else leaf, x)


def block_until_ready(x: Any) -> Any:
    """Return `x` when all its arrays are computed: at once, since execution is synchronous."""
    for leaf in tree_leaves(x):
        if isinstance(leaf, Array):
            leaf.block_until_ready()
    return x
