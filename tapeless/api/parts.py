"""One call of a function over the parts into which a mesh divides its arguments.

A part is a row of a batch: an axis of an array that the axis `x` of the mesh divides is split in
two, (x, rest), and the function is mapped over the first, by the name "x".  The last axis of the
mesh is mapped innermost, so that what is mapped comes in, and out, in the order of the mesh.

    x: (x*a, b), spec P("x")                 argument (x, a, b), mapped over "x" only
    result (x, a, b), spec P("x")            (x*a, b): the parts are joined
    result (x, a, b), spec P()               differs from part to part, which is refused, or, where
                                             that is not to be checked, (a, b) of the first part
    result (a, b), spec P("x")               (x*a, b): all parts are the same

What batching leaves without an axis is the same for all parts.  So whether results that are to be
the same for all parts are so is known from batching alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tapeless.core.aval import typeof
from tapeless.core.trace import Axis, Tracer, Value
from tapeless.prims.common import batch_dim_to
from tapeless.prims.slice import index_in_dim
from tapeless.prims.structural import reshape, transpose
from tapeless.runtime.array import Array
from tapeless.runtime.meshes import AbstractMesh, AxisType, Mesh, use_abstract_mesh
from tapeless.runtime.sharding import NamedSharding, PartitionSpec, names_in
from tapeless.transforms.batch import batch_flat
from tapeless.tree.arguments import argument_names, leaf_names
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.prefix import flatten_axes
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.chains import function_name
from tapeless.util.seqs import few

__all__ = ["INFERRED", "Parts"]

INFERRED = object()  # specs that are those on which the arguments are

_UNEVEN = (
    "Array arguments' axis sizes must be evenly divisible by the mesh axis or axes indicated by "
    "the corresponding elements of the argument's in_specs entry. Consider checking that in_specs "
    "are correct, and if so consider changing the mesh axis sizes or else padding the input and "
    "adapting '{}' appropriately."
)
_SCALARS = (
    "\n\nFor scalar values (rank 0), consider using an out_specs entry of `P()`, where "
    "`P = jax.sharding.PartitionSpec`. In particular, for rank 0 outputs which are not constant "
    "over the mesh, add at least one (singleton) axis to them so that they can be concatenated "
    "using out_specs."
)
_VARYING = (
    "Check if these output values are meant to be replicated over those mesh axes. If not, "
    "consider revising the corresponding out_specs entries. If so, consider disabling the check by "
    "passing the check_vma=False argument to `jax.shard_map`."
)


class Parts:
    """A function, a mesh, and how arguments are divided and results joined."""

    def __init__(
        self,
        function: Callable,
        mesh: Mesh | AbstractMesh,
        names: frozenset[Any],
        specs: tuple[Any, Any],
        is_checked: bool,
    ) -> None:
        """names: the axes to map over; all if there are none.  specs: of arguments, of results.

        is_checked: refuse results that may differ from part to part where the specs say otherwise.
        """
        self.function, self.name = function, function_name(function)
        self.mesh, self.is_checked = mesh, is_checked
        self.sizes = {k: n for k, n in mesh.shape.items() if not names or k in names}
        self.in_specs, self.out_specs = specs
        self._check_specs("in_specs", self.in_specs)
        self._check_specs("out_specs", self.out_specs)

    def _check_specs(self, what: str, specs: Any) -> None:
        """Refuse what is no spec, and axes that the mesh does not have."""
        leaves = [] if specs is INFERRED else tree_flatten(specs)[0]
        names = leaf_names(what, specs)
        known = ", ".join(map(repr, self.sizes))
        for name, spec in zip(names, leaves, strict=False):
            if not isinstance(spec, PartitionSpec):
                raise TypeError(
                    f"shard_map {what} argument must be a pytree of `jax.sharding.PartitionSpec` "
                    f"instances, but:\n\n  {name} is {spec} of type {type(spec).__name__}\n\n"
                    f"Check the {what} values passed to shard_map."
                )
            for axis in spec:
                for mapped in names_in(axis):
                    if mapped not in self.sizes:
                        raise ValueError(
                            f"shard_map {what} argument must refer to an axis marked as manual "
                            f"(frozenset({{{known}}})), but:\n\n  {name} refers to {mapped!r}"
                            f"\n\nCheck the {what} values passed to shard_map."
                        )

    def call(self, args: tuple) -> Any:
        """Return the joined results."""
        leaves, tree = tree_flatten(args)
        specs, names = self._spread("in_specs", self.in_specs, tree, leaves)
        self._check_arguments(args, leaves, specs, names)
        pairs = [self._divided(x, spec) for x, spec in zip(leaves, specs, strict=True)]
        out_trees: list[PyTreeDef] = []
        inside = self._mesh_inside()

        def flat(*parts: Value) -> list[Value]:
            """Call the function on one part of everything."""
            with use_abstract_mesh(inside):
                outs, out_tree = tree_flatten(self.function(*tree_unflatten(tree, parts)))
            out_trees.append(out_tree)
            return outs

        varying: dict[Any, list[bool]] = {}
        mapped: Callable = flat
        for name, size in reversed(self.sizes.items()):
            dims = [0 if name in named else None for _, named in pairs]
            mapped = _over(mapped, Axis(size, name), dims, varying.setdefault(name, []))
        outs = mapped(*[x for x, _ in pairs])
        (out_tree,) = out_trees
        specs, names = self._spread("out_specs", self.out_specs, out_tree, outs)
        axes = [[n for n in self.sizes if varying[n][i]] for i in range(len(outs))]
        for place, (out, spec) in enumerate(zip(outs, specs, strict=True)):
            self._check_result(out, spec, names[place], axes[place], out_tree, place)
        joined = [self._joined(*known) for known in zip(outs, specs, axes, strict=True)]
        return tree_unflatten(out_tree, joined)

    def _mesh_inside(self) -> AbstractMesh:
        """Return the mesh as the function sees it: the axes that are mapped over are its own."""
        mesh = self.mesh.abstract_mesh
        pairs = zip(mesh.axis_names, mesh.axis_types, strict=True)
        types = tuple(AxisType.Manual if name in self.sizes else kind for name, kind in pairs)
        return mesh.update(axis_types=types)

    def _spread(
        self, what: str, specs: Any, tree: PyTreeDef, leaves: Sequence[Value]
    ) -> tuple[list[PartitionSpec], list[str]]:
        """Return the spec of each leaf, and what to call it in errors."""
        if specs is INFERRED:
            return [_spec_of(leaf) for leaf in leaves], [what] * len(leaves)
        found = flatten_axes(f"shard_map {what}", tree, specs)
        kinds, spec_tree = tree_flatten(specs)
        named = tree_unflatten(spec_tree, leaf_names(what, specs)) if kinds else what
        names = flatten_axes(what, tree, named)
        return [spec or PartitionSpec() for spec in found], [name or what for name in names]

    def _check_arguments(
        self, args: tuple, leaves: Sequence[Value], specs: Sequence[PartitionSpec], names: list[str]
    ) -> None:
        """Refuse specs with too many entries, and axes that cannot be divided evenly."""
        bound = argument_names(self.function, args, {})
        uneven = []
        for place, path in enumerate(leaf_names("args", args)):
            shape, spec = typeof(leaves[place]).shape, specs[place]
            parameter = bound[place].partition("[")[0].partition(".")[0]
            binding = f"where {path} is bound to {self.name}'s parameter {parameter!r},"
            text = typeof(leaves[place]).str_short(False)
            if len(spec) > len(shape):
                self._refuse_rank(
                    "in_specs", "input", names[place], spec, len(shape),
                    f"the passed {path}, {binding} has shape {text}",
                )  # fmt: skip
            for dim, entry in enumerate(spec):
                axes = names_in(entry)
                parts = math.prod(self.sizes[axis] for axis in axes)
                if shape[dim] % parts:
                    which = (
                        f"axes {axes} (of total size"
                        if len(axes) > 1
                        else f"axis {axes[0]!r} (of size"
                    )
                    uneven.append(
                        f"the passed {path} of shape {text}, {binding} corresponds to "
                        f"{names[place]} of value {spec}, which maps array axis {dim} (of size "
                        f"{shape[dim]}) to mesh {which} {parts}), but {parts} does not evenly "
                        f"divide {shape[dim]}"
                    )
        if uneven:
            lines = uneven if len(uneven) == 1 else [f"* {line}" for line in few(uneven, 2)]
            listed = "\n\n".join(lines)
            raise ValueError(
                f"shard_map applied to the function {self.name!r} was given argument arrays with "
                "axis sizes that are not evenly divisible by the corresponding mesh axis sizes:"
                f"\n\n{self._mesh_text()}\n\n{listed}\n\n{_UNEVEN.format(self.name)}"
            )

    def _refuse_rank(
        self, what: str, kind: str, name: str, spec: PartitionSpec, rank: int, found: str
    ) -> None:
        """Raise the error for a spec with more entries than an array has axes."""
        article = "an in_specs" if kind == "input" else "an out_specs"
        hint = _SCALARS if kind == "output" and not rank else ""
        raise ValueError(
            f"shard_map applied to the function {self.name!r} was given {article} entry which is "
            f"too long to be compatible with the corresponding {kind} value from the function:"
            f"\n\n{name} is {spec} which has length {len(spec)}, but {found}, which has rank "
            f"{rank} (and {rank} < {len(spec)})\n\nEntries in {what} must be of length no greater "
            f"than the number of axes in the corresponding {kind} value.\n\nEither revise the spec "
            f"to be shorter, or modify {self.name!r} so that its {kind}s have sufficient rank."
            f"{hint}"
        )

    def _check_result(
        self, x: Value, spec: PartitionSpec, name: str, axes: list[Any], tree: PyTreeDef, place: int
    ) -> None:
        """Refuse a result with fewer axes than its spec, or one that differs where it may not."""
        aval = typeof(x)
        aval = aval.update(shape=aval.shape[len(axes) :])
        if len(spec) > aval.ndim:
            path = leaf_names(f"{self.name}(*args)", tree_unflatten(tree, range(tree.num_leaves)))
            found = f"{path[place]} has shape {aval.str_short(False)}"
            self._refuse_rank("out_specs", "output", name, spec, aval.ndim, found)
        used = {axis for entry in spec for axis in names_in(entry)}
        beyond = [axis for axis in axes if axis not in used]
        if beyond and self.is_checked:
            within = ", ".join(str(axis) for axis in axes if axis in used)
            listed = ", ".join(map(str, beyond))
            raise ValueError(
                f"shard_map applied to the function {self.name!r} was given out_specs which "
                "require replication which can't be statically inferred given the mesh:"
                f"\n\n{self._mesh_text()}\n\n{name} is {spec} which implies that the "
                f"corresponding output value is only varying across mesh axes {{{within}}} and "
                f"not {{{listed}}}, but it was inferred to be possibly varying over "
                f"{{{', '.join(map(str, axes))}}}"
                f"\n\n{_VARYING}"
            )

    def _mesh_text(self) -> str:
        """Return the sentence that tells the mesh."""
        return (
            f"The mesh given has shape {self.mesh.axis_sizes} with corresponding axis names "
            f"{self.mesh.axis_names}."
        )

    def _divided(self, x: Value, spec: PartitionSpec) -> tuple[Value, list[Any]]:
        """Bring the divided axes of an argument to the front, in the order of the mesh.

        x: (x*a, b), spec P("x"): (x, a, b), ["x"]
        """
        sizes: list[int] = []
        place_of: dict[Any, int] = {}
        for dim, size in enumerate(typeof(x).shape):
            names = names_in(spec[dim]) if dim < len(spec) else ()
            for name in names:
                place_of[name] = len(sizes)
                sizes.append(self.sizes[name])
            sizes.append(size // math.prod(self.sizes[name] for name in names))
        named = [name for name in self.sizes if name in place_of]
        front = [place_of[name] for name in named]
        rest = [place for place in range(len(sizes)) if place not in front]
        return _transposed(reshape(x, tuple(sizes)), (*front, *rest)), named

    def _joined(self, x: Value, spec: PartitionSpec, axes: list[Any]) -> Value:
        """Undo the division of a result, whose first axes are those over which it varies.

        x: (x, a, b), spec P("x"): (x*a, b); spec P(): (a, b)
        """
        used = {name for entry in spec for name in names_in(entry)}
        for place in reversed(range(len(axes))):
            if axes[place] not in used:
                x = index_in_dim(x, 0, place, keepdims=False)
        kept = [name for name in self.sizes if name in used]
        for place, name in enumerate(kept):
            if name not in axes:
                x = batch_dim_to(x, None, place, self.sizes[name])
        shape = typeof(x).shape[len(kept) :]
        order: list[int] = []
        sizes = []
        for dim, size in enumerate(shape):
            dividing = names_in(spec[dim]) if dim < len(spec) else ()
            order += [kept.index(name) for name in dividing] + [len(kept) + dim]
            sizes.append(size * math.prod(self.sizes[name] for name in dividing))
        return self._noted(reshape(_transposed(x, tuple(order)), tuple(sizes)), spec)

    def _noted(self, x: Value, spec: PartitionSpec) -> Value:
        """Return a result on the sharding that its spec says, where it is an array already."""
        if not isinstance(x, Array) or isinstance(x, Tracer) or not isinstance(self.mesh, Mesh):
            return x
        return x.noted(NamedSharding(self.mesh, spec))


def _over(inner: Callable, axis: Axis, dims: list, varies: list[bool]) -> Callable:
    """Return a flat function mapped over one axis, which comes first in the results that vary.

    varies: filled with whether each result does.
    """

    def mapped(*xs: Value) -> list[Value]:
        """Call it on all rows at once."""
        outs, out_dims = batch_flat(inner, axis, xs, dims)
        varies.extend(dim is not None for dim in out_dims)
        pairs = zip(outs, out_dims, strict=True)
        return [x if dim is None else batch_dim_to(x, dim, 0, axis.size) for x, dim in pairs]

    return mapped


def _transposed(x: Value, order: tuple[int, ...]) -> Value:
    """Return `x` with its axes in another order."""
    return x if order == tuple(range(len(order))) else transpose(x, order)


def _spec_of(x: Value) -> PartitionSpec:
    """Return the spec that an argument was put on."""
    return getattr(getattr(x, "sharding", None), "spec", PartitionSpec())
