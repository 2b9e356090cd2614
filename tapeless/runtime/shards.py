"""Arrays made of parts, one a device: here each array is one part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.runtime.array import Array, as_array
from tapeless.runtime.sharding import Sharding
from tapeless.runtime.topology import CpuDevice, cpu_device

__all__ = [
    "Shard",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
]


class Shard:
    """The part of an array on one device: `data`, and where it belongs, `index`."""

    replica_id = 0

    def __init__(self, array: Array) -> None:
        """array: the whole."""
        self.data = array

    @property
    def device(self) -> CpuDevice:
        """The device that holds it."""
        return cpu_device

    @property
    def index(self) -> tuple[slice, ...]:
        """Which part of the whole it is: all."""
        return (slice(None),) * self.data.ndim

    def __repr__(self) -> str:
        """Return JAX's form."""
        return f"Shard(device={self.device!r}, index={self.index}, replica_id=0, data={self.data})"


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding,
    data_callback: Callable[[tuple[slice, ...]], Any],
    dtype: Any = None,
) -> Array:
    """Return the array whose parts are what `data_callback` returns for their indices."""
    sharding.check_rank(len(shape))
    value = np.asarray(data_callback((slice(None),) * len(shape)), dtype)
    if value.shape != tuple(shape):
        raise ValueError(
            f"data_callback returned shape {value.shape}, but {tuple(shape)} is wanted"
        )
    return as_array(value).placed(sharding)


def make_array_from_process_local_data(
    sharding: Sharding, local_data: Any, global_shape: Sequence[int] | None = None
) -> Array:
    """Return the array whose part in this process, which is all of it, is `local_data`."""
    value = np.asarray(local_data)
    shape = value.shape if global_shape is None else tuple(global_shape)
    return make_array_from_callback(shape, sharding, lambda index: value)


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Sharding, arrays: Sequence[Array], *, dtype: Any = None
) -> Array:
    """Return the array of which `arrays`, here one, are the parts."""
    if len(arrays) != 1:
        raise ValueError(f"one array per device is wanted, which is 1; got {len(arrays)}")
    return make_array_from_callback(shape, sharding, lambda index: arrays[0], dtype)
