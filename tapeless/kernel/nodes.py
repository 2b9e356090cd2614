"""The node constructors: every scalar of the loop language is made here, once.

`Nodes` interns what it makes (two requests for the same operation on the same operands give the
same object), so a DAG never computes a thing twice, and recipes may be written as plain formulas
without naming their common parts.

Constructors take scalars or Python numbers; a number becomes a constant of the dtype of the first
scalar among the operands.  Dtypes are checked, `free` sets are joined, and trivial work is folded:
operations on constants, neutral elements, double negation, a select with a known condition.
Floating-point folds are exact ones only (x + 0.0 stays, because x may be -0.0; x * 1.0 goes).

Index arithmetic is separate, and works on `Affine` sums.  `index_add` and `index_mul` merge terms;
`index_div` and `index_mod` use the known ranges of the variables (`bound`) to divide exactly or to
drop what cannot carry, which is what makes the indices of a reshape affine again.  Indices are
assumed not to be negative where they are divided.  A quotient and remainder that meet again in one
sum cancel: (x // d) * d + x % d is x.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np

from tapeless.kernel.floors import negative_remainder, shift_or_mask
from tapeless.kernel.fold import fold_constants, is_floating, is_integer, round_constant
from tapeless.kernel.ir import Affine, Buffer, Const, Index, Load, Op, Reduce, Scalar
from tapeless.kernel.ranges import Range, dtype_range, outcome, range_of, unclamped

__all__ = ["Nodes"]

Number = bool | int | float
Operand = Scalar | Number

_BOOL = np.dtype(np.bool_)
_INT64 = np.dtype(np.int64)

_BOOLEAN_RESULT = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "is_finite"))
_COMPARISONS = _BOOLEAN_RESULT - {"is_finite"}
_BITWISE = frozenset(("and", "or", "xor", "not"))
_INTEGER_ONLY = frozenset(
    "shift_left shift_right_logical shift_right_arithmetic popcount clz mulhi".split()
)
_FLOAT_ONLY = frozenset(
    "fma floor ceil trunc round_even sqrt exp exp2 expm1 log log1p log2 sin cos tan tanh sinh cosh "
    "asin acos atan asinh acosh atanh atan2 pow logistic rsqrt cbrt erf erfc erf_inv lgamma "
    "digamma nextafter copysign is_finite".split()
)
_CHOICE = frozenset(("select", "rare"))
_CONVERSION = frozenset(("convert", "bitcast"))
_COMMUTATIVE = frozenset(("add", "mul", "and", "or", "xor", "eq", "ne", "mulhi"))


class Nodes:
    """A family of interned scalars; scalars of two families must not be mixed in one DAG."""

    def __init__(self) -> None:
        """Start an empty family."""
        self._interned: dict[object, Scalar] = {}
        self._constants: dict[object, Const] = {}
        self._affines: dict[object, Affine] = {}
        self._groups: dict[object, object] = {}
        self._serial: dict[Scalar, int] = {}
        self._ranges: dict[Scalar, Range] = {}

    # Leaves

    def const(self, value: Number, dtype: np.dtype) -> Const:
        """Make the constant `value`, rounded to `dtype` if that is a floating-point dtype."""
        key = (_identity(value), dtype)
        node = self._constants.get(key)
        if node is None:
            exact = round_constant(value, np.dtype(dtype))
            rounded = (_identity(exact), np.dtype(dtype), "rounded")
            node = self._constants.get(rounded)
            if node is None:
                node = self._constants[rounded] = Const(exact, np.dtype(dtype))
            self._constants[key] = node
        return node

    def index(self, name: str, extent: int | None = None) -> Index:
        """Make a new loop variable; a static `extent` makes its range known."""
        var = Index(name)
        if extent is not None:
            self.bound(var, 0, max(extent - 1, 0))
        return var

    def bound(self, scalar: Scalar, low: int, high: int) -> None:
        """Declare that the integer `scalar` is always in low .. high, both included."""
        self._ranges[scalar] = (low, high)

    def load(
        self, buffer: Buffer, index: Operand, guard: Scalar | None = None, after: int = 0
    ) -> Scalar:
        """Load the element of `buffer` at the flat `index` (0 where `guard` is false)."""
        flat = self.affine(index)
        if isinstance(guard, Const):
            if not guard.value:
                return self.const(0, buffer.dtype)
            guard = None
        free = flat.free if guard is None else flat.free | guard.free
        return self._intern(
            ("load", buffer, flat, guard, after),
            lambda: Load(buffer, flat, buffer.dtype, free, guard, after),
        )

    def reduce(
        self,
        var: Index,
        extent: int,
        elements: tuple[Scalar, ...],
        inits: tuple[Scalar, ...],
        combine: object,
    ) -> tuple[Scalar, ...]:
        """Fold `elements` over `var`; one result for each element."""
        for element, init in zip(elements, inits, strict=True):
            _check(element.dtype == init.dtype, "reduce", (element, init))
        parts = (*elements, *inits)
        free = frozenset().union(*(part.free for part in parts)) - {var}
        key = ("reduce", var, extent, elements, inits, combine)
        group = self._groups.setdefault(key, object())
        return tuple(
            self._intern(
                (*key, which),
                lambda which=which: Reduce(
                    var, extent, elements, inits, combine, which, group, inits[which].dtype, free
                ),
            )
            for which in range(len(elements))
        )

    # Operations

    def op(self, name: str, *args: Operand, dtype: np.dtype | None = None) -> Scalar:
        """Make the operation `name`; `dtype` is for `convert` and `bitcast` only."""
        operands = self._operands(name, args)
        key = (name, operands, dtype)
        node = self._interned.get(key)
        if node is None:
            node = self._make(name, operands, dtype)
            self._interned[key] = node
        return node

    def add(self, x: Operand, y: Operand) -> Scalar:
        """x + y."""
        return self.op("add", x, y)

    def sub(self, x: Operand, y: Operand) -> Scalar:
        """x - y."""
        return self.op("sub", x, y)

    def mul(self, x: Operand, y: Operand) -> Scalar:
        """x * y."""
        return self.op("mul", x, y)

    def div(self, x: Operand, y: Operand) -> Scalar:
        """x / y, truncated for integers."""
        return self.op("div", x, y)

    def rem(self, x: Operand, y: Operand) -> Scalar:
        """The remainder of x / y, with the sign of x."""
        return self.op("rem", x, y)

    def fma(self, x: Operand, y: Operand, z: Operand) -> Scalar:
        """x * y + z with one rounding."""
        return self.op("fma", x, y, z)

    def neg(self, x: Operand) -> Scalar:
        """-x."""
        return self.op("neg", x)

    def abs(self, x: Operand) -> Scalar:
        """|x|."""
        return self.op("abs", x)

    def min(self, x: Operand, y: Operand) -> Scalar:
        """The smaller of x and y, or NaN."""
        return self.op("min", x, y)

    def max(self, x: Operand, y: Operand) -> Scalar:
        """The larger of x and y, or NaN."""
        return self.op("max", x, y)

    def floor(self, x: Operand) -> Scalar:
        """The largest integer that is not above x."""
        return self.op("floor", x)

    def round_even(self, x: Operand) -> Scalar:
        """The nearest integer, ties to even."""
        return self.op("round_even", x)

    def sqrt(self, x: Operand) -> Scalar:
        """The correctly rounded square root."""
        return self.op("sqrt", x)

    def copysign(self, x: Operand, y: Operand) -> Scalar:
        """|x| with the sign of y."""
        return self.op("copysign", x, y)

    def eq(self, x: Operand, y: Operand) -> Scalar:
        """x == y."""
        return self.op("eq", x, y)

    def ne(self, x: Operand, y: Operand) -> Scalar:
        """x != y."""
        return self.op("ne", x, y)

    def lt(self, x: Operand, y: Operand) -> Scalar:
        """x < y."""
        return self.op("lt", x, y)

    def le(self, x: Operand, y: Operand) -> Scalar:
        """x <= y."""
        return self.op("le", x, y)

    def gt(self, x: Operand, y: Operand) -> Scalar:
        """x > y."""
        return self.op("gt", x, y)

    def ge(self, x: Operand, y: Operand) -> Scalar:
        """x >= y."""
        return self.op("ge", x, y)

    def and_(self, x: Operand, y: Operand) -> Scalar:
        """Bitwise x & y."""
        return self.op("and", x, y)

    def or_(self, x: Operand, y: Operand) -> Scalar:
        """Bitwise x | y."""
        return self.op("or", x, y)

    def xor(self, x: Operand, y: Operand) -> Scalar:
        """Bitwise x ^ y."""
        return self.op("xor", x, y)

    def not_(self, x: Operand) -> Scalar:
        """Bitwise ~x; the logical negation of a bool."""
        return self.op("not", x)

    def shift_left(self, x: Operand, count: Operand) -> Scalar:
        """x << count."""
        return self.op("shift_left", x, count)

    def shift_right_logical(self, x: Operand, count: Operand) -> Scalar:
        """x >> count, filled with zeros."""
        return self.op("shift_right_logical", x, count)

    def shift_right_arithmetic(self, x: Operand, count: Operand) -> Scalar:
        """x >> count, filled with the sign."""
        return self.op("shift_right_arithmetic", x, count)

    def mulhi(self, x: Operand, y: Operand) -> Scalar:
        """The upper half of the double-width product of integers."""
        return self.op("mulhi", x, y)

    def select(self, condition: Operand, x: Operand, y: Operand) -> Scalar:
        """Choose x where the condition is true, else y."""
        return self.op("select", condition, x, y)

    def rare(self, condition: Operand, slow: Operand, fast: Operand) -> Scalar:
        """Choose as `select` does; `slow` is computed only if some lane wants it."""
        return self.op("rare", condition, slow, fast)

    def convert(self, x: Operand, dtype: np.dtype) -> Scalar:
        """Convert the value of x to `dtype`."""
        return self.op("convert", x, dtype=np.dtype(dtype))

    def bitcast(self, x: Operand, dtype: np.dtype) -> Scalar:
        """Read the bits of x as `dtype`, of the same width."""
        return self.op("bitcast", x, dtype=np.dtype(dtype))

    # Indices

    def affine(self, x: Operand) -> Affine:
        """Give x as an affine index."""
        if isinstance(x, Affine):
            return x
        if isinstance(x, Scalar):
            _check(x.dtype == _INT64, "affine", (x,))
            if not isinstance(x, Const):
                return self._affine_of({x: 1}, 0)
            x = x.value
        return self._affine_of({}, int(x))

    def index_add(self, x: Operand, y: Operand) -> Affine:
        """Add two indices."""
        left, right = self.affine(x), self.affine(y)
        if not right.terms and right.const == 0:
            return left
        terms = dict(left.terms)
        for term, coefficient in right.terms:
            terms[term] = terms.get(term, 0) + coefficient
        extra = self._rejoin(terms)
        return self._affine_of(terms, left.const + right.const + extra)

    def index_mul(self, x: Operand, factor: int) -> Affine:
        """Multiply an index by an integer."""
        index = self.affine(x)
        terms = {term: coefficient * factor for term, coefficient in index.terms}
        return self._affine_of(terms, index.const * factor)

    def index_div(self, x: Operand, divisor: int) -> Affine:
        """Divide an index, that is not negative, by a positive integer, rounding down."""
        return self._index_divmod(self.affine(x), divisor)[0]

    def index_mod(self, x: Operand, divisor: int) -> Affine:
        """Give the remainder of an index, that is not negative, by a positive integer."""
        return self._index_divmod(self.affine(x), divisor)[1]

    def index_range(self, x: Operand) -> Range | None:
        """Give the least and greatest value that an index may have, if they are known."""
        if not isinstance(x, Affine):
            return self._ranges.get(x) if isinstance(x, Scalar) else (int(x), int(x))
        low = high = x.const
        for term, coefficient in x.terms:
            bounds = self._ranges.get(term)
            if bounds is None:
                return None
            ends = (bounds[0] * coefficient, bounds[1] * coefficient)
            low, high = low + min(ends), high + max(ends)
        return low, high

    def index_of(self, x: Scalar) -> Affine | int | None:
        """Return the index whose value x is, converted; or the number that it is."""
        if isinstance(x, Const):
            return int(x.value) if math.isfinite(x.value) else None
        inner = _converted(x)
        if not isinstance(inner, Affine | Index) or not _fits(self._range_of(inner), x.dtype):
            return None
        return self.affine(inner)

    # Private parts

    def _intern(self, key: object, make: Callable[[], Scalar]) -> Scalar:
        """Return the node of `key`, made by `make()` if it is new."""
        node = self._interned.get(key)
        if node is None:
            node = self._interned[key] = make()
        return node

    def _make(self, name: str, operands: tuple[Scalar, ...], dtype: np.dtype | None) -> Scalar:
        """Check, fold and simplify an operation that was not asked for before."""
        result = self._result_dtype(name, operands, dtype)
        if name in _COMMUTATIVE and isinstance(operands[0], Const):
            operands = operands[::-1]
        folded = fold_constants(name, operands, result)
        if folded is not None:
            return self.const(folded, result)
        simple = self._simplify(name, operands, result)
        if simple is not None:
            return simple
        ranges = self._ranges_of(operands)
        if ranges is not None:
            simple = self._simplify_in_range(name, operands, ranges, result)
            if simple is not None:
                return simple
        free = operands[0].free
        for operand in operands[1:]:
            free = free | operand.free
        key = (name, operands, dtype)
        made = self._intern(key, lambda: Op(name, operands, result, free))
        known = None if ranges is None else range_of(name, ranges, result)
        if known is not None:
            self._ranges.setdefault(made, known)
        return made

    def _operands(self, name: str, args: tuple[Operand, ...]) -> tuple[Scalar, ...]:
        """Turn numbers into constants of the dtype of the first scalar operand."""
        scalars = [arg for arg in args if isinstance(arg, Scalar)]
        if len(scalars) == len(args):
            return tuple(map(self._plain, scalars))
        start = 1 if name in _CHOICE else 0
        dtype = None
        for arg in args[start:]:
            if isinstance(arg, Scalar):
                dtype = arg.dtype
                break
        operands = []
        for position, arg in enumerate(args):
            if not isinstance(arg, Scalar):
                kind = _BOOL if position < start else dtype
                if kind is None:
                    raise TypeError(f"{name}: no operand has a dtype; this is a bug in tapeless")
                arg = self.const(arg, kind)
            operands.append(self._plain(arg))
        return tuple(operands)

    def _plain(self, operand: Scalar) -> Scalar:
        """Turn an index that is a number into a constant, which folds."""
        if type(operand) is Affine and not operand.terms:
            return self.const(operand.const, _INT64)
        return operand

    def _result_dtype(
        self, name: str, operands: tuple[Scalar, ...], dtype: np.dtype | None
    ) -> np.dtype:
        """Check the operands' dtypes and give the dtype of the result."""
        if name in _CONVERSION:
            _check(len(operands) == 1, name, operands)
            if dtype is None:
                raise TypeError(f"{name} needs a dtype; this is a bug in tapeless")
            if name == "bitcast":
                _check(dtype.itemsize == operands[0].dtype.itemsize, name, operands)
            return dtype
        _check(dtype is None, name, operands)
        values = operands
        if name in _CHOICE:
            _check(operands[0].dtype == _BOOL, name, operands)
            values = operands[1:]
        first = values[0].dtype
        _check(all(value.dtype == first for value in values), name, operands)
        if name in _BITWISE:
            _check(first == _BOOL or is_integer(first), name, operands)
        elif name in _INTEGER_ONLY:
            _check(is_integer(first), name, operands)
        elif name in _FLOAT_ONLY:
            _check(is_floating(first), name, operands)
        return _BOOL if name in _BOOLEAN_RESULT else first

    def _simplify(self, name: str, operands: tuple[Scalar, ...], dtype: np.dtype) -> Scalar | None:
        """Return an operand, or a simpler node, that equals the operation exactly."""
        first = operands[0]
        if name in _CHOICE:
            return self._simplify_choice(name, *operands)
        if name in _CONVERSION and dtype == first.dtype:
            return first
        if name in ("neg", "not") and isinstance(first, Op) and first.name == name:
            return first.args[0]
        if name in ("and", "or", "min", "max") and first is operands[1]:
            return first
        if name == "and" and dtype == _BOOL:
            found = negative_remainder(self, *operands)
            if found is not None:
                return found
        if len(operands) == 2 and isinstance(operands[1], Const):
            return self._simplify_constant(name, first, operands[1])
        return None

    def _simplify_choice(self, name: str, condition: Scalar, x: Scalar, y: Scalar) -> Scalar | None:
        """Simplify a select, or a rare choice."""
        if isinstance(condition, Const):
            return x if condition.value else y
        if x is y:
            return x
        if isinstance(condition, Op) and condition.name == "not" and name == "select":
            return self.op("select", condition.args[0], y, x)
        if x.dtype != _BOOL:
            return shift_or_mask(self, condition, x, y)
        if isinstance(x, Const):
            other = self.not_(condition)
            return self.or_(condition, y) if x.value else self.and_(other, y)
        if isinstance(y, Const):
            other = self.not_(condition)
            return self.or_(other, x) if y.value else self.and_(condition, x)
        return None

    def _simplify_constant(self, name: str, x: Scalar, constant: Const) -> Scalar | None:
        """Simplify an operation whose second operand is a constant."""
        value = constant.value
        if is_floating(x.dtype):
            neutral = _NEUTRAL.get(name)
            return x if neutral is not None and _identity(float(value)) == neutral else None
        if value == 0:
            if name in ("mul", "and"):
                return constant
            if name in ("add", "sub", "or", "xor") or name.startswith("shift"):
                return x
            if x.dtype == _BOOL and name in ("eq", "ne"):
                return x if name == "ne" else self.not_(x)
        if value == 1 and name in ("mul", "div") and x.dtype != _BOOL:
            return x
        if x.dtype == _BOOL and value:
            if name == "or":
                return constant
            if name in ("and", "eq"):
                return x
            return self.not_(x) if name in ("xor", "ne") else None
        return None

    def _ranges_of(self, operands: tuple[Scalar, ...]) -> list[Range] | None:
        """Return the ranges of operands that are all integers or bools; else None."""
        found: list[Range] = []
        for x in operands:
            known = self._range_of(x)
            if known is None:
                return None
            found.append(known)
        return found

    def _range_of(self, x: Scalar) -> Range | None:
        """Return the range of an integer or a bool, which is at most that of its dtype."""
        whole = dtype_range(x.dtype)
        if whole is None:
            return None
        if isinstance(x, Const):
            return int(x.value), int(x.value)
        return self.index_range(x) or whole

    def _simplify_in_range(
        self, name: str, operands: tuple[Scalar, ...], ranges: list[Range], dtype: np.dtype
    ) -> Scalar | None:
        """Return what an operation on integers is, by their ranges."""
        x, y = ranges[0], ranges[-1]
        if name in _COMPARISONS:
            known = outcome(name, x, y)
            if known is not None:
                return self.const(known, dtype)
            inner = None if name in ("eq", "ne") else unclamped(name, *operands)
            return None if inner is None else self.op(name, *inner)
        if name in ("min", "max"):
            below = name == "min"
            if x[1] <= y[0]:
                return operands[0 if below else 1]
            if y[1] <= x[0]:
                return operands[1 if below else 0]
        if name in ("div", "rem") and x[0] >= 0 and x[1] < y[0]:
            return operands[0] if name == "rem" else self.const(0, dtype)
        if name == "convert" and is_integer(dtype):
            inner = _converted(operands[0])
            if inner is not None and _fits(self._range_of(inner), operands[0].dtype):
                return self.convert(inner, dtype)
        if name in ("add", "sub", "mul"):
            return self._index_arithmetic(name, operands, ranges, dtype)
        return None

    def _index_arithmetic(
        self, name: str, operands: tuple[Scalar, ...], ranges: list[Range], dtype: np.dtype
    ) -> Scalar | None:
        """Compute with an index before it is converted, if neither way wraps round."""
        x, y = map(self.index_of, operands)
        if x is None or y is None or range_of(name, ranges, dtype) is None:
            return None
        if name == "mul":
            return self.convert(self.index_mul(x, y), dtype) if isinstance(y, int) else None
        y = self.index_mul(y, -1) if name == "sub" else y
        return self.convert(self.index_add(x, y), dtype)

    def _affine_of(self, terms: dict[Scalar, int], const: int) -> Affine:
        """Make the affine index with these terms, in order of first use."""
        given = (tuple(terms.items()), const)
        node = self._affines.get(given)
        if node is not None:
            return node
        for term in terms:
            self._serial.setdefault(term, len(self._serial))
        order = sorted(terms, key=self._serial.__getitem__) if len(terms) > 1 else terms
        kept = tuple([(term, terms[term]) for term in order if terms[term] != 0])
        node = self._affines.get((kept, const))
        if node is None:
            free = frozenset().union(*[term.free for term, _ in kept])
            node = self._affines[kept, const] = Affine(kept, const, free)
        self._affines[given] = node
        return node

    def _rejoin(self, terms: dict[Scalar, int]) -> int:
        """Replace (x // d) * (d * k) + (x % d) * k by x * k in `terms`; return the constant."""
        for term in list(terms):
            if not (isinstance(term, Op) and term.name == "rem" and terms[term]):
                continue
            whole, divisor = term.args
            quotient = self._interned.get(("div", term.args, None))
            if not isinstance(divisor, Const) or quotient is None:
                continue
            factor = terms[term]
            if terms.get(quotient) != factor * divisor.value:
                continue
            del terms[term], terms[quotient]
            joined = self.index_mul(whole, factor)
            for part, coefficient in joined.terms:
                terms[part] = terms.get(part, 0) + coefficient
            return joined.const + self._rejoin(terms)
        return 0

    def _natural(self, x: Affine) -> bool:
        """Tell whether x is known not to be negative."""
        bounds = self.index_range(x)
        if bounds is not None:
            return bounds[0] >= 0
        return x.const >= 0 and all(
            coefficient >= 0 and self._least(term) >= 0 for term, coefficient in x.terms
        )

    def _least(self, term: Scalar) -> int:
        """Give a lower bound of an index term (-1: it may be negative)."""
        bounds = self._ranges.get(term)
        if bounds is not None:
            return bounds[0]
        return 0 if isinstance(term, Index) else -1

    def _index_divmod(self, x: Affine, divisor: int) -> tuple[Affine, Affine]:
        """Give quotient and remainder; see the module's docstring."""
        if divisor == 1:
            return x, self.affine(0)
        exact = {t: c // divisor for t, c in x.terms if c % divisor == 0}
        rest = {t: c for t, c in x.terms if c % divisor}
        remainder = self._affine_of(rest, x.const % divisor)
        if not self._natural(remainder):
            return self._divmod_opaque(x, divisor)
        high, low = self._divmod_small(remainder, divisor)
        quotient = self._affine_of(exact, x.const // divisor)
        return self.index_add(quotient, high), low

    def _divmod_small(self, x: Affine, divisor: int) -> tuple[Affine, Affine]:
        """Divide x >= 0: drop the part that is too small to carry, divide the rest by the gcd."""
        terms = sorted(x.terms, key=lambda pair: abs(pair[1]))
        for n_small in range(len(terms), -1, -1):
            large = dict(terms[n_small:])
            small = self._affine_of(dict(terms[:n_small]), x.const)
            scale = math.gcd(divisor, *large.values())
            bounds = self.index_range(small)
            if scale == 1 or bounds is None or bounds[0] < 0 or bounds[1] >= scale:
                continue
            if not large:
                return self.affine(0), small
            part = self._affine_of({t: c // scale for t, c in large.items()}, 0)
            high, low = self._divmod_opaque(part, divisor // scale)
            return high, self.index_add(self.index_mul(low, scale), small)
        return self._divmod_opaque(x, divisor)

    def _divmod_opaque(self, x: Affine, divisor: int) -> tuple[Affine, Affine]:
        """Make division operations, and note their ranges."""
        if divisor == 1:
            return x, self.affine(0)
        bounds = self.index_range(x)
        quotient = self.op("div", x, divisor)
        remainder = self.op("rem", x, divisor)
        if isinstance(quotient, Op):
            self.bound(remainder, 0, divisor - 1)
            if bounds is not None and bounds[0] >= 0:
                self.bound(quotient, bounds[0] // divisor, bounds[1] // divisor)
        return self.affine(quotient), self.affine(remainder)


def _identity(value: Number) -> object:
    """Return a key that tells numbers apart as bits do: -0.0 from 0.0, True from 1 from 1.0."""
    if isinstance(value, int | np.integer):
        return type(value) is bool, int(value)
    return struct.pack("<d", value)


_NEUTRAL = {
    "mul": _identity(1.0),
    "div": _identity(1.0),
    "add": _identity(-0.0),
    "sub": _identity(0.0),
}


def _converted(x: Scalar) -> Scalar | None:
    """Return the integer of which the integer x was converted, or None."""
    if isinstance(x, Affine) and not x.const and len(x.terms) == 1 and x.terms[0][1] == 1:
        x = x.terms[0][0]
    if not (isinstance(x, Op) and x.name == "convert" and is_integer(x.dtype)):
        return None
    return x.args[0] if is_integer(x.args[0].dtype) else None


def _fits(known: Range | None, dtype: np.dtype) -> bool:
    """Tell whether a dtype holds all numbers of a range."""
    whole = dtype_range(dtype)
    if known is None or whole is None:
        return False
    return whole[0] <= known[0] and known[1] <= whole[1]


def _check(holds: bool, name: str, operands: tuple[Scalar, ...]) -> None:
    """Raise an internal error unless the operands' dtypes are right."""
    if not holds:
        dtypes = ", ".join(str(operand.dtype) for operand in operands)
        raise TypeError(f"{name} cannot take ({dtypes}); this is a bug in tapeless")
