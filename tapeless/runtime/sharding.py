"""Shardings: where the parts of an array are, for programs that are written for many devices.

All devices are names for one CPU (`topology.py`), so a sharding says nothing about memory here.
It is kept because programs ask for it and compare it: an array that was put on a `NamedSharding`
has that sharding, and the parts that it says.

    mesh       devices in a grid, each axis of it with a name
    spec       a `PartitionSpec`: per axis of an array the axis (or axes) of the mesh that divide it
    sharding   a mesh and a spec, or the one device

A `Mesh` has devices; an `AbstractMesh` has only sizes.  `shard_map` (`api/sharding.py`) runs over
either as `vmap` does, so that programs for larger meshes can be tested.
"""

from __future__ import annotations

import contextlib
import enum
import math
import threading
from collections import OrderedDict
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np

from tapeless.core.trace import trace_state_clean
from tapeless.runtime.topology import CpuDevice, cpu_device, cpu_devices

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Index",
    "IndivisibleError",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "get_abstract_mesh",
    "get_mesh",
    "make_mesh",
    "make_single_device_sharding",
    "mesh_for",
    "set_mesh",
    "use_abstract_mesh",
]


class AxisType(enum.Enum):
    """Who divides arrays along an axis of a mesh: the compiler, the types, or the program."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        """Return the name."""
        return self.name


def _axis_types(types: Any, names: tuple[Any, ...], default: AxisType) -> tuple[AxisType, ...]:
    """Return one type per axis; by default the same for all."""
    if types is None:
        return (default,) * len(names)
    types = tuple(types) if isinstance(types, Iterable) else (types,)
    if any(not isinstance(kind, AxisType) for kind in types):
        raise TypeError(
            "axis_types passed to Mesh must be of type `jax.sharding.AxisType`. Got "
            f"{types} of type {tuple(map(type, types))}"
        )
    if len(types) != len(names):
        raise ValueError(
            "Number of axis names should match the number of axis_types. Got "
            f"axis_names={names} and axis_types={types}"
        )
    return types


class _Grid:
    """What meshes share: names, sizes and types of axes."""

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The size of each axis, by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """The pairs of name and size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.axis_sizes) if self.axis_sizes else 0

    @property
    def empty(self) -> bool:
        """Whether the mesh has no axes."""
        return not self.axis_names

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        """The names of the axes of type Manual."""
        return self._named(AxisType.Manual)

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        """The names of the axes of type Auto."""
        return self._named(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        """The names of the axes of type Explicit."""
        return self._named(AxisType.Explicit)

    def _named(self, kind: AxisType) -> tuple[Any, ...]:
        """Return the names of the axes of one type."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(name for name, axis_type in pairs if axis_type is kind)

    def _text(self) -> str:
        """Return sizes and types, as in a printed mesh."""
        if self.empty:
            return "()"
        sizes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple)
        return f"{sizes}, axis_types={self.axis_types}"


class AbstractMesh(_Grid):
    """A mesh without devices: names, sizes and types of axes."""

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Sequence[str],
        axis_types: Any = None,
        *,
        abstract_device: Any = None,
    ) -> None:
        """axis_types: one per axis; Explicit by default.  abstract_device: shown, if given."""
        self.axis_sizes, self.axis_names = tuple(axis_sizes), tuple(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                "The number of axis_sizes must match the number of axis_names. Got "
                f"axis_sizes={axis_sizes}, axis_names={axis_names}"
            )
        self.axis_types = _axis_types(axis_types, self.axis_names, AxisType.Explicit)
        self.abstract_device = abstract_device

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
        return self

    def _key(self) -> tuple:
        """Return what makes meshes equal."""
        return (self.axis_sizes, self.axis_names, self.axis_types)

    def __eq__(self, other: object) -> bool:
        """Compare names, sizes and types."""
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        """Hash names, sizes and types."""
        return hash(self._key())

    def __repr__(self) -> str:
        """Return JAX's form."""
        if self.empty:
            return "AbstractMesh((), axis_types=())"
        device = f", {self.abstract_device}" if self.abstract_device else ""
        return f"AbstractMesh({self._text()}{device})"

    def update(self, **changes: Any) -> AbstractMesh:
        """Return a copy with some of axis_sizes, axis_names and axis_types replaced."""
        names = ("axis_sizes", "axis_names", "axis_types")
        fields = {name: getattr(self, name) for name in names} | changes
        return AbstractMesh(
            fields["axis_sizes"], fields["axis_names"], fields["axis_types"],
            abstract_device=changes.get("abstract_device", self.abstract_device),
        )  # fmt: skip


class Mesh(_Grid, contextlib.ContextDecorator):
    """Devices in a grid whose axes have names; as a context manager, the current mesh."""

    def __init__(
        self,
        devices: np.ndarray | Sequence[CpuDevice] | CpuDevice,
        axis_names: Any,
        axis_types: tuple[AxisType, ...] | None = None,
    ) -> None:
        """devices: an array with one axis per name."""
        self.devices = np.asarray(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if self.devices.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of "
                f"its second argument (`axis_names`), but got devices.ndim == {self.devices.ndim} "
                f"and len(axis_names) == {len(names)}."
            )
        if None in names:
            raise ValueError(f"Mesh axis names cannot be None. Got: {names}")
        self.axis_names, self.axis_sizes = names, self.devices.shape
        self.axis_types = _axis_types(axis_types, names, AxisType.Auto)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        device = "" if self.empty else "device_kind=cpu, num_cores=None, platform=cpu"
        return AbstractMesh(
            self.axis_sizes, self.axis_names, self.axis_types, abstract_device=device
        )

    @property
    def local_mesh(self) -> Mesh:
        """The part of this process: all of it."""
        return self

    @property
    def local_devices(self) -> list[CpuDevice]:
        """The devices of this process."""
        return list(self.devices.flat)

    @property
    def device_ids(self) -> np.ndarray:
        """The numbers of the devices."""
        return np.array([device.id for device in self.devices.flat]).reshape(self.axis_sizes)

    @property
    def is_multi_process(self) -> bool:
        """Whether several processes have parts of it."""
        return False

    def _key(self) -> tuple:
        """Return what makes meshes equal."""
        numbers = tuple(device.id for device in self.devices.flat)
        return (self.axis_sizes, self.axis_names, self.axis_types, numbers)

    def __eq__(self, other: object) -> bool:
        """Compare names, sizes, types and devices."""
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        """Hash names, sizes and types."""
        return hash(self._key())

    def __str__(self) -> str:
        """Return JAX's short form."""
        return "Mesh()" if self.empty else f"Mesh({self._text()})"

    def __repr__(self) -> str:
        """Return JAX's form."""
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
            f"axis_types={self.axis_types})"
        )

    def __enter__(self) -> Mesh:
        """Make the mesh current."""
        _current.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        """Make the mesh before it current again."""
        _current.stack.pop()


class _Current(threading.local):
    """The current mesh of a thread, on top of those around it."""

    def __init__(self) -> None:
        """Start with none."""
        self.stack: list[Mesh | AbstractMesh] = []


_current = _Current()
_NO_DEVICES = Mesh(np.empty((), dtype=object), ())
_NO_AXES = AbstractMesh((), ())


def get_mesh() -> Mesh:
    """Return the current mesh, or the empty one."""
    found = _current.stack[-1] if _current.stack else None
    return found if isinstance(found, Mesh) else _NO_DEVICES


def get_abstract_mesh() -> AbstractMesh:
    """Return the current mesh without its devices, or the empty one."""
    return _current.stack[-1].abstract_mesh if _current.stack else _NO_AXES


class _SetMesh:
    """Makes a mesh current at once; as a context manager, until the block ends."""

    def __init__(self, mesh: Mesh | None) -> None:
        """mesh: None for none."""
        self._before = list(_current.stack)
        _current.stack[:] = [] if mesh is None else [*self._before, mesh]

    def __enter__(self) -> None:
        """The mesh is current already."""

    def __exit__(self, *exception: object) -> None:
        """Restore what was current before."""
        _current.stack[:] = self._before


def mesh_for(function: str, argument: str) -> Mesh | AbstractMesh:
    """Return the current mesh, for a spec that was passed to a function; RuntimeError if none."""
    mesh = get_abstract_mesh() if get_mesh().empty else get_mesh()
    if mesh.empty:
        raise RuntimeError(
            f"{function} requires a non-empty mesh in context if you are passing "
            f"`PartitionSpec`s to {argument}. You can define a context mesh via "
            "`jax.set_mesh(mesh)`. Alternatively, provide `Sharding`s to "
            f"{argument} and then the mesh context manager is not required."
        )
    return mesh


def set_mesh(mesh: Mesh | None) -> _SetMesh:
    """Make `mesh` the current mesh, for good or, in a `with` statement, for the block.

    >>> with set_mesh(make_mesh((1,), ("x",))):
    ...     get_mesh().axis_names
    ('x',)
    """
    if mesh is not None and not isinstance(mesh, Mesh):
        raise ValueError(f"Expected mesh of type `jax.sharding.Mesh`. Got {type(mesh)}")
    if not trace_state_clean():
        raise ValueError("`set_mesh` can only be used outside of `jax.jit`.")
    return _SetMesh(mesh)


def use_abstract_mesh(mesh: AbstractMesh) -> contextlib.AbstractContextManager[None]:
    """Make a mesh without devices current for a block."""
    if not isinstance(mesh, AbstractMesh):
        raise ValueError(
            f"Expected mesh of type `jax.sharding.AbstractMesh`. Got type: {type(mesh)}"
        )
    return _abstract_mesh_block(mesh)


@contextlib.contextmanager
def _abstract_mesh_block(mesh: AbstractMesh) -> Generator[None, None, None]:
    """Make a mesh current for a block."""
    _current.stack.append(mesh)
    try:
        yield
    finally:
        _current.stack.pop()


def make_mesh(
    axis_sizes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[CpuDevice] | None = None,
) -> Mesh:
    """Return the mesh of these sizes over the first devices.

    >>> make_mesh((1, 1), ("x", "y")).shape["y"]
    1
    """
    total = math.prod(axis_sizes)
    found = cpu_devices() if devices is None else list(devices)
    if total > len(found):
        raise ValueError(
            f"Number of devices {len(found)} must be >= the product of mesh_shape "
            f"{tuple(axis_sizes)}"
        )
    grid = np.array(found[:total], dtype=object).reshape(tuple(axis_sizes))
    types = (AxisType.Explicit,) * grid.ndim if axis_types is None else axis_types
    return Mesh(grid, axis_names, types)


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
    """Where the parts of an array are."""

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
    """All of an array on one device."""

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
    """Return the sharding of one device."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


class DuplicateSpecError(ValueError):
    """Raised for a spec that divides two axes of an array by one axis of the mesh."""


class NamedSharding(Sharding):
    """A mesh, and which of its axes divide which axes of an array."""

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
