"""Programs for many devices, on one: `shard_map`, `pmap`, and the constraints on shardings.

`shard_map(f)` calls `f` on each part of its arguments, with the axes of the mesh as named axes for
collectives.  A part is a row of a batch: an axis of an array that the axis `x` of the mesh divides
is split in two, (x, rest), and `f` is mapped over the first by `vmap(axis_name="x")`.  So a mesh of
one device and an `AbstractMesh` of any size take the same way.

    in_specs    P("x", None): the first axis of the argument is divided by the axis x of the mesh
    out_specs   P("x"): the results of the parts are joined along their first axis;
                a mesh axis that no entry names: all parts return the same, and one is taken
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapeless import lax
from tapeless.api.jit import jit
from tapeless.api.vmap import vmap
from tapeless.core.aval import typeof
from tapeless.core.trace import Tracer, Value
from tapeless.prims.slice import index_in_dim
from tapeless.prims.structural import reshape, transpose
from tapeless.runtime.array import as_array
from tapeless.runtime.device import device_count, device_put, devices
from tapeless.runtime.sharding import (
    AbstractMesh,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    get_abstract_mesh,
    get_mesh,
    names_in,
)
from tapeless.tree.flatten import tree_flatten, tree_leaves, tree_unflatten
from tapeless.tree.maps import tree_map
from tapeless.tree.prefix import flatten_axes
from tapeless.tree.treedef import PyTreeDef

__all__ = [
    "inspect_array_sharding",
    "pmap",
    "reshard",
    "shard_map",
    "smap",
    "with_sharding_constraint",
]

_INFER = object()


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Return the tree `x`; what its parts are on is checked, and for an Array recorded.

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
        mesh = get_mesh() if get_abstract_mesh().empty else get_abstract_mesh()
        if mesh.empty:
            raise RuntimeError(
                "with_sharding_constraint requires a non-empty mesh if you are passing "
                f"`PartitionSpec`s; got {place} and no mesh. Put it in a `jax.set_mesh` context."
            )
        place = NamedSharding(mesh, place)
    if isinstance(place, Sharding):
        place.check_rank(typeof(x).ndim)
    if isinstance(x, Tracer) or place is None:
        return x
    return device_put(x, place)


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
    """Return the tree `xs` on other shardings."""
    return with_sharding_constraint(xs, out_shardings)


def shard_map(
    f: Callable | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = _INFER,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Iterable[Any] = frozenset(),
    check_vma: bool = True,
) -> Callable:
    """Return `f` mapped over the parts into which a mesh divides its arguments.

    in_specs: a tuple with a spec, or a tree of specs, per argument; one spec is for all.
    out_specs: the same for the results.  axis_names: the axes of the mesh to map over; all by
    default.  check_vma: accepted.

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
            shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names
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
        return _Parts(f, over, frozenset(axis_names), in_specs, out_specs).call(args)

    return mapped


class _Parts:
    """One call of a function over the parts of its arguments."""

    def __init__(
        self, f: Callable, mesh: Mesh | AbstractMesh, names: frozenset, in_specs: Any, outs: Any
    ) -> None:
        """names: the axes to map over; all if there are none."""
        self.function = f
        self.sizes = {k: n for k, n in mesh.shape.items() if not names or k in names}
        self.in_specs, self.out_specs = in_specs, outs

    def call(self, args: tuple) -> Any:
        """Return the joined results."""
        leaves, tree = tree_flatten(args)
        if self.in_specs is _INFER:
            specs = [_spec_of(leaf) for leaf in leaves]
        else:
            specs = flatten_axes("shard_map in_specs", tree, self.in_specs)
        out_trees: list[PyTreeDef] = []

        def flat(*parts: Value) -> list[Value]:
            """Call the function on one part of everything."""
            outs, out_tree = tree_flatten(self.function(*tree_unflatten(tree, parts)))
            out_trees.append(out_tree)
            return outs

        pairs = [
            self._divided(x, spec or PartitionSpec()) for x, spec in zip(leaves, specs, strict=True)
        ]
        divided = [x for x, _ in pairs]
        mapped: Callable = flat
        # The innermost axis is the last of the mesh; its rows are those that `flat` gets.
        for place, name in reversed(list(enumerate(self.sizes))):
            dims = tuple(0 if name in named else None for _, named in pairs)
            mapped = vmap(
                mapped, in_axes=dims, axis_name=name, axis_size=list(self.sizes.values())[place]
            )
        outs = mapped(*divided)
        (out_tree,) = out_trees
        specs = flatten_axes("shard_map out_specs", out_tree, self.out_specs)
        joined = [
            self._joined(x, spec or PartitionSpec()) for x, spec in zip(outs, specs, strict=True)
        ]
        return tree_unflatten(out_tree, joined)

    def _divided(self, x: Value, spec: PartitionSpec) -> tuple[Value, list[Any]]:
        """Bring the divided axes of an argument to the front, in the order of the mesh.

        x: (x*a, b), spec P("x"): (x, a, b), ["x"]
        """
        shape = typeof(x).shape
        if len(spec) > len(shape):
            raise ValueError(
                "shard_map applied to an argument of rank "
                f"{len(shape)}, but its in_specs entry {spec} has {len(spec)} entries"
            )
        sizes, place_of = [], {}
        for dim, size in enumerate(shape):
            names = self._mapped_names(spec, dim)
            for name in names:
                place_of[name] = len(sizes)
                sizes.append(self.sizes[name])
            parts = _product(self.sizes[name] for name in names)
            if size % parts:
                raise ValueError(
                    "shard_map applied to arguments with shapes that are not evenly divisible: "
                    f"axis {dim} of an array of shape {shape} has size {size}, and {spec} divides "
                    f"it into {parts} parts"
                )
            sizes.append(size // parts)
        named = [name for name in self.sizes if name in place_of]
        front = [place_of[name] for name in named]
        rest = [place for place in range(len(sizes)) if place not in front]
        split = reshape(x, tuple(sizes))
        return _transposed(split, (*front, *rest)), named

    def _mapped_names(self, spec: PartitionSpec, dim: int) -> list[Any]:
        """Return the mapped axes that divide an axis of an array."""
        if dim >= len(spec):
            return []
        names = names_in(spec[dim])
        known = [name for name in names if name in self.sizes]
        if len(known) < len(names):
            raise ValueError(
                f"shard_map: {spec} names the axis {names[0]!r}; the mesh has {list(self.sizes)}"
            )
        return known

    def _joined(self, x: Value, spec: PartitionSpec) -> Value:
        """Undo the division of a result, whose first axes are all those of the mesh.

        x: (x, a, b), spec P("x"): (x*a, b); spec P(): (a, b)
        """
        used = {name for entry in spec for name in names_in(entry)}
        names = list(self.sizes)
        for place in reversed(range(len(names))):
            if names[place] not in used:
                x = index_in_dim(x, 0, place, keepdims=False)
        kept = [name for name in names if name in used]
        shape = typeof(x).shape[len(kept) :]
        if len(spec) > len(shape):
            raise ValueError(
                f"shard_map: a result of rank {len(shape)} has the out_specs entry {spec} with "
                f"{len(spec)} entries"
            )
        order, sizes = [], []
        for dim, size in enumerate(shape):
            dividing = self._mapped_names(spec, dim)
            order += [kept.index(name) for name in dividing] + [len(kept) + dim]
            sizes.append(size * _product(self.sizes[name] for name in dividing))
        return reshape(_transposed(x, tuple(order)), tuple(sizes))


def _transposed(x: Value, order: tuple[int, ...]) -> Value:
    """Return `x` with its axes in another order."""
    return x if order == tuple(range(len(order))) else transpose(x, order)


def _product(sizes: Iterable[int]) -> int:
    """Return the product of sizes."""
    return functools.reduce(lambda a, b: a * b, sizes, 1)


def _spec_of(x: Value) -> PartitionSpec:
    """Return the spec that an argument was put on."""
    return getattr(getattr(x, "sharding", None), "spec", PartitionSpec())


def smap(
    f: Callable | None = None, /, *, in_axes: Any = _INFER, out_axes: Any, axis_name: Any
) -> Callable:
    """Return `f` mapped over the parts along one axis of the current mesh.

    in_axes, out_axes: per argument, or result, the axis that is divided, or None.
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)

    def spec(axis: int | None) -> PartitionSpec:
        """Return the spec that divides this axis."""
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, axis_name)

    def specs(axes: Any) -> Any:
        """Return the specs for a tree of axes."""
        return tree_map(spec, axes, is_leaf=lambda axis: axis is None)

    in_specs = _INFER if in_axes is _INFER else specs(in_axes)
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
        """Refuse more rows than there are devices."""
        _check_rows(args, kwargs, in_axes, numbers, axis_size)
        return compiled(*args, **kwargs)

    return checked


def _check_rows(args: tuple, kwargs: dict, in_axes: Any, numbers: tuple, given: Any) -> None:
    """Raise ValueError where a mapped axis is longer than the list of devices."""
    moving = [x for i, x in enumerate(args) if i not in {n % len(args) for n in numbers}]
    axes = in_axes if isinstance(in_axes, (list, tuple)) else [in_axes] * len(moving)
    rows = {given} - {None}
    for x, axis in zip(moving, axes, strict=False):
        if isinstance(axis, int):
            rows |= {typeof(leaf).shape[axis] for leaf in tree_leaves(x) if typeof(leaf).ndim}
    rows |= {typeof(leaf).shape[0] for leaf in tree_leaves(kwargs) if typeof(leaf).ndim}
    if any(n > device_count() for n in rows):
        raise ValueError(
            f"compiling computation that requires {max(rows)} logical devices, but only "
            f"{device_count()} XLA devices are available (num_replicas={max(rows)})"
        )
