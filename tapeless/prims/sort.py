"""Sorting along one axis: sort of several operands together, and top_k.

    sort[dimension=0 num_keys=1]: (n, m), (n, m) -> (n, m), (n, m)    by the first operand's columns
    top_k[k=3]: (m, n) -> values (m, 3), indices (m, 3)               the largest, largest first

Elements are compared through `ordered`: a map to unsigned integers that turns every order into that
of integers.  Zeros of both signs are equal, NaNs are equal and last.  Complex numbers are ordered
by their real parts, then by their imaginary parts.  All sorts are stable.

Short lines are sorted by insertion, in the result's memory.  Long ones by counting digits, from the
least significant up: every digit is one pass that counts, and one that moves elements (and the
numbers of their places, when other operands have to follow).  top_k keeps the best k seen so far in
order, or sorts, if k is large.

The tangents follow their elements: they are gathered by the sorted positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim, inserted, move_dim, shape_of
from tapeless.prims.create import broadcasted_iota
from tapeless.prims.gather import gather
from tapeless.prims.indexing import GatherDimensionNumbers
from tapeless.prims.rules import canonical_axis, is_complex, require_order
from tapeless.prims.slice import slice_in_dim
from tapeless.prims.structural import broadcast_in_dim, reshape, rev
from tapeless.util import lazy

__all__ = ["sort", "sort_key_val", "sort_p", "top_k", "top_k_p"]

kernel_parts = lazy.load("tapeless.kernel.parts")

SHORT = 48  # up to this length insertion is faster than counting
LONG = 1 << 14  # from this length digits of 11 bits pay
KEPT = 64  # up to this k top_k keeps its candidates in order
SKIPPED = 64  # elements that are compared with the worst candidate at once
_I64 = np.dtype(np.int64)
_I32 = np.dtype(np.int32)
_BOOL = ShapedArray((), np.bool_)


def _repeated(x: Any, dim: int, size: int) -> Any:
    """Return `x` with a new axis `dim` along which it is repeated."""
    shape = shape_of(x)
    dims = tuple(axis + (axis >= dim) for axis in range(len(shape)))
    return broadcast_in_dim(x, inserted(shape, dim, size), dims)


def _word(dtype: Any) -> np.dtype:
    """Return the unsigned dtype of the same width, or of a byte for narrower ones."""
    return np.dtype(f"uint{max(8, dtypes.itemsize_bits(dtype))}")


def ordered(b: Any, x: Any) -> Any:
    """Return the unsigned integer that orders the real scalar x."""
    dtype, word = x.dtype, _word(x.dtype)
    bits = 8 * word.itemsize
    if dtype == np.bool_ or dtypes.issubdtype(dtype, np.unsignedinteger):
        return b.convert(x, word)
    top = b.const(1 << (bits - 1), word)
    if dtypes.issubdtype(dtype, np.signedinteger):
        return b.xor(b.bitcast(b.convert(x, np.dtype(f"int{bits}")), word), top)
    x = b.select(b.eq(x, 0.0), b.const(0.0, dtype), x)
    number = b.bitcast(x, word)
    negative = b.shift_right_logical(number, bits - 1)
    flipped = b.xor(number, b.or_(b.sub(b.const(0, word), negative), top))
    return b.select(b.ne(x, x), b.const((1 << bits) - 1, word), flipped)


def _keys_of(b: Any, x: Any) -> list[Any]:
    """Return the unsigned integers that order an element, the most significant first."""
    if isinstance(x, kernel_parts.Pair):
        return [ordered(b, x.re), ordered(b, x.im)]
    return [ordered(b, x)]


def _less(b: Any, left: Sequence[Any], right: Sequence[Any]) -> Any:
    """Compare two lists of integers lexicographically."""
    result = b.lt(left[-1], right[-1])
    for x, y in zip(reversed(left[:-1]), reversed(right[:-1]), strict=True):
        result = b.or_(b.lt(x, y), b.and_(b.eq(x, y), result))
    return result


def _line(index: Sequence[Any], axis: int, i: Any) -> tuple[Any, ...]:
    """Return the index of element i of a line along `axis`."""
    return (*index[:axis], i, *index[axis:])


def _insert(
    b: Any,
    targets: Sequence,
    place: Callable,
    last: Any,
    elements: Sequence,
    before: Callable,
) -> None:
    """Put `elements` into the ordered lines `targets`, at `last` or further front.

    place(j) is the index of position j; before(j) tells whether the elements go before those at j.
    Elements in between move back by one.
    """
    spot = b.buffer(ShapedArray((), _I64))
    b.store(spot, (), b.convert(last, _I64))

    def blocked() -> Any:
        """Tell whether the element in front has to move."""
        here = spot.at()
        front = b.max(b.sub(here, 1), 0)
        return b.and_(b.gt(here, 0), before(front))

    def move() -> None:
        """Move it."""
        here = spot.at()
        for target in targets:
            b.store(
                target,
                place(here),
                b.let(target.at(*place(b.sub(here, 1)))),
            )
        b.store(spot, (), b.sub(spot.at(), 1))

    b.while_loop(blocked, move)
    here = b.let(spot.at())
    for target, element in zip(targets, elements, strict=True):
        b.store(target, place(here), element)


def _insertion_sort(b: Any, targets: Sequence, axis: int, num_keys: int) -> None:
    """Sort the lines of `targets` in place."""
    shape = targets[0].shape

    def run(line: Sequence[Any]) -> None:
        """Sort one line."""

        def place(j: Any) -> tuple[Any, ...]:
            """Return the index of position j."""
            return _line(line, axis, j)

        def step(i: Any) -> None:
            """Insert element i + 1 among those before it."""
            at = b.iadd(i, 1)
            elements = [b.let(target.at(*place(at))) for target in targets]
            mine = [b.let(key) for x in elements[:num_keys] for key in _keys_of(b, x)]

            def before(j: Any) -> Any:
                """Compare with the element at j."""
                theirs = (targets[k].at(*place(j)) for k in range(num_keys))
                return _less(
                    b,
                    mine,
                    [key for x in theirs for key in _keys_of(b, x)],
                )

            _insert(b, targets, place, at, elements, before)

        b.loop(shape[axis] - 1, step, independent=False)

    b.nest((*shape[:axis], *shape[axis + 1 :]), run)


class _Counting:
    """A sort of one line by counting digits; its memory is used for one line after the other."""

    def __init__(self, b: Any, size: int, follow: bool) -> None:
        """size: the length of the line; follow: whether positions are wanted."""
        self.b = b
        self.size = size
        self.counts = b.buffer(ShapedArray((1 << (11 if size >= LONG else 8),), _I64))
        shape = ShapedArray((size,), _I32)
        self.positions = [b.buffer(shape), b.buffer(shape)] if follow else []
        self.words: dict[Any, list[Any]] = {}

    def sort(
        self,
        raw: Callable[[Any], Any],
        key: Callable[[Any], Any],
        first: bool,
    ) -> Any:
        """Sort by one key; return the stored line of what `raw` gives.

        raw(i): the element at position i of the operand; key: from such an element to an unsigned
        integer; first: whether there is no order yet.
        """
        b = self.b
        dtype = raw(0).dtype
        shape = ShapedArray((self.size,), dtype)
        lines = self.words.get(dtype) or [
            b.buffer(shape),
            b.buffer(shape),
        ]
        self.words[dtype] = lines

        def start(i: Any) -> None:
            """Load one element, in the order so far."""
            if self.positions and first:
                b.store(self.positions[0], i, b.convert(i, _I32))
            at = i if first else b.convert(self.positions[0].at(i), _I64)
            b.store(lines[0], i, raw(at))

        b.loop(self.size, start)
        bits = 8 * _word(dtype).itemsize
        width = 11 if self.size >= LONG and bits > 16 else 8
        for shift in range(0, bits, width):
            self._pass(lines, key, shift, width)
            lines.reverse()
            self.positions.reverse()
        return lines[0]

    def _pass(
        self,
        lines: Sequence,
        key: Callable[[Any], Any],
        shift: int,
        width: int,
    ) -> None:
        """Move the elements of lines[0] to lines[1], in the order of the digit at bit `shift`."""
        b, counts = self.b, self.counts
        n_digits = 1 << width

        def digit(i: Any) -> Any:
            """Return the digit of element i."""
            word = b.shift_right_logical(key(lines[0].at(i)), shift)
            return b.convert(b.and_(word, b.const(n_digits - 1, word.dtype)), _I64)

        def count(i: Any) -> None:
            """Count one digit."""
            b.store(counts, digit(i), b.const(1, _I64), accumulate="add")

        def place(i: Any) -> None:
            """Move one element to the next place of its digit."""
            at = b.let(digit(i))
            spot = b.let(counts.at(at))
            b.store(lines[1], spot, lines[0].at(i))
            if self.positions:
                b.store(self.positions[1], spot, self.positions[0].at(i))
            b.store(counts, at, b.add(spot, 1))

        total = b.buffer(ShapedArray((), _I64))

        def begin(k: Any) -> None:
            """Turn a count into the first place of its digit."""
            amount = b.let(counts.at(k))
            b.store(counts, k, b.let(total.at()))
            b.store(total, (), b.let(b.add(total.at(), amount)))

        b.loop(n_digits, lambda k: b.store(counts, k, b.const(0, _I64)))
        b.loop(self.size, count, independent=False)
        b.store(total, (), b.const(0, _I64))
        b.loop(n_digits, begin, independent=False)
        b.loop(self.size, place, independent=False)


def _counting_sort(b: Any, args: Sequence, outs: Sequence, axis: int, num_keys: int) -> list:
    """Sort every line by counting; return the stored results."""
    shape = outs[0].shape
    single = len(args) == 1 and not is_complex(outs[0].dtype)
    targets = [b.buffer(out) for out in outs]
    sorter = _Counting(b, shape[axis], not single)
    sources = [b.stored(x) for x in args]
    parts = [
        (k, p) for k in range(num_keys) for p in ((1, 0) if is_complex(outs[k].dtype) else (None,))
    ]

    def run(line: Sequence[Any]) -> None:
        """Sort one line."""
        first = True
        for k, part in sorted(parts, key=lambda pair: -pair[0]):

            def raw(i: Any, k: int = k, part: int | None = part) -> Any:
                """Return the real scalar that is compared."""
                element = sources[k].at(*_line(line, axis, i))
                return element if part is None else element[part]

            result = sorter.sort(raw, lambda x: ordered(b, x), first)
            first = False

        def finish(i: Any) -> None:
            """Store the elements in their order."""
            at = _line(line, axis, i)
            if single:
                b.store(targets[0], at, result.at(i))
                return
            old = b.convert(sorter.positions[0].at(i), _I64)
            for target, source in zip(targets, sources, strict=True):
                b.store(target, at, source.at(*_line(line, axis, old)))

        b.loop(shape[axis], finish)

    _in_turn(b, (*shape[:axis], *shape[axis + 1 :]), run)
    return targets


def _in_turn(b: Any, shape: Sequence[int], body: Callable[[tuple], None]) -> None:
    """Run `body` for all indices below `shape`, one after the other."""

    def level(index: tuple) -> None:
        """Open the loop over the next axis."""
        if len(index) == len(shape):
            body(index)
        elif shape[len(index)] == 1:
            level((*index, 0))
        else:
            b.loop(
                shape[len(index)],
                lambda i: level((*index, i)),
                independent=False,
            )

    level(())


class Sort(Primitive):
    """Operands (n, m) -> the same, every line along `dimension` in the order of the first keys."""

    name = "sort"

    def abstract(
        self,
        *avals: ShapedArray,
        dimension: int,
        is_stable: bool,
        num_keys: int,
    ) -> tuple[ShapedArray, ...]:
        if any(aval.shape != avals[0].shape for aval in avals):
            shapes = " ".join(str(aval.shape) for aval in avals)
            raise TypeError(f"Arguments to sort must have equal shapes, got: {shapes}")
        for aval in avals[:num_keys]:
            require_order(aval, "lt_to")
        return avals

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        shape, axis = shape_of(primals[0]), params["dimension"]
        dtype = np.uint32 if shape[axis] < 2**32 else np.uint64
        numbers = broadcasted_iota(dtype, shape, axis)
        *outs, order = self.bind(*primals, numbers, **params)
        others = tuple(np.delete(np.arange(len(shape), dtype=np.int64), axis))
        places = broadcast_in_dim(order, (*shape, 1), tuple(range(len(shape))))
        return tuple(outs), tuple(
            Zero(typeof(out).tangent()) if isinstance(t, Zero) else _follow(t, places, axis, others)
            for t, out in zip(tangents, outs, strict=True)
        )

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        dimension: int,
        **params: Any,
    ) -> tuple:
        dim = next(dim for dim in dims if dim is not None)
        args = [
            _repeated(x, dim, axis.size) if d is None else move_dim(x, d, dim)
            for x, d in zip(args, dims, strict=True)
        ]
        outs = self.bind(*args, dimension=dimension + (dim <= dimension), **params)
        return outs, (dim,) * len(outs)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        dimension: int,
        num_keys: int,
        **params: Any,
    ) -> tuple:
        size = outs[0].shape[dimension] if outs[0].shape else 1
        if size > SHORT and outs[0].size:
            return tuple(_counting_sort(b, args, outs, dimension, num_keys))
        targets = [b.buffer(out) for out in outs]
        for target, x in zip(targets, args, strict=True):
            b.assign(target, x)
        if size > 1:
            _insertion_sort(b, targets, dimension, num_keys)
        return tuple(targets)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        dimension: int,
        num_keys: int,
        **params: Any,
    ) -> tuple:
        """Compare the keys of two places one after the other, until one pair differs."""
        scalars = [out.update(shape=()) for out in outs for _ in range(2)]

        def less(*pairs: Any) -> tuple:
            """Tell whether the first of two places comes before the second."""
            first, second = (
                [part for x in pairs[side : 2 * num_keys : 2] for part in _ordered_parts(b, x)]
                for side in range(2)
            )
            result = None
            for x, y in reversed(list(zip(first, second, strict=True))):
                before = b.compare("LT", x, y, total=True)
                if result is not None:
                    same = b.compare("EQ", x, y, total=True)
                    rest = b.op("stablehlo.and", [same, result], [_BOOL])
                    (before,) = b.op("stablehlo.or", [before, *rest], [_BOOL])
                result = before
            return (result,)

        attributes = {
            "dimension": f"{dimension} : i64",
            "is_stable": str(params["is_stable"]).lower(),
        }
        return b.op(
            "stablehlo.sort",
            args,
            outs,
            attributes,
            [b.region(scalars, less)],
        )

    def reference(
        self,
        *arrays: np.ndarray,
        dimension: int,
        is_stable: bool,
        num_keys: int,
    ) -> tuple:
        keys = [array + np.zeros((), array.dtype) for array in reversed(arrays[:num_keys])]
        order = np.lexsort(keys, axis=dimension)
        return tuple(np.take_along_axis(array, order, dimension) for array in arrays)


def _ordered_parts(b: Any, x: Any) -> list:
    """Return the scalars that decide, in order, where a scalar of StableHLO is sorted.

    Floats are to be compared by the total order: -0 becomes 0, and every NaN the same one.
    """
    aval = x.aval
    if is_complex(aval.dtype):
        part = aval.update(dtype=np.dtype(f"float{aval.dtype.itemsize * 4}"))
        names = ("stablehlo.real", "stablehlo.imag")
        return [_canonical(b, b.op(name, [x], [part])[0]) for name in names]
    return [_canonical(b, x)] if dtypes.issubdtype(aval.dtype, np.floating) else [x]


def _canonical(b: Any, x: Any) -> Any:
    """Return a float with one zero and one NaN."""
    zero = b.compare("EQ", x, b.constant(0, x.aval))
    (result,) = b.op("stablehlo.select", [zero, b.constant(0, x.aval), x], [x.aval])
    nan = b.compare("NE", x, x)
    return b.op("stablehlo.select", [nan, b.constant(np.nan, x.aval), result], [x.aval])[0]


def _follow(t: Value, places: Value, axis: int, others: Sequence[int]) -> Value:
    """Gather a tangent at sorted places: t (n, m), places (k, m, 1), axis 0 -> (k, m)."""
    kept = shape_of(places)[:-1]
    if 0 in kept:
        return slice_in_dim(t, 0, kept[axis], axis=axis)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), tuple(others), tuple(others))
    sizes = (1,) * len(shape_of(t))
    return gather(t, places, numbers, sizes, mode="promise_in_bounds")


class TopK(Primitive):
    """x (m, n) -> the k largest of every line and their places, largest first."""

    name = "top_k"

    def abstract(
        self, x: ShapedArray, *, axis: int, is_stable: bool, k: int
    ) -> tuple[ShapedArray, ...]:
        if is_complex(x.dtype):
            raise ValueError("top_k is not compatible with complex inputs.")
        require_order(x, "top_k")
        if k < 0:
            raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
        if k > x.shape[axis]:
            raise ValueError(
                "k argument to top_k must be no larger than size along axis; "
                f"got k={k} with shape={list(x.shape)} and axis={axis}"
            )
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
        return ShapedArray(shape, x.dtype, x.weak_type), ShapedArray(shape, _I32)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Value | Zero],
        **params: Any,
    ) -> tuple:
        values, places = self.bind(*primals, **params)
        no_tangent = Zero(typeof(places).tangent())
        if isinstance(tangents[0], Zero):
            return (values, places), (
                Zero(typeof(values).tangent()),
                no_tangent,
            )
        axis, shape = params["axis"], shape_of(places)
        others = tuple(other for other in range(len(shape)) if other != axis)
        column = reshape(places, (*shape, 1))
        return (values, places), (
            _follow(tangents[0], column, axis, others),
            no_tangent,
        )

    def batch(
        self,
        batch_axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        axis: int,
        **params: Any,
    ) -> tuple:
        dim = batch_dim(dims)
        return self.bind(*args, axis=axis + (dim <= axis), **params), (dim, dim)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        axis: int,
        is_stable: bool,
        k: int,
    ) -> tuple:
        (x,) = args
        targets = [b.buffer(out) for out in outs]
        if outs[0].size == 0:
            return tuple(targets)
        if k > KEPT:
            _top_by_sorting(b, b.stored(x), targets, axis, k)
        else:
            _top_by_keeping(b, x, targets, axis, k)
        return tuple(targets)

    def decompose(self, *args: Value, axis: int, k: int, **params: Any) -> tuple:
        """Sort backwards, so that of equal elements the first comes last, and turn around."""
        (x,) = args
        shape = shape_of(x)
        operands = [rev(z, (axis,)) for z in (x, broadcasted_iota(_I32, shape, axis))]
        outs = sort_p.bind(*operands, dimension=axis, is_stable=True, num_keys=1)
        return tuple(slice_in_dim(rev(z, (axis,)), 0, k, axis=axis) for z in outs)

    def reference(self, x: np.ndarray, *, axis: int, is_stable: bool, k: int) -> tuple:
        flipped = np.flip(x, axis)
        order = np.flip(np.argsort(flipped, axis, kind="stable"), axis)
        order = x.shape[axis] - 1 - np.take(order, range(k), axis)
        return np.take_along_axis(x, order, axis), order.astype(np.int32)


def _top_by_keeping(b: Any, x: Any, targets: Sequence, axis: int, k: int) -> None:
    """Walk every line once, and keep the best k of it in the results, in order.

    Few elements are better than the best k before them, so that most blocks are passed over.
    """
    shape = x.shape
    values = targets[0]

    def run(line: Sequence[Any]) -> None:
        """Walk one line."""

        def place(j: Any) -> tuple[Any, ...]:
            """Return the index of position j."""
            return _line(line, axis, j)

        def step(i: Any) -> None:
            """Insert element i if it is better than the worst kept."""
            element = b.let(x.at(*place(i)))
            mine = b.let(ordered(b, element))

            def before(j: Any) -> Any:
                """Tell whether the element is better than the one kept at j."""
                return b.gt(mine, ordered(b, values.at(*place(j))))

            position = b.convert(i, _I64)
            last = b.min(position, k - 1)

            def insert() -> None:
                """Insert it."""
                pair = (element, b.convert(position, _I32))
                _insert(b, targets, place, last, pair, before)

            b.when(b.or_(b.lt(position, k), before(k - 1)), insert)

        def block(number: Any) -> None:
            """Insert elements of a block, unless none is better than the worst kept."""
            first = b.imul(number, SKIPPED)
            worst = b.let(ordered(b, values.at(*place(k - 1))))

            def better(inner: Sequence[Any]) -> Any:
                """Tell whether an element is better."""
                return b.gt(ordered(b, x.at(*place(b.iadd(first, inner[0])))), worst)

            some = b.fold((SKIPPED,), better, "or", False)
            some = b.or_(b.lt(b.convert(first, _I64), k), some)
            walk = lambda j: step(b.iadd(first, j))  # noqa: E731
            b.when(some, lambda: b.loop(SKIPPED, walk, independent=False))

        n_blocks = shape[axis] // SKIPPED
        b.loop(n_blocks, block, independent=False)
        done = n_blocks * SKIPPED
        rest = lambda j: step(b.iadd(j, done))  # noqa: E731
        b.loop(shape[axis] - done, rest, independent=False)

    b.nest((*shape[:axis], *shape[axis + 1 :]), run)


def _top_by_sorting(b: Any, x: Any, targets: Sequence, axis: int, k: int) -> None:
    """Sort every line downwards and keep the first k."""
    shape = x.shape
    sorter = _Counting(b, shape[axis], True)

    def downwards(element: Any) -> Any:
        """Return the integer that orders elements downwards."""
        return b.not_(ordered(b, element))

    def run(line: Sequence[Any]) -> None:
        """Sort one line."""
        best = sorter.sort(lambda i: x.at(*_line(line, axis, i)), downwards, True)

        def finish(i: Any) -> None:
            """Store one of the k."""
            at = _line(line, axis, i)
            b.store(targets[0], at, best.at(i))
            b.store(targets[1], at, sorter.positions[0].at(i))

        b.loop(k, finish)

    _in_turn(b, (*shape[:axis], *shape[axis + 1 :]), run)


sort_p = Sort()
top_k_p = TopK()


def sort(
    operand: Value | Sequence[Value],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Value | tuple[Value, ...]:
    """Return `operand` sorted along `dimension`: (n,) -> (n,).

    Several operands are sorted together, by the first `num_keys` of them, lexicographically.
    """
    several = isinstance(operand, (list, tuple))
    operands = tuple(operand) if several else (operand,)
    if not operands:
        raise TypeError("Sort requires at least one operand")
    if not 1 <= num_keys <= len(operands):
        text = f"num_keys={num_keys} must be between 1 and len(operand)={len(operands)}"
        raise ValueError(text)
    axis = canonical_axis(dimension, len(shape_of(operands[0])))
    outs = sort_p.bind(
        *operands,
        dimension=axis,
        is_stable=is_stable,
        num_keys=num_keys,
    )
    return tuple(outs) if several else outs[0]


def sort_key_val(
    keys: Value,
    values: Value,
    dimension: int = -1,
    is_stable: bool = True,
) -> tuple[Value, Value]:
    """Return `keys` sorted along `dimension`, and `values` in the same order: (n,), (n,)."""
    return sort((keys, values), dimension, is_stable)


def top_k(operand: Value, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Value]:
    """Return the k largest elements along `axis`, largest first, and their positions.

    operand: (m, n) -> (m, k), int32 (m, k).  Of equal elements the first ones win.

    >>> lax.top_k(jnp.array([3, 9, 5]), 2)
    [Array([9, 5], dtype=int32), Array([1, 2], dtype=int32)]
    """
    axis = canonical_axis(axis, len(shape_of(operand)))
    return list(top_k_p.bind(operand, axis=axis, is_stable=is_stable, k=int(k)))
