"""Arrays made of parts, one a device: the array is whole, and its parts are copied out of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.runtime.array import Array, array_of, as_array
from tapeless.runtime.sharding import Index, Sharding, SingleDeviceSharding
from tapeless.runtime.topology import CpuDevice

__all__ = [
    "Shard",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "shards_of",
]


class Shard:
    """The part of an array on one device: `data`, and where it belongs, `index`.

    replica_id: how many devices before this one hold the same part.

    >>> (shard,) = jnp.arange(3).addressable_shards
    >>> shard.index, shard.data, shard.replica_id
    ((slice(None, None, None),), Array([0, 1, 2], dtype=int32), 0)
    """

    def __init__(self, array: Array, device: CpuDevice, index: Index, replica_id: int) -> None:
        """array: the whole."""
        self._array = array
        self.device, self.index, self.replica_id = device, index, replica_id

    @functools.cached_property
    def data(self) -> Array:
        """The part, as an array on the device."""
        whole, place = self._array, SingleDeviceSharding(self.device)
        if all(part == slice(None) for part in self.index):
            return whole.noted(place)
        part = whole.numpy_view()[self.index]
        return array_of(part, whole.aval.update(shape=part.shape[: whole.ndim])).noted(place)

    def __repr__(self) -> str:
        """Return JAX's form."""
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def shards_of(array: Array) -> list[Shard]:
    """Return the parts of an array, one a device.

    >>> len(shards_of(jnp.arange(3)))
    1
    """
    found, seen = [], []
    for device, index in array.sharding.devices_indices_map(array.shape).items():
        found.append(Shard(array, device, index, seen.count(index)))
        seen.append(index)
    return found


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding,
    data_callback: Callable[[Index], Any],
    dtype: Any = None,
) -> Array:
    """Return the array whose parts are what `data_callback` returns for their indices.

    >>> from tapeless.runtime.meshes import make_mesh
    >>> from tapeless.runtime.sharding import NamedSharding, PartitionSpec
    >>> sharding = NamedSharding(make_mesh((1,), ("x",)), PartitionSpec("x"))
    >>> make_array_from_callback((3,), sharding, lambda index: np.arange(3)[index])
    Array([0, 1, 2], dtype=int32)
    """
    sharding.check_rank(len(shape))
    places = sharding.devices_indices_map(shape)
    parts = [np.asarray(data_callback(index), dtype) for index in places.values()]
    return _joined(shape, sharding, parts)


def _joined(shape: Sequence[int], sharding: Sharding, parts: Sequence[np.ndarray]) -> Array:
    """Return the array of its parts, which are in the order of the devices."""
    wanted = sharding.shard_shape(shape)
    for part in parts:
        if part.shape != wanted:
            raise ValueError(
                f"a part of shape {wanted} is wanted for an array of shape {tuple(shape)} on "
                f"{sharding}; got one of shape {part.shape}"
            )
    whole = np.empty(shape, parts[0].dtype)
    for index, part in zip(sharding.devices_indices_map(shape).values(), parts, strict=True):
        whole[index] = part
    return as_array(whole).noted(sharding)


def make_array_from_process_local_data(
    sharding: Sharding, local_data: Any, global_shape: Sequence[int] | None = None
) -> Array:
    """Return the array whose part in this process, which is all of it, is `local_data`.

    >>> sharding = jax.NamedSharding(jax.make_mesh((1,), ("x",)), jax.P("x"))
    >>> make_array_from_process_local_data(sharding, np.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    value = np.asarray(local_data)
    shape = value.shape if global_shape is None else tuple(global_shape)
    if value.shape != shape:
        raise ValueError(f"data of shape {shape} is wanted; got shape {value.shape}")
    return make_array_from_callback(shape, sharding, lambda index: value[index])


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Sharding, arrays: Sequence[Array], *, dtype: Any = None
) -> Array:
    """Return the array of which `arrays` are the parts, each on one of the sharding's devices.

    >>> sharding = jax.NamedSharding(jax.make_mesh((1,), ("x",)), jax.P("x"))
    >>> make_array_from_single_device_arrays((3,), sharding, [jnp.arange(3)])
    Array([0, 1, 2], dtype=int32)
    """
    held = {device: array for array in arrays for device in array.sharding.device_set}
    if len(arrays) != sharding.num_devices or held.keys() != sharding.device_set:
        raise ValueError(
            f"one array on each of {sharding.num_devices} devices is wanted; got {len(arrays)} on "
            f"{len(held)}: put each on its own, with `jax.device_put(part, device)`"
        )
    places = sharding.devices_indices_map(shape)
    return _joined(shape, sharding, [np.asarray(held[device], dtype) for device in places])
