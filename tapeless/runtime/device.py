"""The devices, which are names for the CPU, and what programs may ask about them."""

from __future__ import annotations

from typing import Any

from tapeless import dtypes
from tapeless.core.aval import typeof
from tapeless.core.trace import Tracer, current_trace, leaked, trace_state_clean
from tapeless.runtime.array import Array, as_array
from tapeless.runtime.meshes import get_mesh, mesh_for
from tapeless.runtime.sharding import (
    IndivisibleError,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
)
from tapeless.runtime.topology import CpuDevice, cpu_device, cpu_devices
from tapeless.tree.flatten import tree_flatten, tree_leaves, tree_unflatten
from tapeless.tree.maps import tree_map
from tapeless.tree.prefix import flatten_axes

__all__ = [
    "CpuDevice",
    "block_until_ready",
    "check_arguments",
    "checked_place",
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
    return cpu_devices()


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[CpuDevice]:
    """Return the devices of this process.

    >>> jax.local_devices()
    [CpuDevice(id=0)]
    """
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """Return the number of devices: 1, unless more are declared.

    >>> jax.device_count()
    1
    """
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Return the number of devices of this process: all.

    >>> jax.local_device_count()
    1
    """
    return len(devices(backend))


def process_index(backend: str | None = None) -> int:
    """Return 0: there is one process.

    >>> jax.process_index()
    0
    """
    return 0


def process_count(backend: str | None = None) -> int:
    """Return 1.

    >>> jax.process_count()
    1
    """
    return 1


def process_indices(backend: str | None = None) -> list[int]:
    """Return the numbers of all processes: 0.

    >>> jax.process_indices()
    [0]
    """
    return [0]


def default_backend() -> str:
    """Return "cpu".

    >>> jax.default_backend()
    'cpu'
    """
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
    place = checked_place(place, x)
    if isinstance(x, Tracer):
        if trace_state_clean():
            raise leaked(x)
        return x
    array = as_array(x)
    if isinstance(place, CpuDevice):
        place = SingleDeviceSharding(place)
    if place is not None:
        sharding = place if isinstance(place, Sharding) else None
        array = array.placed(sharding) if array is x else array.noted(sharding)
    return current_trace().constant(array)


def checked_place(
    place: Any, x: Any, what: str = "device_put args", *, is_even: bool = True
) -> Any:
    """Return where a leaf is to go, a bare spec with the current mesh; refuse what is no place.

    what: what the leaf is one of, for messages.  is_even: refuse parts of unequal sizes.
    """
    if isinstance(place, PartitionSpec):
        if get_mesh().empty:
            raise ValueError(
                "Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to device_put; "
                f"got {place}"
            )
        place = NamedSharding(get_mesh(), place)
    if isinstance(place, Sharding):
        shape = typeof(x).shape
        try:
            place.check_rank(len(shape))
        except ValueError as error:
            raise ValueError(
                f"One of {what} is incompatible with its sharding annotation {place}: {error}"
            ) from None
        try:
            place.shard_shape(shape if is_even else ())
        except IndivisibleError as error:
            raise IndivisibleError(f"One of {what} was given the sharding {error}") from None
    elif place is not None and not isinstance(place, CpuDevice) and not hasattr(place, "sharding"):
        raise ValueError(
            "device_put device must be a Device, Sharding, Format, PartitionSpec or None; got "
            f"{place!r} of type {type(place)}"
        )
    return place


def check_arguments(args: tuple, kwargs: dict, shardings: Any) -> None:
    """Refuse arguments of a compiled function that do not lie where its `in_shardings` say.

    args: those that are not static.
    """
    if kwargs:
        raise ValueError(
            "pjit does not support kwargs when in_shardings is specified. Got kwargs "
            f"{sorted(kwargs)}: pass them by position"
        )
    for place in tree_leaves(shardings):
        if not isinstance(place, (Sharding, PartitionSpec)) and not hasattr(place, "sharding"):
            raise TypeError(
                "in_shardings leaf specifications are expected to be PartitionSpec instances or "
                f"None, but got {place}"
            )
    if isinstance(shardings, (tuple, list)) and len(shardings) != len(args):
        raise ValueError(
            "pjit in_shardings specification must be a tree prefix of the positional arguments "
            "tuple. In particular, pjit in_shardings must either be a Sharding, a PartitionSpec, "
            "or a tuple of length equal to the number of positional arguments. But pjit "
            f"in_shardings is the wrong length: got a tuple or list of length {len(shardings)} "
            f"for an args tuple of length {len(args)}."
        )
    leaves, tree = tree_flatten(args)
    places = flatten_axes("pjit in_shardings", tree, shardings)
    for x, place in zip(leaves, places, strict=True):
        if isinstance(place, PartitionSpec):
            place = NamedSharding(mesh_for("jit", "in_shardings"), place)
        place = checked_place(place, x, "pjit arguments")
        if not isinstance(place, Sharding) or not isinstance(x, Array) or not x.committed:
            continue
        if not place.is_equivalent_to(x.sharding, x.ndim):
            raise ValueError(
                "Sharding passed to jit does not match the sharding on the respective arg. Got "
                f"jit sharding: {place},\narg sharding: {x.sharding} for arg type: "
                f"{x.aval.str_short(False)}"
            )


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
    """Return `x` when all its arrays are computed: at once, since execution is synchronous.

    >>> jax.block_until_ready(jnp.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    for leaf in tree_leaves(x):
        if isinstance(leaf, Array):
            leaf.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Return `x`: its memory is the host's.

    >>> jax.copy_to_host_async(jnp.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    return x
