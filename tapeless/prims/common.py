"""What the rules of all primitives lean on: helpers over values, and the elementwise base class.

Rules are Python functions over values that apply other operations.  A handful of operations is
needed by nearly every rule (`add_any`, `broadcast_in_dim`, `transpose`, `reduce_sum`, `reshape`),
while their own pages need this file.  `apply(name, ...)` breaks the circle: it looks the operation
up in the registry when a rule runs, at which time all pages have been read.

Zeros stay symbolic as long as possible: `add_tangents` and the rules treat `Zero` as what it is;
`instantiate` makes an array of it only where an operation needs one.

`Elementwise` covers the operations that act on one element at a time.  Operands have equal ranks,
in which an extent of 1 stretches to the others', or rank 0.  A page then needs five facts:

    accepts      per operand, the kinds of dtypes that it takes
    partials     per operand, the function (tangent, result, *operands, **params) that gives its
                 contribution to the result's tangent; None for an operand on which the result
                 does not depend differentiably
    kernel_name  the scalar constructor of the kernel builder that computes an element; or, instead,
                 the method `scalar`, which computes it with several of them
    hlo_name     the operation of StableHLO, or "" when there is none
    numpy        the reference, for tests
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values, registry
from tapeless.core.trace import Axis, Value, context, under

__all__ = [
    "Int",
    "ANY",
    "Avals",
    "BITS",
    "COMPLEX",
    "COUNTABLE",
    "Float0Array",
    "FLOAT",
    "float0_zeros",
    "INEXACT",
    "INTEGER",
    "NUMBER",
    "PARTS",
    "REAL",
    "SIGNED",
    "Dims",
    "Elementwise",
    "Tangents",
    "add_tangents",
    "apply",
    "as_value",
    "at_least_float32",
    "batch_dim",
    "batch_dim_to",
    "broadcast_elements",
    "const",
    "disagreement",
    "dtype_of",
    "extreme_hlo",
    "expand_to",
    "full_like",
    "inserted",
    "instantiate",
    "is_float0",
    "move_dim",
    "no_tangents",
    "ones_like",
    "removed",
    "replaced",
    "scalar_like",
    "shape_of",
    "stretch",
    "stretched_hlo",
    "unbroadcast",
    "widened",
    "zero_cotangents",
    "strong_zero",
    "zeros",
    "zeros_like",
]

Avals = tuple[ShapedArray, ...]
Dims = Sequence[int | None]
Tangents = Sequence[Value | Zero]
Kinds = tuple[type, ...]
# Some parameters hold, as JAX's do, NumPy's integers, which programs print as such.
Int = int | np.integer
Partial = Callable[..., Value | Zero]

FLOAT: Kinds = (np.floating,)
COMPLEX: Kinds = (np.complexfloating,)
INEXACT: Kinds = (np.floating, np.complexfloating)
INTEGER: Kinds = (np.integer,)
NUMBER: Kinds = (np.integer, np.complexfloating, np.floating)
BITS: Kinds = (np.integer, np.bool_)
ANY: Kinds = (np.bool_, np.integer, np.floating, np.complexfloating)
SIGNED: Kinds = (np.floating, np.complexfloating, np.signedinteger)
REAL: Kinds = (np.integer, np.bool_, np.floating)
COUNTABLE: Kinds = (np.integer, np.floating)
PARTS: Kinds = (np.float32, np.float64)
_KIND_NAMES = {
    np.bool_: "bool",
    np.float32: "float32",
    np.float64: "float64",
    np.integer: "integer",
    np.floating: "floating",
    np.complexfloating: "complexfloating",
    np.signedinteger: "signedinteger",
    np.unsignedinteger: "unsignedinteger",
}


# Values


def apply(name: str, *args: Value, **params: Any) -> Value:
    """Apply the operation called `name`, which has one result."""
    return registry[name].bind(*args, **params)[0]


def disagreement(shapes: Sequence[Sequence[int]]) -> str:
    """Return words on the last axis along which shapes do not broadcast, for messages.

    >>> disagreement([(2, 3), (5, 2, 4)])
    ' Axis -1, counted from the back, has extents 3 and 4.'
    """
    for back in range(1, 1 + max(map(len, shapes), default=0)):
        extents = [shape[-back] for shape in shapes if len(shape) >= back and shape[-back] != 1]
        wide = list(dict.fromkeys(extents))
        if len(wide) > 1:
            shown = f"{', '.join(map(str, wide[:-1]))} and {wide[-1]}"
            return f" Axis -{back}, counted from the back, has extents {shown}."
    return ""


def shape_of(x: Value) -> tuple[int, ...]:
    """Return the shape of a value."""
    return typeof(x).shape


def dtype_of(x: Value) -> np.dtype:
    """Return the dtype of a value."""
    return typeof(x).dtype


def is_float0(aval: ShapedArray) -> bool:
    """Tell whether values of this type carry no tangent information."""
    return not aval.is_inexact and aval.dtype == dtypes.float0


def scalar_like(aval: ShapedArray, fill: bool | int | float | complex) -> Value:
    """Return the rank-0 constant `fill` of the dtype, and the weakness, of `aval`."""
    if aval.weak_type:
        kind = type(np.zeros((), aval.dtype).item())
        if dtypes.python_scalar_dtype(kind) == aval.dtype:
            return kind(fill)
    if dtypes.number_dtype(aval.dtype) != aval.dtype:
        # A NumPy scalar would be narrowed; the operand is of 64 bits, from x64 mode.
        return context.base.array(np.asarray(fill, aval.dtype), ShapedArray((), aval.dtype))
    return aval.dtype.type(fill)


def as_value(x: Value) -> Value:
    """Return `x` as an Array or tracer, which is what functions for users return."""
    is_plain = isinstance(x, (bool, int, float, complex, np.generic, np.ndarray))
    return context.trace.constant(x) if is_plain else x


def const(x: Value, number: float) -> Value:
    """Return the rank-0 constant `number` of the dtype of `x`; weak if `x` is a weak scalar."""
    aval = typeof(x)
    if aval.weak_type and aval.shape:
        aval = aval.update(weak_type=False)
    return scalar_like(aval, number)


def full_like(x: Value | ShapedArray, fill: bool | int | float | complex) -> Value:
    """Return the array of `fill` that has the type of `x`; of keys, each word is `fill`."""
    aval = x if isinstance(x, ShapedArray) else typeof(x)
    if isinstance(aval.dtype, dtypes.KeyDtype):
        words = ShapedArray((*aval.shape, *aval.dtype.physical_shape), aval.dtype.physical_dtype)
        return apply("random_wrap", full_like(words, fill), impl=aval.dtype.prng_impl)
    scalar = scalar_like(aval, fill)
    if not aval.shape:
        return scalar
    return apply(
        "broadcast_in_dim", scalar, shape=aval.shape, broadcast_dimensions=(), sharding=None
    )


def strong_zero(x: Value) -> Value:
    """Return the rank-0 zero of the dtype of `x`, not weakly typed: a cotangent made with it is not
    either, as in JAX.
    """
    return scalar_like(typeof(x).strong(), 0)


class Float0Array(np.ndarray):
    """An array of float0, which NumPy holds, with what arrays say of their type."""

    weak_type = False

    @property
    def aval(self) -> ShapedArray:
        """The type."""
        return ShapedArray(self.shape, dtypes.float0)


def float0_zeros(shape: tuple[int, ...]) -> np.ndarray:
    """Return the array of float0 of this shape: the tangent, or cotangent, of integers."""
    return np.zeros(shape, dtypes.float0).view(Float0Array)


def zeros(aval: ShapedArray) -> Value:
    """Return zeros of the type `aval`."""
    if is_float0(aval):
        return float0_zeros(aval.shape)
    return full_like(aval, 0)


def zeros_like(x: Value) -> Value:
    """Return zeros of the type of `x`."""
    return full_like(x, 0)


def ones_like(x: Value) -> Value:
    """Return ones of the type of `x`."""
    return full_like(x, 1)


# Shapes, indices and other tuples


def inserted(items: Sequence, position: int, item: Any) -> tuple:
    """Return the items with one more at `position`."""
    return (*items[:position], item, *items[position:])


def removed(items: Sequence, position: int) -> tuple:
    """Return the items without the one at `position`."""
    return (*items[:position], *items[position + 1 :])


def replaced(items: Sequence, position: int, item: Any) -> tuple:
    """Return the items with another one at `position`."""
    return (*items[:position], item, *items[position + 1 :])


# Tangents and cotangents


def instantiate(x: Value | Zero) -> Value:
    """Return `x` itself, or an array of zeros for a `Zero`."""
    return under(context.trace.linear_side(), zeros, x.aval) if isinstance(x, Zero) else x


def no_tangents(outs: Values) -> tuple[Zero, ...]:
    """Return the zero tangents of results."""
    return tuple(Zero(typeof(out).tangent()) for out in outs)


def zero_cotangents(args: Sequence) -> tuple[Zero | None, ...]:
    """Return zeros for the arguments of a transpose rule that want cotangents."""
    return tuple(Zero(x.aval) if isinstance(x, Linear) else None for x in args)


def add_tangents(x: Value | Zero, y: Value | Zero) -> Value | Zero:
    """Return the sum of two tangents, or cotangents, of one type."""
    if isinstance(x, Zero):
        return y
    if isinstance(y, Zero):
        return x
    return apply("add_any", x, y)


def unbroadcast(ct: Value | Zero, aval: ShapedArray) -> Value | Zero:
    """Sum a cotangent over the axes along which an operand of type `aval` was stretched."""
    if isinstance(ct, Zero):
        return Zero(aval)
    shape = shape_of(ct)
    if shape == aval.shape:
        return ct
    axes = tuple(
        axis
        for axis, extent in enumerate(shape)
        if not aval.shape or (aval.shape[axis] == 1 and extent != 1)
    )
    summed = apply("reduce_sum", ct, axes=axes, out_sharding=None)
    if not aval.shape:
        return summed
    return apply("reshape", summed, new_sizes=aval.shape, dimensions=None, sharding=None)


def broadcast_elements(x: Value | Zero, aval: ShapedArray) -> Value | Zero:
    """Stretch an operand's tangent to the type `aval` of an elementwise result."""
    if isinstance(x, Zero):
        return Zero(aval)
    shape = shape_of(x)
    if shape == aval.shape:
        return x
    kept = tuple(axis for axis, extent in enumerate(shape) if extent == aval.shape[axis])
    if len(kept) < len(shape):
        sizes = tuple(shape[axis] for axis in kept)
        x = apply("reshape", x, new_sizes=sizes, dimensions=None, sharding=None)
    return apply("broadcast_in_dim", x, shape=aval.shape, broadcast_dimensions=kept, sharding=None)


# Batch dimensions


def move_dim(x: Value, source: int, destination: int) -> Value:
    """Move one axis of `x`, as `moveaxis` does."""
    rank = len(shape_of(x))
    source, destination = source % rank, destination % rank
    if source == destination:
        return x
    order = [axis for axis in range(rank) if axis != source]
    order.insert(destination, source)
    return apply("transpose", x, permutation=tuple(order))


def batch_dim(dims: Dims) -> int:
    """Return the batch axis of the first operand that has one; of one operand, that is it."""
    return next(dim for dim in dims if dim is not None)


def batch_dim_to(x: Value, dim: int | None, destination: int, size: int) -> Value:
    """Bring the batch axis of `x` to `destination`; repeat `x` `size` times if it has none."""
    if dim is not None:
        return move_dim(x, dim, destination)
    shape = shape_of(x)
    rank = len(shape) + 1
    target = inserted(shape, destination, size)
    return apply(
        "broadcast_in_dim",
        x,
        shape=target,
        broadcast_dimensions=tuple(np.delete(np.arange(rank), destination)),
        sharding=None,
    )


def expand_to(x: Value, dim: int | None, rank: int) -> Value:
    """Give an operand of an elementwise operation its batch axis in front, and `rank` axes in all.

    An operand without a batch axis gets one of extent 1; an operand of rank 0 stays as it is, since
    it goes with every shape.
    """
    shape = shape_of(x)
    if dim is None:
        return batch_dim_to(x, None, 0, 1) if shape else x
    x = move_dim(x, dim, 0)
    if len(shape) == rank:
        return x
    shape = shape_of(x)
    return apply(
        "broadcast_in_dim",
        x,
        shape=(shape[0], *(1,) * (rank - len(shape)), *shape[1:]),
        broadcast_dimensions=(0, *range(rank - len(shape) + 1, rank)),
        sharding=None,
    )


# Elementwise operations


class Elementwise(Primitive):
    """An operation whose result at an index depends on its operands at that index only."""

    accepts: tuple[Kinds, ...] = (ANY,)
    partials: tuple[Partial | None, ...] = ()
    kernel_name: str = ""
    hlo_name: str = ""
    tip: str = ""
    numpy: Callable[..., Any]

    def out_dtype(self, *operands: np.dtype, **params: Any) -> np.dtype:
        """Return the dtype of the result; by default, that of the first operand."""
        return operands[0]

    def same_dtypes(self, *operands: np.dtype) -> None:
        """Raise TypeError unless the operands have one dtype."""
        if any(dtype != operands[0] for dtype in operands[1:]):
            got = ", ".join(map(dtypes.dtype_name, operands))
            text = f"lax.{self.name} requires arguments to have the same dtypes, got {got}."
            if self.tip:
                text += (
                    f" (Tip: jnp.{self.tip} is a similar function that does automatic type "
                    "promotion on inputs)."
                )
            raise TypeError(text)

    def abstract(self, *avals: ShapedArray, **params: Any) -> Avals:
        """Check the dtypes and stretch the shapes."""
        shape = self._out_shape(avals)
        self._check_kinds(avals)
        operands = tuple(aval.dtype for aval in avals)
        self.same_dtypes(*operands)
        weak = all(aval.weak_type for aval in avals)
        return (ShapedArray(shape, self.out_dtype(*operands, **params), weak),)

    def jvp(self, primals: Values, tangents: Tangents, **params: Any) -> tuple:
        """Add up the contributions of the operands with a tangent."""
        partials = self._partials()
        out = self.bind(*primals, **params)[0]
        aval = typeof(out).tangent()
        if is_float0(aval):
            return (out,), (Zero(aval),)
        parts = [
            broadcast_elements(partial(tangent, out, *primals, **params), aval)
            for tangent, partial in zip(tangents, partials, strict=True)
            if partial is not None and type(tangent) is not Zero
        ]
        return (out,), (reduce(add_tangents, parts) if parts else Zero(aval),)

    def batch(self, axis: Axis, args: Values, dims: Dims, **params: Any) -> tuple:
        """Align the batch axes: in place when nothing forbids it, else in front."""
        given = list(zip(args, dims, strict=True))
        batched = [(dim, shape_of(x)) for x, dim in given if dim is not None]
        loose = all(dim is not None or shape_of(x) == () for x, dim in given)
        if loose and all(pair == batched[0] for pair in batched):
            return self.bind(*args, **params), (batched[0][0],)
        rank = max(len(shape_of(x)) + (dim is None) for x, dim in given)
        # Axes are brought to the front before ranks are made equal, as in JAX.
        fronted = [
            expand_to(x, None, rank) if dim is None else move_dim(x, dim, 0) for x, dim in given
        ]
        args = [
            x if dim is None else expand_to(x, 0, rank)
            for x, dim in zip(fronted, dims, strict=True)
        ]
        return self.bind(*args, **params), (0,)

    def scalar(self, b: Any, *scalars: Any, **params: Any) -> Any:
        """Return the result for one element; by default, by the kernel's operation."""
        return getattr(b, self.kernel_name)(*scalars)

    def lower(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Pull the operands' elements at the result's index."""
        if not self.kernel_name and type(self).scalar is Elementwise.scalar:
            return NotImplemented

        def pull(index: tuple) -> Any:
            """Return the element at `index`."""
            return self.scalar(b, *(_element(arg, index) for arg in args), **params)

        return (b.virtual(outs[0], pull),)

    def hlo(self, b: Any, args: Sequence, outs: Avals, **params: Any) -> tuple:
        """Stretch the operands, which StableHLO does not, and apply `hlo_name`."""
        if not self.hlo_name:
            return NotImplemented
        args = [stretched_hlo(b, arg, outs[0].shape) for arg in args]
        return b.op(self.hlo_name, args, outs, self.hlo_attributes(*outs, **params))

    def hlo_attributes(self, *outs: ShapedArray, **params: Any) -> dict[str, str]:
        """Return the attributes of the StableHLO operation, as text."""
        return {}

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Compute with NumPy in double precision, then round to the result's dtype."""
        with np.errstate(all="ignore"):
            aval = self.abstract(*map(typeof, arrays), **params)[0]
            result = type(self).numpy(*map(widened, arrays), **params)
            return (np.asarray(result).astype(aval.dtype).reshape(aval.shape),)

    def _partials(self) -> tuple[Partial | None, ...]:
        """Return the partials, or the error for an operation that has none."""
        if not self.partials:
            raise NotImplementedError(f"Differentiation rule for '{self}' not implemented")
        return self.partials

    def _check_kinds(self, avals: Sequence[ShapedArray]) -> None:
        """Raise TypeError for an operand of a dtype that is not accepted."""
        for position, aval in enumerate(avals):
            kinds = self.accepts[position if len(self.accepts) > 1 else 0]
            if any(dtypes.issubdtype(aval.dtype, kind) for kind in kinds):
                continue
            accepted = ", ".join(_KIND_NAMES[kind] for kind in kinds)
            where = f" at position {position}" if len(avals) > 1 else ""
            raise TypeError(
                f"{self.name} does not accept dtype {dtypes.dtype_name(aval.dtype)}{where}. "
                f"Accepted dtypes{where} are subtypes of {accepted}."
            )

    def _out_shape(self, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
        """Return the shape of the result, or raise TypeError for shapes that do not fit."""
        shapes = [aval.shape for aval in avals if aval.shape]
        if not shapes:
            return ()
        first = shapes[0]
        if all(shape == first for shape in shapes):
            return first
        ranks = {len(shape) for shape in shapes}
        if len(ranks) > 1:
            got = ", ".join(map(str, shapes))
            raise TypeError(
                f"{self.name}: arrays must have the same number of dimensions, got {ranks}, of "
                f"shapes {got}. Add axes by `expand_dims`, or use the function of `jax.numpy`."
            )
        out = []
        for extents in zip(*shapes, strict=True):
            wide = {extent for extent in extents if extent != 1}
            if len(wide) > 1:
                got = ", ".join(map(str, shapes))
                raise TypeError(
                    f"{self.name} got incompatible shapes for broadcasting: {got}."
                    f"{disagreement(shapes)}"
                )
            out.append(wide.pop() if wide else 1)
        return tuple(out)


def _element(x: Any, index: tuple) -> Any:
    """Return the scalar of the kernel value `x` that goes with the result's element at `index`."""
    if not x.shape:
        return x.at()
    if 1 not in x.shape:
        return x.at(*index)
    return x.at(*(0 if extent == 1 else i for extent, i in zip(x.shape, index, strict=True)))


def at_least_float32(dtype: np.dtype) -> np.dtype:
    """Return float32 for a narrower floating dtype, those of 8 bits too, which do not promote."""
    return dtype if dtype.itemsize >= 4 else np.dtype(np.float32)


def widened(x: np.ndarray) -> np.ndarray:
    """Return a floating or complex array in double precision; others as they are."""
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return x.astype(np.complex128)
    return x.astype(np.float64) if dtypes.issubdtype(x.dtype, np.floating) else x


def stretch(operand: Value, shape: tuple[int, ...]) -> Value:
    """Return a scalar, or an array with some extents of 1, stretched to `shape`.

    operand: (), or (s) with s[i] in (1, shape[i]) -> shape
    """
    own = shape_of(operand)
    if own == shape:
        return operand
    dims = tuple(range(len(own)))
    return apply("broadcast_in_dim", operand, shape=shape, broadcast_dimensions=dims, sharding=None)


def stretched_hlo(b: Any, arg: Any, shape: tuple[int, ...]) -> Any:
    """Return the StableHLO value `arg` stretched to `shape`."""
    if arg.aval.shape == shape:
        return arg
    dims = ", ".join(map(str, range(len(arg.aval.shape))))
    aval = arg.aval.update(shape=shape)
    attributes = {"broadcast_dimensions": f"array<i64: {dims}>" if dims else "array<i64>"}
    return b.op("stablehlo.broadcast_in_dim", [arg], (aval,), attributes)[0]


def extreme_hlo(b: Any, name: str, x: Any, y: Any) -> Any:
    """Write the operation `name`, "stablehlo.maximum" or "stablehlo.minimum", of two values.

    Of complex numbers, which it does not order, the real parts are compared, then the imaginary.
    """
    aval = x.aval
    if not dtypes.issubdtype(aval.dtype, np.complexfloating):
        return b.op(name, [x, y], [aval])[0]
    beats = "GT" if name == "stablehlo.maximum" else "LT"
    part = aval.update(dtype=np.empty(0, aval.dtype).real.dtype)
    flag = aval.update(dtype=np.dtype(bool))
    reals = [b.op("stablehlo.real", [z], [part])[0] for z in (x, y)]
    imags = [b.op("stablehlo.imag", [z], [part])[0] for z in (x, y)]
    ties = [b.compare("EQ", *reals), b.compare(beats, *imags)]
    wins = [b.compare(beats, *reals), *b.op("stablehlo.and", ties, [flag])]
    wins = [b.compare("NE", x, x), *b.op("stablehlo.or", wins, [flag])]
    (which,) = b.op("stablehlo.or", wins, [flag])
    return b.op("stablehlo.select", [which, x, y], [aval])[0]
