"""Elements that are more than one scalar: complex numbers and keys.

The loop language knows real scalars only.  An element of a complex array is a `Pair` of them, an
element of an array of keys a `Parts` with one scalar per word.  `PartNodes` extends the node
constructors to such elements: every constructor takes them wherever it takes a scalar, so that a
rule written for real numbers (`b.add(x, y)`, `b.select(c, x, y)`) holds for all.  What moves
elements without looking at them (select, rare, eq, ne) works part by part.

In memory the parts are the last, contiguous axis: an array of dtype complex64 and shape S is a
buffer of float32 and shape S + (2,). `storage(aval)` gives that dtype and number of parts.

The formulas for complex arithmetic are those of C99 Annex G without its recovery of infinities;
division scales by a power of two first, and absolute values and roots scale by the larger part, so
that nothing overflows early.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.core.aval import ShapedArray
from tapeless.kernel import complexes
from tapeless.kernel.graph import walk
from tapeless.kernel.ir import Const, Load, Scalar
from tapeless.kernel.nodes import Nodes

__all__ = ["Element", "Pair", "PartNodes", "Parts", "parts_of", "real_dtype", "storage"]


# Operations without a method of their own in `Nodes`.
_NAMED = frozenset(
    "sign ceil trunc exp exp2 expm1 log log1p log2 sin cos tan tanh sinh cosh asin acos atan asinh "
    "acosh atanh atan2 pow logistic rsqrt cbrt erf erfc erf_inv lgamma digamma nextafter popcount "
    "clz mulhi is_finite".split()
)


class Parts(tuple):
    """The scalars of one element of an extended dtype."""

    __slots__ = ()


class Pair(Parts):
    """A complex number: real and imaginary part."""

    __slots__ = ()

    def __new__(cls, re: Scalar, im: Scalar) -> Pair:
        """re, im: scalars of one floating-point dtype."""
        return tuple.__new__(cls, (re, im))

    @property
    def re(self) -> Scalar:
        """The real part."""
        return self[0]

    @property
    def im(self) -> Scalar:
        """The imaginary part."""
        return self[1]

    @property
    def dtype(self) -> np.dtype:
        """The complex dtype."""
        return np.result_type(self[0].dtype, np.complex64)


# A `Scalar` or `Parts`. What a constructor gives follows from what it takes; no annotation says it.
Element = Any


def parts_of(element: Element) -> tuple[Scalar, ...]:
    """Return the scalars of an element."""
    return element if isinstance(element, Parts) else (element,)


def _is_read(element: Element) -> bool:
    """Tell whether an element is read from memory, at a place that needs no memory to be found."""
    reads = [node for node in walk(parts_of(element)) if type(node) is Load]
    return all(type(part) is Load for part in parts_of(element)) and len(reads) == len(
        set(parts_of(element))
    )


def real_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of the parts of a complex dtype."""
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def storage(aval: ShapedArray) -> tuple[np.dtype, int]:
    """Return the dtype of the buffer of an array, and the number of parts of an element."""
    dtype = aval.dtype
    if isinstance(dtype, dtypes.ExtendedDtype):
        return dtype.physical_dtype, int(np.prod(dtype.physical_shape, dtype=object))
    if dtype.kind == "c":
        return real_dtype(dtype), 2
    return dtype, 1


class PartNodes(Nodes):
    """Node constructors that take elements of several parts as well as scalars."""

    def __getattr__(self, name: str) -> Callable[..., Element]:
        """Return the constructor of an operation that has no method of its own: `b.exp(x)`."""
        if name not in _NAMED:
            raise AttributeError(f"the kernel builder has no attribute {name}")
        return functools.partial(self.op, name)

    def const(self, value: Any, dtype: np.dtype) -> Element:
        """Make a constant; of a complex dtype, a pair of constants; of keys, equal words."""
        if isinstance(dtype, dtypes.ExtendedDtype):
            word = super().const(value, dtype.physical_dtype)
            n_words = dtype.physical_shape[0]
            return Parts((word,) * n_words) if n_words > 1 else word
        if not isinstance(dtype, np.dtype):
            dtype = np.dtype(dtype)
        if dtype.kind == "c":
            number = complex(value)
            part = real_dtype(dtype)
            re = super().const(number.real, part)
            im = super().const(number.imag, part)
            return Pair(re, im)
        return super().const(value, dtype)

    def pair(self, re: Scalar, im: Scalar) -> Pair:
        """Make a complex number of its parts."""
        return Pair(re, im)

    def guarded(self, guard: Scalar, x: Element, otherwise: Element) -> Element:
        """Choose as `select` does; what `x` loads is loaded only where `guard` is true."""
        if isinstance(x, Parts):
            parts = [self.guarded(guard, *pair) for pair in zip(x, otherwise, strict=True)]
            return Pair(*parts) if isinstance(x, Pair) else Parts(parts)
        if type(x) is not Load:
            return self.select(guard, x, otherwise)
        both = guard if x.guard is None else self.and_(guard, x.guard)
        loaded = self.load(x.buffer, x.index, both, x.after)
        if type(otherwise) is Const and not any(np.asarray(otherwise.value).tobytes()):
            return loaded
        return self.select(guard, loaded, otherwise)

    def read_inside(
        self, x: Any, inside: Scalar | None, places: tuple[Sequence, Sequence], otherwise: Element
    ) -> Element:
        """Return the element of the value `x` at a place, or `otherwise` where it is not `inside`.

        places: the place, and the nearest one in bounds. What lies in memory is read under a guard,
        in vectors as it lies; what is computed is pulled at the second.
        """
        place, nearest = places
        if inside is None:
            return x.at(*place)
        element = x.at(*nearest)
        if _is_read(element) and _is_read(read := x.at(*place)):
            return self.guarded(inside, read, otherwise)
        return self.select(inside, element, otherwise)

    def re(self, x: Element) -> Scalar:
        """Return the real part."""
        return x.re if isinstance(x, Pair) else x

    def im(self, x: Element) -> Scalar:
        """Return the imaginary part."""
        return x.im if isinstance(x, Pair) else self.const(0, x.dtype)

    def conj(self, x: Element) -> Element:
        """Return the complex conjugate."""
        return Pair(x.re, self.neg(x.im)) if isinstance(x, Pair) else x

    def op(self, name: str, *args: Any, dtype: np.dtype | None = None) -> Element:
        """Make an operation on scalars, or on elements of several parts."""
        if dtype is not None and np.dtype(dtype).kind == "c":
            return self._to_complex(name, args[0], np.dtype(dtype))
        if not any(isinstance(arg, Parts) for arg in args):
            return super().op(name, *args, dtype=dtype)
        if name in ("select", "rare"):
            return self._choose(name, args[0], args[1], args[2])
        if name in ("eq", "ne"):
            return self._compare(name, *args)
        recipe = _RECIPES.get(name)
        if recipe is None:
            raise TypeError(f"{name} takes no complex operands; this is a bug in tapeless")
        if dtype is not None:
            return recipe(self, args[0], dtype)
        return recipe(self, *self.pairs(*args))

    def pairs(self, *args: Element) -> tuple[Pair, ...]:
        """Return operands, at least one of them complex, as complex numbers."""
        part = next(arg for arg in args if isinstance(arg, Pair)).re.dtype
        whole = np.dtype(np.complex64 if part == np.float32 else np.complex128)
        result = []
        for arg in args:
            if not isinstance(arg, Scalar | Pair):
                arg = self.const(arg, whole)
            if isinstance(arg, Scalar):
                zero = self.const(0, part)
                arg = Pair(arg, zero)
            result.append(arg)
        return tuple(result)

    def _to_complex(self, name: str, x: Element, dtype: np.dtype) -> Pair:
        """Convert to a complex dtype."""
        if name != "convert":
            raise TypeError(f"{name} cannot give {dtype}; this is a bug in tapeless")
        part = real_dtype(dtype)
        if not isinstance(x, Pair):
            zero = self.const(0, part)
            return Pair(self.convert(x, part), zero)
        re = self.convert(x.re, part)
        im = self.convert(x.im, part)
        return Pair(re, im)

    def _choose(self, name: str, condition: Scalar, x: Element, y: Element) -> Parts:
        """Select part by part."""
        if isinstance(x, Pair) or isinstance(y, Pair):
            x, y = self.pairs(x, y)
        choices = []
        for left, right in zip(x, y, strict=True):
            choice = super().op(name, condition, left, right)
            choices.append(choice)
        return Pair(*choices) if isinstance(x, Pair) else Parts(choices)

    def _compare(self, name: str, x: Element, y: Element) -> Scalar:
        """Compare part by part."""
        if isinstance(x, Pair) or isinstance(y, Pair):
            x, y = self.pairs(x, y)
        results = [self.op(name, left, right) for left, right in zip(x, y, strict=True)]
        combined = results[0]
        for result in results[1:]:
            combined = self.op("and" if name == "eq" else "or", combined, result)
        return combined


def _add(b: PartNodes, x: Pair, y: Pair) -> Pair:
    """x + y."""
    re = b.add(x.re, y.re)
    im = b.add(x.im, y.im)
    return Pair(re, im)


def _sub(b: PartNodes, x: Pair, y: Pair) -> Pair:
    """x - y."""
    re = b.sub(x.re, y.re)
    im = b.sub(x.im, y.im)
    return Pair(re, im)


def _neg(b: PartNodes, x: Pair) -> Pair:
    """-x."""
    re = b.neg(x.re)
    im = b.neg(x.im)
    return Pair(re, im)


def _mul(b: PartNodes, x: Pair, y: Pair) -> Pair:
    """(a + bi)(c + di) = (ac - bd) + (ad + bc)i."""
    reals = b.mul(x.re, y.re)
    imaginaries = b.mul(x.im, y.im)
    outer = b.mul(x.re, y.im)
    inner = b.mul(x.im, y.re)
    re = b.sub(reals, imaginaries)
    im = b.add(outer, inner)
    return Pair(re, im)


def _div(b: PartNodes, x: Pair, y: Pair) -> Pair:
    """x / y by Smith's method: divide through by the larger part of y."""
    wide = b.ge(b.abs(y.re), b.abs(y.im))
    large = b.select(wide, y.re, y.im)
    small = b.select(wide, y.im, y.re)
    ratio = b.div(small, large)
    rest = b.mul(small, ratio)
    scale = b.add(large, rest)
    first = b.select(wide, x.re, x.im)
    second = b.select(wide, x.im, x.re)
    rest = b.mul(second, ratio)
    along = b.add(first, rest)
    rest = b.mul(first, ratio)
    across = b.sub(second, rest)
    across = b.select(wide, across, b.neg(across))
    re = b.div(along, scale)
    im = b.div(across, scale)
    return Pair(re, im)


def _abs(b: PartNodes, x: Pair) -> Scalar:
    """sqrt(a^2 + b^2), scaled by the larger part; infinite if a part is."""
    re = b.abs(x.re)
    im = b.abs(x.im)
    large = b.max(re, im)
    small = b.min(re, im)
    ratio = b.div(small, large)
    square = b.add(b.mul(ratio, ratio), 1.0)
    scaled = b.mul(large, b.sqrt(square))
    plain = b.select(b.eq(large, 0.0), large, scaled)
    infinity = b.const(math.inf, re.dtype)
    infinite = b.or_(b.eq(re, infinity), b.eq(im, infinity))
    return b.select(infinite, infinity, plain)


def _sign(b: PartNodes, x: Pair) -> Pair:
    """x / |x|, and 0 at 0."""
    size = _abs(b, x)
    zero = b.eq(size, 0.0)
    nothing = b.const(0.0, size.dtype)
    re = b.select(zero, nothing, b.div(x.re, size))
    im = b.select(zero, nothing, b.div(x.im, size))
    return Pair(re, im)


def _exp(b: PartNodes, x: Pair) -> Pair:
    """e^a (cos b + i sin b); real where b is 0, and of its size where no angle changes that."""
    size = b.exp(x.re)
    sine, cosine = b.sin(x.im), b.cos(x.im)
    aimless = b.ne(cosine, cosine)
    lowest = b.eq(x.re, -math.inf)
    highest = b.eq(x.re, math.inf)
    vanishes = b.and_(aimless, lowest)
    explodes = b.and_(aimless, highest)
    kept = b.or_(vanishes, explodes)
    rise = b.mul(size, cosine)
    re = b.select(kept, size, rise)
    turned = b.mul(size, sine)
    turned = b.select(vanishes, size, turned)
    real = b.eq(x.im, 0.0)
    im = b.select(real, x.im, turned)
    return Pair(re, im)


def _log(b: PartNodes, x: Pair) -> Pair:
    """log |x| + i arg x."""
    size = _abs(b, x)
    re = b.log(size)
    im = b.atan2(x.im, x.re)
    return Pair(re, im)


def _sqrt(b: PartNodes, x: Pair) -> Pair:
    """The root in the right half plane; upright infinities have infinite parts."""
    near = _scaled_sqrt(b, x)
    infinity = b.const(math.inf, x.re.dtype)
    upright = b.eq(b.abs(x.im), infinity)
    re = b.select(upright, infinity, near.re)
    im = b.select(upright, infinity, near.im)
    signed = b.copysign(im, x.im)
    return Pair(re, signed)


def _scaled_sqrt(b: PartNodes, x: Pair) -> Pair:
    """The root in the upper right, by that of x / 16 or 2^64 x where those are safer."""
    large = b.max(b.abs(x.re), b.abs(x.im))
    huge = b.gt(large, 1e37)
    tiny = b.lt(large, 1e-18)
    scale = _one_of(b, huge, 2.0**-4, tiny, 2.0**64, x)
    unscale = _one_of(b, huge, 2.0**2, tiny, 2.0**-32, x)
    real = b.mul(x.re, scale)
    imaginary = b.mul(x.im, scale)
    size = _abs(b, Pair(real, imaginary))
    doubled = b.add(size, b.abs(real))
    half = b.mul(doubled, 0.5)
    root = b.sqrt(half)
    zero = b.eq(root, 0.0)
    double = b.mul(root, 2.0)
    quotient = b.div(b.abs(imaginary), double)
    nothing = b.const(0.0, root.dtype)
    other = b.select(zero, nothing, quotient)
    root = b.mul(root, unscale)
    other = b.mul(other, unscale)
    right = b.ge(x.re, 0.0)
    re = b.select(right, root, other)
    im = b.select(right, other, root)
    return Pair(re, im)


def _one_of(
    b: PartNodes,
    first: Scalar,
    one: float,
    second: Scalar,
    two: float,
    like: Pair,
) -> Scalar:
    """Return one number where the first condition holds, two where the second does, else 1."""
    dtype = like.re.dtype
    neither = b.const(1.0, dtype)
    chosen = b.const(two, dtype)
    rest = b.select(second, chosen, neither)
    chosen = b.const(one, dtype)
    return b.select(first, chosen, rest)


def _convert(b: PartNodes, x: Parts, dtype: np.dtype) -> Scalar:
    """Convert to a real dtype: the real part; to bool, whether x is not 0."""
    if np.dtype(dtype) == np.bool_:
        re = b.ne(x[0], 0.0)
        im = b.ne(x[1], 0.0)
        return b.or_(re, im)
    return b.convert(x[0], dtype)


def _is_finite(b: PartNodes, x: Pair) -> Scalar:
    """Whether both parts are."""
    re = b.is_finite(x.re)
    im = b.is_finite(x.im)
    return b.and_(re, im)


_RECIPES: dict[str, Callable] = {
    **complexes.RECIPES,
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "abs": _abs,
    "sign": _sign,
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "convert": _convert,
    "is_finite": _is_finite,
}
