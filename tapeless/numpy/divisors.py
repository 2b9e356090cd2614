"""Common divisors and multiples of integers, elementwise.

Both are computed of magnitudes, in unsigned integers: the size of the least integer of a signed
dtype is none of that dtype, and remainders of two signs would never come to an end.  A result that
the dtype does not hold wraps around, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.arithmetic import floor_divide, multiply
from tapeless.numpy.choice import broadcast, where
from tapeless.numpy.common import const, convert, dtype_of, promote_args
from tapeless.runtime.array import Array

__all__ = ["gcd", "lcm"]


def _integers(name: str, *args: Any) -> Sequence[Value]:
    """Return the arguments, promoted; refuse what is no integer."""
    promoted = promote_args(name, *args)
    if not dtypes.issubdtype(dtype_of(promoted[0]), np.integer):
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers.")
    return promoted


def _magnitudes(x1: Value, x2: Value) -> tuple[Value, Value]:
    """Return the sizes of integers of one dtype, unsigned."""
    if dtypes.issubdtype(dtype_of(x1), np.unsignedinteger):
        return x1, x2
    unsigned = dtypes.dtype(f"u{dtype_of(x1).name}")
    return convert(lax.abs(x1), unsigned), convert(lax.abs(x2), unsigned)


@jit
def gcd(x1: Any, x2: Any) -> Array:
    """Return the greatest common divisor of integers, elementwise.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.gcd(jnp.array([12, 18]), 8)
    Array([4, 2], dtype=int32)
    """
    x1, x2 = _integers("gcd", x1, x2)
    aval = typeof(x1)
    shape = lax.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    x1 = broadcast(x1, shape)
    x2 = broadcast(x2, shape)
    return convert(_common(*_magnitudes(x1, x2)), aval.dtype, aval.weak_type and not shape)


def _common(x1: Value, x2: Value) -> Value:
    """Return the greatest common divisor of unsigned integers, by Euclid's algorithm."""
    zero = const(x1, 0)
    axes = range(typeof(x1).ndim)

    def unfinished(pair: tuple) -> Value:
        """Some remainder is not 0 yet."""
        return lax.reduce_or(pair[1] != 0, axes)

    def step(pair: tuple) -> tuple:
        """Replace (a, b) by (b, a mod b) where b is not 0."""
        a, b = pair
        first = where(b != 0, b, a)
        rest = where(b != 0, lax.rem(a, b), zero)
        return where(first < rest, rest, first), where(first < rest, first, rest)

    return lax.while_loop(unfinished, step, (x1, x2))[0]


@jit
def lcm(x1: Any, x2: Any) -> Array:
    """Return the least common multiple of integers, elementwise.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.lcm(jnp.array([4, 6]), 10)
    Array([20, 30], dtype=int32)
    """
    x1, x2 = _integers("lcm", x1, x2)
    aval = typeof(x1)
    x1, x2 = _magnitudes(x1, x2)
    divisor = gcd(x1, x2)
    zero = const(divisor, 0)
    multiple = where(divisor == zero, zero, multiply(x1, floor_divide(x2, divisor)))
    return convert(multiple, aval.dtype, aval.weak_type and not typeof(multiple).shape)
