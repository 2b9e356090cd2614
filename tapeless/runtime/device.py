"""The one device, the CPU, and what programs written for many may ask about it."""

from __future__ import annotations

from typing import Any

from tapeless import dtypes
from tapeless.core.aval import typeof
from tapeless.core.trace import Tracer, current_trace
from tapeless.runtime.array import Array, as_array
from tapeless.runtime.sharding import NamedSharding, PartitionSpec, Sharding, get_mesh
from tapeless.runtime.topology import CpuDevice, cpu_device
from tapeless.tree.flatten import tree_flatten, tree_leaves, tree_unflatten
from tapeless.tree.maps import tree_map
from tapeless.tree.prefix import flatten_axes

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
    "process_indices",
    "copy_to_host_async",
]


def devices(backend: str | None = None) -> list[CpuDevice]:
    """Return the devices.

    >>> devices()
    [CpuDevice(id=0)]
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(
            f"Unknown backend: '{backend}' requested, but no platforms that are instances of "
            f"{backend} are present. Platforms present are: cpu"
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


def process_indices(backend: str | None = None) -> list[int]:
    """Return the numbers of all processes: 0."""
    return [0]


def default_backend() -> str:
    """Return "cpu"."""
    return "cpu"


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: bool = False, may_alias: Any = None
) -> Any:
    """Return the tree `x` with Arrays for leaves; arrays from NumPy are copied.

    device: the device, a sharding or spec, or a tree of these that is a prefix of `x`; an array
    that is put on a sharding has that sharding.

    >>> import numpy as np
    >>> device_put(np.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    leaves, tree = tree_flatten(x)
    places = flatten_axes("device_put device", tree, device)
    return tree_unflatten(tree, map(_on_device, leaves, places))


def _on_device(x: Any, place: Any) -> Any:
    """Return one leaf as an Array; a tracer stays what it is."""
    place = _checked_place(place, x)
    if isinstance(x, Tracer):
        return x
    array = as_array(x)
    if place is not None and (array is x or not isinstance(place, CpuDevice)):
        array = array.placed(place if isinstance(place, Sharding) else None)
    return current_trace().constant(array)


def _checked_place(place: Any, x: Any) -> Any:
    """Return where a leaf is to go, a bare spec with the current mesh; refuse what is no place."""
    if isinstance(place, PartitionSpec):
        place = NamedSharding(get_mesh(), place)
    if isinstance(place, Sharding):
        try:
            place.check_rank(typeof(x).ndim)
        except ValueError as error:
            raise ValueError(
                "One of device_put args is incompatible with its sharding annotation "
                f"{place}: {error}"
            ) from None
    elif place is not None and not isinstance(place, CpuDevice) and not hasattr(place, "sharding"):
        raise ValueError(
            "device_put device must be a Device, Sharding, Format, PartitionSpec or None; got "
            f"{place!r} of type {type(place)}"
        )
    return place


def device_get(x: Any) -> Any:
    """Return the tree `x` with NumPy arrays for leaves; keys, unknown to NumPy, stay.

    >>> device_get(device_put([1.0, 2.0]))
    [array(1., dtype=float32), array(2., dtype=float32)]
    """
    return tree_map(_on_host, x)


def _on_host(leaf: Any) -> Any:
    """Return the NumPy form of an array of numbers; anything else as it is."""
    if isinstance(leaf, Array) and isinstance(leaf.dtype, dtypes.ExtendedDtype):
        return leaf
    return leaf.__array__() if hasattr(leaf, "__array__") else leaf


def block_until_ready(x: Any) -> Any:
    """Return `x` when all its arrays are computed: at once, since execution is synchronous."""
    for leaf in tree_leaves(x):
        if isinstance(leaf, Array):
            leaf.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Return `x`: its memory is the host's."""
    return x
