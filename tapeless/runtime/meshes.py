"""Meshes: devices in a grid, each axis of it with a name.

A `Mesh` has devices; an `AbstractMesh` has only sizes.  All devices are names for one CPU
(`topology.py`).  `shard_map` (`api/sharding.py`) runs over either as `vmap` does, so that programs
for larger meshes can be tested.  Which mesh is current is known for each thread.
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
from tapeless.runtime.topology import CpuDevice, cpu_devices

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "get_abstract_mesh",
    "get_mesh",
    "make_mesh",
    "mesh_for",
    "set_mesh",
    "use_abstract_mesh",
]


class AxisType(enum.Enum):
    """Who divides arrays along an axis of a mesh: the compiler, the types, or the program.

    >>> jax.make_mesh((1,), ("x",), (AxisType.Auto,)).axis_types
    (Auto,)
    """

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
    """A mesh without devices: names, sizes and types of axes.

    >>> AbstractMesh((4, 2), ("x", "y")).shape["x"]
    4
    """

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
    """Devices in a grid whose axes have names; as a context manager, the current mesh.

    >>> mesh = Mesh(np.array(jax.devices()), ("x",))
    >>> mesh.axis_names, mesh.devices.shape
    (('x',), (1,))
    """

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
    """Return the current mesh, or the empty one.

    >>> get_mesh().empty
    True
    """
    found = _current.stack[-1] if _current.stack else None
    return found if isinstance(found, Mesh) else _NO_DEVICES


def get_abstract_mesh() -> AbstractMesh:
    """Return the current mesh without its devices, or the empty one.

    >>> with jax.set_mesh(make_mesh((1,), ("x",))):
    ...     get_abstract_mesh().axis_sizes
    (1,)
    """
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
    """Make a mesh without devices current for a block.

    >>> with use_abstract_mesh(AbstractMesh((4,), ("x",))):
    ...     get_abstract_mesh().axis_sizes
    (4,)
    """
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
