"""The devices: the CPU with all its cores, or several names for it.

There is one CPU, and one memory.  A program for many devices can be tried on it: while
`jax_num_cpu_devices` is n, or, as in JAX, XLA_FLAGS has `--xla_force_host_platform_device_count=n`,
there are n devices, each a name for that CPU.  What they hold is bookkeeping (`sharding.py`).
"""

from __future__ import annotations

import os
import re
from typing import Any

from tapeless import config

__all__ = ["CpuDevice", "cpu_device", "cpu_devices"]


class CpuDevice:
    """The CPU, with all its cores, under a number.

    >>> device = jax.devices()[0]
    >>> device.platform, device.id
    ('cpu', 0)
    """

    __slots__ = ("id",)
    platform = "cpu"
    device_kind = "cpu"
    process_index = 0
    host_id = 0

    def __init__(self, number: int) -> None:
        """number: which of the devices it is; there is one object for each."""
        self.id = number

    @property
    def local_hardware_id(self) -> int:
        """The number."""
        return self.id

    def __repr__(self) -> str:
        """Return JAX's form."""
        return f"CpuDevice(id={self.id})"

    def __str__(self) -> str:
        """Return JAX's short form."""
        return f"cpu:{self.id}"

    def __reduce__(self) -> tuple:
        """Pickle by number."""
        return (_device_numbered, (self.id,))

    @property
    def client(self) -> Any:
        """The run time that owns it: here the device itself, which knows its platform."""
        return self

    def memory_stats(self) -> None:
        """Return None: the CPU has no memory of its own."""


cpu_device = CpuDevice(0)
_made = [cpu_device]
_FORCED = re.compile(r"--xla_force_host_platform_device_count=(\d+)")


def _device_numbered(number: int) -> CpuDevice:
    """Return the device of this number."""
    while len(_made) <= number:
        _made.append(CpuDevice(len(_made)))
    return _made[number]


def cpu_devices() -> list[CpuDevice]:
    """Return the devices: one, unless more are declared."""
    count = config.current.jax_num_cpu_devices
    if count < 1:
        forced = _FORCED.findall(os.environ.get("XLA_FLAGS", ""))
        count = int(forced[-1]) if forced else 1
    return [_device_numbered(number) for number in range(max(count, 1))]
