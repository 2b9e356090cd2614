"""Programs for many devices, on one: `shard_map`, `pmap`, and the constraints on shardings.

`shard_map(f)` calls `f` on each part of its arguments, with the axes of the mesh as named axes for
collectives (`parts.py`).  A mesh of one device, one of several that are names for the same CPU,
and an `AbstractMesh` of any size take the same way.

    in_specs    P("x", None): the first axis of the argument is divided by the axis x of the mesh
    out_specs   P("x"): the results of the parts are joined along their first axis;
                a mesh axis that no entry names: all parts return the same, and one is taken
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tapeless import lax
from tapeless.api.jit import jit
from tapeless.api.parts import INFERRED, Parts
from tapeless.api.vmap import vmap
from tapeless.core.aval import typeof
from tapeless.core.trace import Tracer, Value
from tapeless.runtime.array import Array, as_array
from tapeless.runtime.device import checked_place, device_count, device_put, devices
from tapeless.runtime.meshes import AbstractMesh, Mesh, get_abstract_mesh, get_mesh, mesh_for
from tapeless.runtime.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding
from tapeless.tree.flatten import tree_flatten, tree_leaves, tree_unflatten
from tapeless.tree.maps import tree_map
from tapeless.tree.prefix import flatten_axes

__all__ = [
    "inspect_array_sharding",
    "pmap",
    "reshard",
    "shard_map",
    "smap",
    "with_sharding_constraint",
]


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Return the tree `x`; what its parts are on is checked, and for an Array recorded.

    x: (n,) -> (n,)
    shardings: a Sharding, a PartitionSpec for the current mesh, or a prefix tree of these.

    >>> import tapeless as jax
    >>> where = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    >>> with_sharding_constraint(jax.numpy.ones(2), where)
    Array([1., 1.], dtype=float32)
    """
    leaves, tree = tree_flatten(x)
    places = flatten_axes("with_sharding_constraint shardings", tree, shardings)
    return tree_unflatten(tree, map(_constrained, leaves, places))


lax.with_sharding_constraint = with_sharding_constraint


def _constrained(x: Value, place: Any) -> Value:
    """Return one leaf under a constraint."""
    if isinstance(place, PartitionSpec):
        place = NamedSharding(mesh_for("with_sharding_constraint", "shardings"), place)
    if isinstance(x, Tracer):
        checked_place(place, x, "with_sharding_constraint arguments", is_even=False)
        return x
    place = checked_place(place, x, "with_sharding_constraint arguments")
    return x if place is None else device_put(x, place)


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call `callback` with the sharding of a value; within a program, once, as it is traced.

    >>> from tapeless import numpy as jnp
    >>> inspect_array_sharding(jnp.ones(3), callback=lambda s: print(type(s).__name__))
    SingleDeviceSharding
    """
    if isinstance(value, Tracer):
        callback(SingleDeviceSharding(devices()[0]))
    else:
        callback(as_array(value).sharding)


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Return the tree `xs` on other shardings.

    >>> mesh = jax.make_mesh((1,), ("i",))
    >>> jax.reshard(jnp.arange(2), jax.NamedSharding(mesh, jax.P("i")))
    Array([0, 1], dtype=int32)
    """
    return with_sharding_constraint(xs, out_shardings)


def shard_map(
    f: Callable | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = INFERRED,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Iterable[Any] = frozenset(),
    check_vma: bool = True,
) -> Callable:
    """Return `f` mapped over the parts into which a mesh divides its arguments.

    f: (n,) -> (m,) gives the function (k n,) -> (k m,), for an axis of k devices.
    in_specs: a tuple with a spec, or a tree of specs, per argument; one spec is for all.
    out_specs: the same for the results.  axis_names: the axes of the mesh to map over; all by
    default.  check_vma: refuse results that may differ from part to part where out_specs says that
    they do not; a mesh axis that out_specs does not name is such a place.

    >>> from tapeless.prims.named_axes import psum
    >>> import numpy as np
    >>> mesh = AbstractMesh((2,), ("x",))
    >>> total = shard_map(
    ...     lambda part: psum(part, "x"), mesh=mesh, in_specs=PartitionSpec("x"),
    ...     out_specs=PartitionSpec(),
    ... )
    >>> total(np.arange(4.0, dtype="float32"))
    Array([2., 4.], dtype=float32)
    """
    if f is None:
        return functools.partial(
            shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names,
            check_vma=check_vma,
        )  # fmt: skip
    if mesh is not None and not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(
            "shard_map requires a `jax.sharding.Mesh` or a `jax.sharding.AbstractMesh` instance "
            f"for its second argument, but got {mesh} of type {type(mesh)}."
        )

    @functools.wraps(f)
    def mapped(*args: Any) -> Any:
        """Call `f` on every part."""
        over = mesh or (get_abstract_mesh() if get_mesh().empty else get_mesh())
        if over.empty:
            raise ValueError(
                "The context mesh cannot be empty. Use `jax.set_mesh(mesh)` to enter into a mesh "
                "context, or pass `mesh=` to `shard_map`"
            )
        specs = (in_specs, out_specs)
        return Parts(f, over, frozenset(axis_names), specs, check_vma).call(args)

    return mapped


def smap(
    f: Callable | None = None, /, *, in_axes: Any = INFERRED, out_axes: Any, axis_name: Any
) -> Callable:
    """Return `f` mapped over the parts along one axis of the current mesh.

    f: (n,) -> (m,) gives the function (k n,) -> (k m,), for an axis of k devices.
    in_axes, out_axes: per argument, or result, the axis that is divided, or None.

    >>> with jax.set_mesh(jax.make_mesh((1,), ("i",))):
    ...     jax.smap(lambda x: x + 1, in_axes=0, out_axes=0, axis_name="i")(jnp.arange(2))
    Array([1, 2], dtype=int32)
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)

    def spec(axis: int | None) -> PartitionSpec:
        """Return the spec that divides this axis."""
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, axis_name)

    def specs(axes: Any) -> Any:
        """Return the specs for a tree of axes."""
        return tree_map(spec, axes, is_leaf=lambda axis: axis is None)

    in_specs = INFERRED if in_axes is INFERRED else specs(in_axes)
    return shard_map(f, in_specs=in_specs, out_specs=specs(out_axes), axis_names={axis_name})


def pmap(
    fun: Callable,
    axis_name: Any = None,
    *,
    in_axes: int | None | Sequence[Any] = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable:
    """Return `fun` compiled, and mapped over an axis that has one row per device: one.

    fun: (n,) -> (m,) gives the function (1, n) -> (1, m).
    The arguments are those of `vmap` and `jit`; devices and backend are accepted where they name
    this device.

    >>> from tapeless.prims.unary import neg
    >>> import numpy as np
    >>> pmap(neg)(np.ones((1, 2), "float32"))
    Array([[-1., -1.]], dtype=float32)
    """
    numbers = (
        (static_broadcasted_argnums,)
        if isinstance(static_broadcasted_argnums, int)
        else tuple(static_broadcasted_argnums)
    )

    def mapped(*args: Any, **kwargs: Any) -> Any:
        """Map over the one row; arguments that are static are the same for all."""
        static = {number % len(args): args[number % len(args)] for number in numbers}
        moving = [x for number, x in enumerate(args) if number not in static]

        def one(*rows: Any, **named: Any) -> Any:
            """Call the function with the static arguments in their places."""
            rest = iter(rows)
            return fun(
                *[static[i] if i in static else next(rest) for i in range(len(args))], **named
            )

        axes = in_axes
        if isinstance(in_axes, (list, tuple)):
            axes = tuple(axis for i, axis in enumerate(in_axes) if i not in static)
        return vmap(one, axes, out_axes, axis_name=axis_name, axis_size=axis_size)(
            *moving, **kwargs
        )

    compiled = jit(mapped, static_argnums=numbers or None, donate_argnums=donate_argnums)

    @functools.wraps(fun)
    def checked(*args: Any, **kwargs: Any) -> Any:
        """Refuse more rows than there are devices, and note on which the results are."""
        count = _row_count(args, kwargs, in_axes, numbers, axis_size)
        return _on_devices(compiled(*args, **kwargs), out_axes, axis_name, devices, count)

    return checked


def _row_count(args: tuple, kwargs: dict, in_axes: Any, numbers: tuple, given: Any) -> int:
    """Return the size of the mapped axes; ValueError where there are fewer devices, or no axes."""
    moving = [x for i, x in enumerate(args) if i not in {n % len(args) for n in numbers}]
    axes = in_axes if isinstance(in_axes, (list, tuple)) else [in_axes] * len(moving)
    rows: set[int] = set()
    for x, axis in zip(moving, axes, strict=False):
        if isinstance(axis, int):
            rows |= {typeof(leaf).shape[axis] for leaf in tree_leaves(x) if typeof(leaf).ndim}
    rows |= {typeof(leaf).shape[0] for leaf in tree_leaves(kwargs) if typeof(leaf).ndim}
    if not rows:
        raise ValueError("pmap requires at least one argument with a mapped axis.")
    rows |= {given} - {None}
    if any(n > device_count() for n in rows):
        raise ValueError(
            f"compiling computation that requires {max(rows)} logical devices, but only "
            f"{device_count()} XLA devices are available (num_replicas={max(rows)})"
        )
    return max(rows)


def _on_devices(results: Any, out_axes: Any, name: Any, given: Any, count: int) -> Any:
    """Return arrays with the sharding by which each of the first devices has one row.

    given: the devices that the user named.
    """
    if count == 1 or not isinstance(out_axes, int):
        return results
    grid = np.array(list(given or devices())[:count], dtype=object)
    mesh = Mesh(grid, ("_internal_pmap_axis_name" if name is None else name,))

    def noted(x: Any) -> Any:
        """Return one result on the devices."""
        if not isinstance(x, Array):
            return x
        before = [None] * (out_axes % x.ndim)
        return x.noted(NamedSharding(mesh, PartitionSpec(*before, *mesh.axis_names)))

    return tree_map(noted, results)
