"""Shardings: where the parts of an array are, for programs that are written for many devices.

All devices are names for one CPU (`topology.py`), so a sharding says nothing about memory here.
It is kept because programs ask for it and compare it: an array that was put on a `NamedSharding`
has that sharding, and the parts that it says.

    mesh       devices in a grid (`meshes.py`)
    spec       a `PartitionSpec`: per axis of an array the axis (or axes) of the mesh that divide it
    sharding   a mesh and a spec, or the one device
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapeless.runtime.meshes import AbstractMesh, Mesh
from tapeless.runtime.topology import CpuDevice, cpu_device

__all__ = [
    "Index",
    "IndivisibleError",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "make_single_device_sharding",
]


class PartitionSpec:
    """Per axis of an array: the axis of the mesh that divides it, a tuple of several, or None.

    >>> PartitionSpec("x", None, ("y", "z"))
    P('x', None, ('y', 'z'))
    """

    __slots__ = ("_partitions", "reduced", "unreduced", "unreduced_kind")
    UNCONSTRAINED = type("_Unconstrained", (), {"__repr__": lambda self: "UNCONSTRAINED"})()

    def __init__(
        self,
        *partitions: Any,
        unreduced: Iterable[Any] = frozenset(),
        reduced: Iterable[Any] = frozenset(),
        unreduced_kind: Any = None,
    ) -> None:
        """unreduced, reduced: names of axes over which the array is a sum, or is equal."""
        for what, names in (("unreduced", unreduced), ("reduced", reduced)):
            if not isinstance(names, (set, frozenset)):
                raise TypeError(
                    f"{what} argument of PartitionSpec should of type `frozenset` or `set`. Got "
                    f"type {type(names)}"
                )
        self._partitions = tuple(map(_entry, partitions))
        self.unreduced, self.reduced = frozenset(unreduced), frozenset(reduced)
        self.unreduced_kind = unreduced_kind

    def __iter__(self) -> Any:
        """Iterate over the entries."""
        return iter(self._partitions)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._partitions)

    def __getitem__(self, index: Any) -> Any:
        """Return an entry, or a tuple of entries."""
        return self._partitions[index]

    def index(self, value: Any) -> int:
        """Return the position of an entry."""
        return self._partitions.index(value)

    def __add__(self, other: Any) -> PartitionSpec:
        """Return the spec with further entries."""
        return PartitionSpec(*self, *other, unreduced=self.unreduced, reduced=self.reduced)

    def __radd__(self, other: tuple) -> PartitionSpec:
        """Return the spec with entries before it."""
        return PartitionSpec(*other, *self, unreduced=self.unreduced, reduced=self.reduced)

    def _key(self) -> tuple:
        """Return what makes specs equal."""
        return (self._partitions, self.unreduced, self.reduced)

    def __eq__(self, other: object) -> bool:
        """Compare with another spec."""
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        """Hash the entries."""
        return hash(self._key())

    def __reduce__(self) -> tuple:
        """Pickle by entries."""
        return (_spec_of, self._key())

    def __repr__(self) -> str:
        """Return JAX's form."""
        extra = []
        if self.unreduced:
            extra = [f"unreduced={set(self.unreduced)}", "unreduced_kind=sum"]
        extra += [f"reduced={set(self.reduced)}"] if self.reduced else []
        if not extra:
            return f"P{self._partitions}"
        return f"P({', '.join([*map(repr, self._partitions), *extra])})"


def _entry(entry: Any) -> Any:
    """Return an entry of a spec in its one form: a tuple only for several axes."""
    if not isinstance(entry, (list, tuple)):
        return entry
    return None if not entry else entry[0] if len(entry) == 1 else tuple(entry)


def _spec_of(partitions: tuple, unreduced: frozenset, reduced: frozenset) -> PartitionSpec:
    """Return the spec of these fields: the inverse of pickling."""
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def names_in(entry: Any) -> tuple[Any, ...]:
    """Return the axes of the mesh that an entry of a spec names."""
    if entry is None or entry is PartitionSpec.UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


Index = tuple[slice, ...]  # which part of an array: a slice per axis


class IndivisibleError(ValueError):
    """Raised for an axis of an array that a sharding does not divide into equal parts."""


class Sharding:
    """Where the parts of an array are.

    >>> sharding = jnp.ones((4, 2)).sharding
    >>> sharding.shard_shape((4, 2)), sharding.num_devices
    ((4, 2), 1)
    """

    memory_kind: str | None = "device"

    @property
    def device_set(self) -> set[CpuDevice]:
        """The devices."""
        return set(self.devices_indices_map(()))

    @property
    def addressable_devices(self) -> set[CpuDevice]:
        """The devices that this process reaches: all."""
        return self.device_set

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return 1

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the whole array."""
        return True

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process reaches all devices."""
        return True

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[CpuDevice, Index]:
        """Return which part each device holds: the whole."""
        return {cpu_device: (slice(None),) * len(global_shape)}

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict:
        """Return which part each device of this process holds."""
        return self.devices_indices_map(global_shape)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of a part."""
        return tuple(global_shape)

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Tell whether both put the same parts of arrays of `ndim` axes on the same devices."""
        whole = (math.lcm(self.num_devices, other.num_devices),) * ndim
        return self.devices_indices_map(whole) == other.devices_indices_map(whole)

    def check_rank(self, ndim: int) -> None:
        """Refuse an array with too few axes."""


class SingleDeviceSharding(Sharding):
    """All of an array on one device.

    >>> SingleDeviceSharding(jax.devices()[0])
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """

    def __init__(self, device: CpuDevice, *, memory_kind: str | None = None) -> None:
        """memory_kind: accepted; there is one memory."""
        self._device = device

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[CpuDevice, Index]:
        """Return which part the device holds: the whole."""
        return {self._device: (slice(None),) * len(global_shape)}

    def __repr__(self) -> str:
        """Return JAX's form."""
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind=device)"

    def __eq__(self, other: object) -> bool:
        """Compare devices."""
        return isinstance(other, SingleDeviceSharding) and self._device is other._device

    def __hash__(self) -> int:
        """Hash the device."""
        return hash(self._device)


def make_single_device_sharding(
    device: CpuDevice, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """Return the sharding of one device.

    >>> make_single_device_sharding(jax.devices()[0]).shard_shape((4, 2))
    (4, 2)
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


class DuplicateSpecError(ValueError):
    """Raised for a spec that divides two axes of an array by one axis of the mesh."""


class NamedSharding(Sharding):
    """A mesh, and which of its axes divide which axes of an array.

    >>> mesh = jax.make_mesh((1, 1), ("x", "y"))
    >>> NamedSharding(mesh, PartitionSpec("x", None)).spec
    P('x', None)
    """

    def __init__(
        self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None
    ) -> None:
        """memory_kind: accepted; there is one memory."""
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"Unexpected type {type(spec)} for NamedSharding's spec: a PartitionSpec is wanted"
            )
        self.mesh, self.spec = mesh, spec
        named = [name for entry in spec for name in names_in(entry)]
        for name in named:
            if name not in mesh.axis_names:
                raise ValueError(
                    f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}."
                )
            if named.count(name) > 1:
                raise DuplicateSpecError(
                    "A single NamedSharding spec specification can map every mesh axis to at most "
                    f"one positional dimension, but {spec} has duplicate entries for `{name}`"
                )

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return self.mesh.size

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the whole array."""
        return all(self._divisor(entry) == 1 for entry in self.spec)

    @property
    def device_set(self) -> set[CpuDevice]:
        """The devices."""
        return set(self._grid().flat)

    def _grid(self) -> np.ndarray:
        """Return the devices of the mesh, or raise ValueError if it has none."""
        if not isinstance(self.mesh, Mesh):
            raise ValueError(
                f"{self} is on a `jax.sharding.AbstractMesh`, which has no devices: use a "
                "`jax.sharding.Mesh`"
            )
        return self.mesh.devices

    def _divisor(self, entry: Any) -> int:
        """Return into how many parts an entry of the spec divides an axis."""
        return math.prod(self.mesh.shape[name] for name in names_in(entry))

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of a part; axes beyond those of the shape are left out.

        Raises IndivisibleError where the parts would be unequal.
        """
        factors = self._factors(len(global_shape))
        for axis, (size, factor) in enumerate(zip(global_shape, factors, strict=True)):
            if size % factor:
                raise IndivisibleError(
                    f"{self} implies that array axis {axis} is partitioned {factor} times, but "
                    f"the dimension size is {size} (full shape: {tuple(global_shape)}, "
                    f"per-dimension tiling factors: {factors} should evenly divide the shape)"
                )
        return tuple(size // n for size, n in zip(global_shape, factors, strict=True))

    def _factors(self, ndim: int) -> tuple[int, ...]:
        """Return into how many parts each of `ndim` axes is divided."""
        factors = [self._divisor(entry) for entry in self.spec][:ndim]
        return (*factors, *[1] * (ndim - len(factors)))

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[CpuDevice, Index]:
        """Return which part each device holds."""
        devices, part = self._grid(), self.shard_shape(global_shape)
        where = {}
        for place in np.ndindex(self.mesh.axis_sizes):
            coordinate = dict(zip(self.mesh.axis_names, place, strict=True))
            index = []
            for axis, size in enumerate(part):
                number = (
                    self._part_number(self.spec[axis], coordinate) if axis < len(self.spec) else 0
                )
                is_whole = size == global_shape[axis]
                index.append(slice(None) if is_whole else slice(number * size, (number + 1) * size))
            where[devices[place]] = tuple(index)
        return where

    def _part_number(self, entry: Any, coordinate: dict[Any, int]) -> int:
        """Return which part along an axis of an array the device at a coordinate holds."""
        number = 0
        for name in names_in(entry):
            number = number * self.mesh.shape[name] + coordinate[name]
        return number

    def check_rank(self, ndim: int) -> None:
        """Refuse an array with fewer axes than the spec has entries."""
        if len(self.spec) > ndim:
            raise ValueError(
                f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but "
                f"was applied to a value of rank {ndim}."
            )

    def with_memory_kind(self, kind: str) -> NamedSharding:
        """Return the sharding: there is one memory."""
        return self

    def update(self, **changes: Any) -> NamedSharding:
        """Return a copy with mesh or spec replaced."""
        return NamedSharding(changes.get("mesh", self.mesh), changes.get("spec", self.spec))

    def __repr__(self) -> str:
        """Return JAX's form."""
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec}, memory_kind=device)"

    def __eq__(self, other: object) -> bool:
        """Compare mesh and spec."""
        if not isinstance(other, NamedSharding):
            return False
        return self.mesh == other.mesh and self.spec == other.spec

    def __hash__(self) -> int:
        """Hash mesh and spec."""
        return hash((self.mesh, self.spec))
