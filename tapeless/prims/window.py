"""Reductions over windows that slide along an array: pooling.

    reduce_window_max[window_dimensions=(3,) window_strides=(2,)]: (n) -> (m)
        y[i] = max over k < 3 of x[2 i + k]

The operand is first stretched by `base_dilation` (holes between the elements), then padded;
elements of a window are `window_dilation` apart.  Holes and padding hold the neutral element.

A sum of windows is linear; its transpose pads the cotangent and sums windows again.  The tangent of
a window's extreme is the tangent of the element that attains it first: `select_and_gather_add`
finds it, and its transpose, `select_and_scatter_add`, adds the cotangent there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim, batch_dim_to, const, shape_of
from tapeless.prims.compare import ge_p, le_p
from tapeless.prims.rearrangement import array_text, pairs_text
from tapeless.prims.rules import LinearUnary, highest, lowest, tangent_of
from tapeless.prims.slice import pad

__all__ = [
    "MOST_WRITTEN_OUT",
    "Windows",
    "batched_window",
    "fold_window",
    "padtype_to_pads",
    "reduce_window_max",
    "reduce_window_max_p",
    "reduce_window_min",
    "reduce_window_min_p",
    "reduce_window_shape_tuple",
    "reduce_window_sum",
    "reduce_window_sum_p",
    "select_and_gather_add_p",
    "select_and_scatter_add_p",
    "transposed_padding",
    "window_attributes",
    "window_params",
]

MOST_WRITTEN_OUT = 32  # elements of a window, whose places then are known
Shape = Sequence[int]
Padding = Sequence[tuple[int, int]]
PARAMETERS = (
    "window_dimensions",
    "window_strides",
    "padding",
    "base_dilation",
    "window_dilation",
)


def dilated(extent: int, dilation: int) -> int:
    """Return the extent of an axis with holes between its elements."""
    return 0 if extent == 0 else (extent - 1) * dilation + 1


def padtype_to_pads(
    in_shape: Shape, window_shape: Shape, window_strides: Shape, padding: str
) -> list[tuple[int, int]]:
    """Return the padding, per axis (before, after), that "SAME", "SAME_LOWER" or "VALID" means.

    SAME makes ceil(extent / stride) windows; an odd element goes after, or before for SAME_LOWER.

    >>> lax.padtype_to_pads((5, 5), (2, 2), (1, 1), "SAME")
    [(0, 1), (0, 1)]
    """
    name = padding.upper() if isinstance(padding, str) else padding
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}."
        )
    pads = []
    for extent, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        count = -(-extent // stride)
        total = max((count - 1) * stride + window - extent, 0)
        small, large = total // 2, total - total // 2
        pads.append((small, large) if name == "SAME" else (large, small))
    return pads


def reduce_window_shape_tuple(
    operand_shape: Shape,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Padding,
    base_dilation: Shape | None = None,
    window_dilation: Shape | None = None,
) -> tuple[int, ...]:
    """Return the number of windows along each axis.

    >>> lax.reduce_window_shape_tuple((5, 5), (2, 2), (1, 1), ((0, 0), (0, 0)))
    (4, 4)
    """
    rank = len(operand_shape)
    shape = []
    axes = zip(
        operand_shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation or (1,) * rank,
        window_dilation or (1,) * rank,
        strict=True,
    )
    for extent, window, stride, (low, high), base, step in axes:
        room = dilated(extent, base) + low + high - dilated(window, step)
        shape.append(0 if room < 0 else room // stride + 1)
    return tuple(shape)


def window_params(
    operand_shape: Shape,
    window_dimensions: Shape,
    window_strides: Shape | None,
    padding: str | Padding,
    base_dilation: Shape | None,
    window_dilation: Shape | None,
) -> dict[str, Any]:
    """Return the parameters of a windowed operation, defaults and padding names resolved."""
    rank = len(operand_shape)
    ones = (1,) * rank
    window = tuple(map(int, window_dimensions))
    strides = ones if window_strides is None else tuple(map(int, window_strides))
    base = ones if base_dilation is None else tuple(map(int, base_dilation))
    steps = ones if window_dilation is None else tuple(map(int, window_dilation))
    for name, values in (
        ("window_dimensions", window),
        ("window_strides", strides),
        ("base_dilation", base),
        ("window_dilation", steps),
    ):
        if len(values) != rank:
            raise TypeError(
                f"reduce_window got the wrong number of {name} for operand: got operand shape "
                f"{tuple(operand_shape)} with {name} {values}."
            )
        if any(value <= 0 for value in values):
            raise TypeError(
                f"reduce_window {name} must have every element be strictly positive, got {values}."
            )
    if isinstance(padding, str):
        spans = [dilated(n, d) for n, d in zip(window, steps, strict=True)]
        padding = padtype_to_pads(operand_shape, spans, strides, padding)  # no holes, as in JAX
    pads = tuple((int(low), int(high)) for low, high in padding)
    return dict(zip(PARAMETERS, (window, strides, pads, base, steps), strict=True))


class Windows:
    """Where the elements of the windows of an array are."""

    def __init__(self, shape: Shape, params: dict[str, Any]) -> None:
        """shape: the operand's; params: as of `reduce_window_sum`."""
        rank = len(shape)
        self.shape = tuple(shape)
        self.window = tuple(params["window_dimensions"])
        self.strides = params["window_strides"]
        self.padding = params["padding"]
        self.base = params.get("base_dilation", (1,) * rank)
        self.steps = params.get("window_dilation", (1,) * rank)
        self.count = reduce_window_shape_tuple(
            shape, self.window, self.strides, self.padding, self.base, self.steps
        )

    def place(
        self, b: Any, index: Sequence[Any], inner: Sequence[Any]
    ) -> tuple[tuple[list[Any], list[Any]], Any]:
        """Return the operand's index of element `inner` of window `index`, and whether it exists.

        The index is followed by the nearest one in bounds; the answer is None where every element
        exists.
        """
        place, nearest, inside = [], [], None
        for axis, (i, k) in enumerate(zip(index, inner, strict=True)):
            low, high = self.padding[axis]
            at = b.iadd(b.imul(i, self.strides[axis]), b.imul(k, self.steps[axis]))
            at = b.iadd(at, -low)
            base, extent = self.base[axis], dilated(self.shape[axis], self.base[axis])
            if low <= 0 and high <= 0 and base == 1:
                place.append(at)
                nearest.append(at)
                continue
            fits = b.and_(b.ge(at, 0), b.lt(at, extent))
            safe = b.max(b.min(at, extent - 1), 0)
            if base != 1:
                fits = b.and_(fits, b.eq(b.rem(safe, base), 0))
                at = safe = b.div(safe, base)
            place.append(at)
            nearest.append(safe)
            inside = fits if inside is None else b.and_(inside, fits)
        return (place, nearest), inside

    def numpy_elements(self, x: np.ndarray, index: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the operand's indices of the elements of window `index`, for references."""
        found = []
        for inner in np.ndindex(*self.window):
            spot = np.multiply(index, self.strides) + np.multiply(inner, self.steps)
            spot = spot - np.array([low for low, _ in self.padding], int)
            if np.all(spot >= 0) and np.all(spot % self.base == 0):
                spot = spot // self.base
                if np.all(spot < x.shape):
                    found.append(tuple(map(int, spot)))
        return found


def fold_window(
    b: Any, windows: Windows, values: Sequence, inits: Sequence, combine: Any
) -> Callable[[Sequence[Any]], Any]:
    """Return the pull that folds the windows of several arrays together.

    combine: as for `b.fold`; with a single array, elements instead of tuples.
    """

    def pull(index: Sequence[Any]) -> Any:
        """Fold one window."""

        def element(inner: Sequence[Any]) -> Any:
            """Return one element of the window, or the neutral element."""
            places, inside = windows.place(b, index, inner)
            found = tuple(
                b.read_inside(x, inside, places, y) for x, y in zip(values, inits, strict=True)
            )
            return found if len(values) > 1 else found[0]

        start = tuple(inits) if len(values) > 1 else inits[0]
        return b.fold(windows.window, element, combine, start, MOST_WRITTEN_OUT)

    return pull


def batched_window(params: dict[str, Any], dim: int) -> dict[str, Any]:
    """Return the parameters for an operand with a batch axis at `dim`: windows of extent 1."""
    neutral = {"padding": (0, 0)}
    out = dict(params)
    for name in PARAMETERS:
        if name in params:
            values = list(params[name])
            values.insert(dim, neutral.get(name, 1))
            out[name] = tuple(values)
    return out


def window_attributes(params: dict[str, Any]) -> dict[str, str]:
    """Return the StableHLO attributes of windows."""
    attributes = {
        "window_dimensions": array_text(params["window_dimensions"]),
        "window_strides": array_text(params["window_strides"]),
        "padding": pairs_text(params["padding"]),
    }
    for name in ("base_dilation", "window_dilation"):
        if name in params:
            attributes[f"{name}s"] = array_text(params[name])
    return attributes


class ReduceWindow(Primitive):
    """Fold the elements of every window with one binary operation."""

    combine: str
    hlo_name: str
    ufunc: Any
    neutral: Callable[[Any], Any]

    def abstract(self, x: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        if not dtypes.issubdtype(x.dtype, np.number) and self.combine == "add":
            name = dtypes.dtype_name(x.dtype)
            raise TypeError(f"operand to {self.name} must have a number dtype, got {name}")
        return (x.update(shape=Windows(x.shape, params).count),)

    def batch(self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any) -> tuple:
        dim = batch_dim(dims)
        return self.bind(*args, **batched_window(params, dim)), (dim,)

    def lower(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        (x,), (out,) = args, outs
        init = b.const(type(self).neutral(x.dtype), x.dtype)
        return (
            b.virtual(out, fold_window(b, Windows(x.shape, params), (x,), (init,), self.combine)),
        )

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        scalar = outs[0].update(shape=())
        init = b.broadcast(b.constant(type(self).neutral(scalar.dtype), scalar), scalar)
        region = b.region([scalar] * 2, lambda x, y: b.op(self.hlo_name, [x, y], [scalar]))
        attributes = window_attributes(params)
        return b.op("stablehlo.reduce_window", [*args, init], outs, attributes, [region])

    def reference(self, x: np.ndarray, **params: Any) -> tuple:
        windows = Windows(x.shape, params)
        out = np.full(windows.count, type(self).neutral(x.dtype), x.dtype)
        for index in np.ndindex(*windows.count):
            for spot in windows.numpy_elements(x, index):
                out[index] = self.ufunc(out[index], x[spot])
        return (out,)


def transposed_padding(
    in_shape: Shape,
    window: Shape,
    strides: Shape,
    out_shape: Shape,
    padding: Padding,
    base: Shape,
    steps: Shape,
) -> list[tuple[np.int64, np.int64]]:
    """Return the padding with which windows over the cotangent give the operand's cotangent."""
    pads = []
    axes = zip(in_shape, window, strides, out_shape, padding, base, steps, strict=True)
    for extent, size, stride, count, (low, _), hole, step in axes:
        reach = dilated(size, step) - 1
        before = reach - low
        after = dilated(extent, hole) + reach - dilated(count, stride) - before
        pads.append((np.int64(before), np.int64(after)))
    return pads


class ReduceWindowSum(LinearUnary, ReduceWindow):
    """The sums of the windows; linear."""

    name = "reduce_window_sum"
    combine = "add"
    hlo_name = "stablehlo.add"
    ufunc = np.add

    @staticmethod
    def neutral(dtype: Any) -> Any:
        """Return 0."""
        return 0

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        (ct,), (x,) = cotangents, args
        if isinstance(ct, Zero):
            return (Zero(x.aval),)
        window, strides, padding, base, steps = (params[name] for name in PARAMETERS)
        pads = transposed_padding(x.aval.shape, window, strides, shape_of(ct), padding, base, steps)
        config = [(*pair, stride - 1) for pair, stride in zip(pads, strides, strict=True)]
        padded = pad(ct, const(ct, 0), tuple(config))
        ones, no_pads = (1,) * len(window), ((0, 0),) * len(window)
        new = (window, tuple(base), no_pads, ones, steps)
        return self.bind(padded, **dict(zip(PARAMETERS, new, strict=True)))


class ReduceWindowExtreme(ReduceWindow):
    """The largest or least element of every window."""

    select_prim: Primitive

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        (x,), (t,) = primals, tangents
        (out,) = self.bind(x, **params)
        prim, chosen = select_and_gather_add_p, self.select_prim
        tangent = tangent_of(lambda t: prim.bind(t, x, select_prim=chosen, **params)[0], t, out)
        return (out,), (tangent,)


class ReduceWindowMax(ReduceWindowExtreme):
    """The largest element of every window."""

    name = "reduce_window_max"
    combine = "max"
    hlo_name = "stablehlo.maximum"
    ufunc = np.maximum
    neutral = staticmethod(lowest)
    select_prim = ge_p


class ReduceWindowMin(ReduceWindowExtreme):
    """The least element of every window."""

    name = "reduce_window_min"
    combine = "min"
    hlo_name = "stablehlo.minimum"
    ufunc = np.minimum
    neutral = staticmethod(highest)
    select_prim = le_p


def _keeps(b: Any, select_prim: Primitive, best: Any, new: Any) -> Any:
    """Tell whether the best element so far stays: `select_prim` is ge or le."""
    return b.ge(best, new) if select_prim is ge_p else b.le(best, new)


def _worst(select_prim: Primitive, dtype: Any) -> Any:
    """Return the element that every other one replaces."""
    return lowest(dtype) if select_prim is ge_p else highest(dtype)


class SelectAndGatherAdd(Primitive):
    """tangents, operand: (n) -> (m): of every window, the tangent where the operand is extreme."""

    name = "select_and_gather_add"

    def abstract(
        self, t: ShapedArray, x: ShapedArray, *, select_prim: Primitive, **params: Any
    ) -> tuple[ShapedArray, ...]:
        if t.shape != x.shape:
            text = f"select_and_gather_add tangents and operand shapes must match, got {t.shape} "
            raise TypeError(text + f"and {x.shape}.")
        return (t.update(shape=Windows(x.shape, params).count),)

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        t, x = primals
        (out,) = self.bind(t, x, **params)
        return (out,), (tangent_of(lambda dt: self.bind(dt, x, **params)[0], tangents[0], out),)

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        (ct,), (t, x) = cotangents, args
        if any(step != 1 for step in params["window_dilation"]):
            raise NotImplementedError(
                "VJP not implemented for select_and_gather (MaxPool) with window dilation, got "
                f"window_dilation={params['window_dilation']}."
            )
        if any(hole != 1 for hole in params["base_dilation"]):
            raise NotImplementedError(
                "VJP not implemented for select_and_gather (MaxPool) with base dilation, got "
                f"base_dilation={params['base_dilation']}."
            )
        if isinstance(ct, Zero):
            return Zero(t.aval), None
        names = ("select_prim", "window_dimensions", "window_strides", "padding")
        kept = {name: params[name] for name in names}
        return select_and_scatter_add_p.bind(ct, x, **kept)[0], None

    def batch(self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any) -> tuple:
        dim = next(dim for dim in dims if dim is not None)
        args = [batch_dim_to(x, d, dim, axis.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*args, **batched_window(params, dim)), (dim,)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        select_prim: Primitive,
        **params: Any,
    ) -> tuple:
        t, x = args

        def combine(best: tuple, new: tuple) -> tuple:
            """Keep the better pair."""
            keep = _keeps(b, select_prim, best[0], new[0])
            return tuple(b.select(keep, old, other) for old, other in zip(best, new, strict=True))

        inits = (b.const(_worst(select_prim, x.dtype), x.dtype), b.const(0, t.dtype))
        fold = fold_window(b, Windows(x.shape, params), (x, t), inits, combine)
        return (b.virtual(outs[0], lambda index: fold(index)[1]),)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        select_prim: Primitive,
        **params: Any,
    ) -> tuple:
        """Fold windows of pairs, the operand first."""
        t, x = args
        kinds = [x.aval.update(shape=()), t.aval.update(shape=())]
        worst = _worst(select_prim, x.aval.dtype)
        inits = [b.constant(worst, kinds[0]), b.constant(0, kinds[1])]

        def keep_better(best: Any, old: Any, x: Any, t: Any) -> tuple:
            """Keep the better pair."""
            keep = b.compare(select_prim.name.upper(), best, x)
            pairs = zip(((best, x), (old, t)), kinds, strict=True)
            return tuple(b.op("stablehlo.select", [keep, *p], [kind])[0] for p, kind in pairs)

        results = [x.aval.update(shape=outs[0].shape), outs[0]]
        region = b.region([*kinds, *kinds], keep_better)
        attributes = window_attributes(params)
        operands = [x, t, *inits]
        return b.op("stablehlo.reduce_window", operands, results, attributes, [region])[1:]

    def reference(
        self, t: np.ndarray, x: np.ndarray, *, select_prim: Primitive, **params: Any
    ) -> tuple:
        windows = Windows(x.shape, params)
        out = np.zeros(windows.count, t.dtype)
        choose = np.argmax if select_prim is ge_p else np.argmin
        for index in np.ndindex(*windows.count):
            spots = windows.numpy_elements(x, index)
            if spots:
                out[index] = t[spots[choose([x[spot] for spot in spots])]]
        return (out,)


class SelectAndScatterAdd(Primitive):
    """source (m), operand (n) -> (n): the source added where the operand's windows are extreme."""

    name = "select_and_scatter_add"

    def abstract(
        self, source: ShapedArray, x: ShapedArray, *, select_prim: Primitive, **params: Any
    ) -> tuple[ShapedArray, ...]:
        count = Windows(x.shape, params).count
        if source.shape != count:
            text = f"select_and_scatter_add source must have shape {count}, got {source.shape}."
            raise TypeError(text)
        return (source.update(shape=x.shape),)

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        source, x = primals
        (out,) = self.bind(source, x, **params)
        return (out,), (tangent_of(lambda t: self.bind(t, x, **params)[0], tangents[0], out),)

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        (ct,), (source, x) = cotangents, args
        if isinstance(ct, Zero):
            return Zero(source.aval), None
        ones = (1,) * len(params["window_dimensions"])
        dilations = {"base_dilation": ones, "window_dilation": ones}
        return select_and_gather_add_p.bind(ct, x, **params, **dilations)[0], None

    def batch(self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any) -> tuple:
        dim = next(dim for dim in dims if dim is not None)
        args = [batch_dim_to(x, d, dim, axis.size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*args, **batched_window(params, dim)), (dim,)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        select_prim: Primitive,
        **params: Any,
    ) -> tuple:
        (source, x), (out,) = args, outs
        windows = Windows(x.shape, params)
        target = b.buffer(out)
        b.assign(target, b.constant(0, out))
        flat = ShapedArray((), np.dtype(np.int64))
        axes = range(len(x.shape))

        def combine(best: tuple, new: tuple) -> tuple:
            """Keep the better element, with its position."""
            keep = b.and_(b.ge(best[1], 0), _keeps(b, select_prim, best[0], new[0]))
            keep = b.or_(keep, b.lt(new[1], 0))
            return tuple(b.select(keep, old, other) for old, other in zip(best, new, strict=True))

        worst = b.const(_worst(select_prim, x.dtype), x.dtype)
        nowhere = b.const(-1, flat.dtype)

        def write(index: list[Any]) -> None:
            """Add one element of the source."""

            def element(inner: Sequence[Any]) -> tuple:
                """Return one element of the window and its flat position, -1 outside."""
                places, inside = windows.place(b, index, inner)
                value = b.read_inside(x, inside, places, worst)
                spot = b.convert(b.flat_index(places[1], x.shape), flat.dtype)
                return value, spot if inside is None else b.select(inside, spot, nowhere)

            best = b.fold(windows.window, element, combine, (worst, nowhere))[1]
            spot = b.let(best)
            place = b.unravel(b.max(spot, 0), x.shape)
            amount = source.at(*index)
            b.store(target, place, amount, guard=b.ge(spot, 0), accumulate="add")

        def level(index: list[Any]) -> None:
            """Open the loop over the next axis; windows of extent 1 do not meet."""
            axis = len(index)
            if axis == len(axes):
                write(index)
                return
            free = windows.window[axis] <= windows.strides[axis]
            b.loop(windows.count[axis], lambda i: level([*index, i]), independent=free)

        if source.aval.size:
            level([])
        return (target,)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple,
        *,
        select_prim: Primitive,
        **params: Any,
    ) -> tuple:
        source, x = args
        scalar, added = x.aval.update(shape=()), outs[0].update(shape=())
        direction = select_prim.name.upper()
        regions = [
            b.region([scalar] * 2, lambda p, q: [b.compare(direction, p, q)]),
            b.region([added] * 2, lambda p, q: b.op("stablehlo.add", [p, q], [added])),
        ]
        operands = [x, source, b.constant(0, added)]
        attributes = window_attributes(params)
        return b.op("stablehlo.select_and_scatter", operands, outs, attributes, regions)

    def reference(
        self, source: np.ndarray, x: np.ndarray, *, select_prim: Primitive, **params: Any
    ) -> tuple:
        windows = Windows(x.shape, params)
        out = np.zeros(x.shape, source.dtype)
        choose = np.argmax if select_prim is ge_p else np.argmin
        for index in np.ndindex(*windows.count):
            spots = windows.numpy_elements(x, index)
            if spots:
                out[spots[choose([x[spot] for spot in spots])]] += source[index]
        return (out,)


reduce_window_sum_p = ReduceWindowSum()
reduce_window_max_p = ReduceWindowMax()
reduce_window_min_p = ReduceWindowMin()
select_and_gather_add_p = SelectAndGatherAdd()
select_and_scatter_add_p = SelectAndScatterAdd()


def _bind(prim: Primitive, operand: Value, options: tuple) -> Value:
    """Apply a windowed reduction."""
    return prim.bind(operand, **window_params(shape_of(operand), *options))[0]


def reduce_window_sum(
    operand: Value,
    window_dimensions: Shape,
    window_strides: Shape | None,
    padding: str | Padding,
    base_dilation: Shape | None = None,
    window_dilation: Shape | None = None,
) -> Value:
    """Return the sums of the windows of `operand`: (n) -> (m)."""
    options = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    return _bind(reduce_window_sum_p, operand, options)


def reduce_window_max(
    operand: Value,
    window_dimensions: Shape,
    window_strides: Shape | None,
    padding: str | Padding,
    base_dilation: Shape | None = None,
    window_dilation: Shape | None = None,
) -> Value:
    """Return the largest elements of the windows of `operand`: (n) -> (m)."""
    options = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    return _bind(reduce_window_max_p, operand, options)


def reduce_window_min(
    operand: Value,
    window_dimensions: Shape,
    window_strides: Shape | None,
    padding: str | Padding,
    base_dilation: Shape | None = None,
    window_dilation: Shape | None = None,
) -> Value:
    """Return the least elements of the windows of `operand`: (n) -> (m)."""
    options = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    return _bind(reduce_window_min_p, operand, options)
