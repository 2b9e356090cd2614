"""Common divisors and multiples of integers, elementwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import dtypes, lax
from tapeless.api.jit import jit
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.arithmetic import floor_divide
from tapeless.numpy.choice import broadcast, where
from tapeless.numpy.common import const, dtype_of, promote_args
from tapeless.runtime.array import Array

__all__ = ["gcd", "lcm"]


def _integers(name: str, *args: Any) -> Sequence[Value]:
    """Return the arguments, promoted; refuse what is no integer."""
    promoted = promote_args(name, *args)
    if not dtypes.issubdtype(dtype_of(promoted[0]), np.integer):
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers.")
    return promoted


def _without_sign(*args: Value) -> list[Value]:
    """Return the sizes of integers of one dtype."""
    if dtypes.issubdtype(dtype_of(args[0]), np.unsignedinteger):
        return list(args)
    return [lax.abs(x) for x in args]


@jit
def gcd(x1: Any, x2: Any) -> Array:
    """Return the greatest common divisor of integers, elementwise.

    x1, x2: shapes that broadcast to (n,) -> (n,)

    >>> import tapeless.numpy as jnp
    >>> jnp.gcd(jnp.array([12, 18]), 8)
    Array([4, 2], dtype=int32)
    """
    x1, x2 = _integers("gcd", x1, x2)
    shape = lax.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    x1, x2 = _without_sign(broadcast(x1, shape), broadcast(x2, shape))
    zero = const(x1, 0)

    def unfinished(pair: tuple) -> Value:
        """Some remainder is not 0 yet."""
        return lax.reduce_or(pair[1] != 0, range(len(shape)))

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
    x1, x2 = _without_sign(*_integers("lcm", x1, x2))
    divisor = gcd(x1, x2)
    zero = const(divisor, 0)
    return where(divisor == zero, zero, x1 * floor_divide(x2, divisor))
