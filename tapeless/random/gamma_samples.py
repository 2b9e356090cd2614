"""Gamma numbers by rejection, one loop an element.

Marsaglia and Tsang, "A simple method for generating gamma variables" (2000): the cube of a shifted
normal number is accepted if a uniform number is small enough.  A shape a below 1 is raised by 1 and
the result multiplied by u**(1/a).  Each element of the result has a key and a loop of its own.

The logarithm of the sample is drawn instead where small shapes would underflow.  The derivative
with respect to the shape is that of the sample with its quantile held fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapeless import config, dtypes, lax
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim_to
from tapeless.random.basic import normal, uniform
from tapeless.random.requests import split_in

__all__ = ["random_gamma_p"]


class RandomGamma(Primitive):
    """keys: (s), shapes a: (s, t) -> gamma numbers (s, t), or their logarithms.

    partitionable: the layout of random bits when the operation was bound.
    """

    name = "random_gamma"
    hidden = {"partitionable": ...}

    def abstract(
        self,
        keys: ShapedArray,
        a: ShapedArray,
        *,
        log_space: bool,
        partitionable: bool = True,
    ) -> tuple:
        if a.shape[: len(keys.shape)] != keys.shape:
            raise TypeError(f"random_gamma got keys of shape {keys.shape} for {a.str_short(True)}")
        return (ShapedArray(a.shape, a.dtype),)

    def jvp(
        self,
        primals: Values,
        tangents: Sequence[Any],
        *,
        log_space: bool,
        partitionable: bool = True,
    ) -> tuple:
        keys, a = primals
        out = self.bind(keys, a, log_space=log_space, partitionable=partitionable)[0]
        if isinstance(tangents[1], Zero):
            return (out,), (Zero(typeof(out)),)
        shape = typeof(a).shape
        flat = (math.prod(shape),)
        sample, a_flat = lax.reshape(out, flat), lax.reshape(a, flat)
        if log_space:
            sample = lax.exp(sample)
            tiny = lax.full_like(sample, dtypes.finfo(typeof(a).dtype).tiny)
            sample = lax.select_n(lax.eq(sample, typeof(a).dtype.type(0)), sample, tiny)

        def slope(pair: tuple[Value, Value]) -> Value:
            """Differentiate one sample, or its logarithm."""
            found = lax.random_gamma_grad(*pair)
            return lax.div(found, pair[1]) if log_space else found

        slopes = lax.map(slope, (a_flat, sample))
        return (out,), (lax.mul(tangents[1], lax.reshape(slopes, shape)),)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence[int | None],
        *,
        log_space: bool,
        partitionable: bool = True,
    ) -> tuple:
        keys, a = (batch_dim_to(x, d, 0, axis.size) for x, d in zip(args, dims, strict=True))
        outs = self.bind(keys, a, log_space=log_space, partitionable=partitionable)
        return outs, (0,)

    def decompose(
        self,
        keys: Value,
        a: Value,
        *,
        log_space: bool,
        partitionable: bool = True,
    ) -> tuple[Value, ...]:
        """Draw each element with a key of its own."""
        aval = typeof(a)
        n_keys = math.prod(typeof(keys).shape)
        n_each = math.prod(aval.shape[len(typeof(keys).shape) :])
        with config.threefry_partitionable(partitionable):
            children = lax.random_split(lax.reshape(keys, (n_keys,)), (n_each,))
            flat = (lax.reshape(children, (n_keys * n_each,)), lax.reshape(a, (n_keys * n_each,)))
            drawn = lax.map(lambda pair: _sample(pair[0], pair[1], log_space), flat)
        return (lax.reshape(drawn, aval.shape),)


random_gamma_p = RandomGamma()


def _sample(key: Value, a: Value, log_space: bool) -> Value:
    """Draw one gamma number: keys (), a () -> ()."""
    dtype = typeof(a).dtype
    third = dtype.type(1 / 3)
    is_large = a >= 1
    raised = lax.select(is_large, a, a + 1)
    d = raised - third
    key_loop, key_boost = split_in(key, 2)
    cube = _accepted_cube(key_loop, d, third / lax.sqrt(d))
    u = uniform(key_boost, (), dtype)
    if not log_space:
        boost = lax.pow(1 - u, 1 / a)
        boost = lax.select(is_large, lax.full_like(boost, 1), boost)
        return d * cube * boost
    log_u = lax.log1p(-u)
    no_boost = is_large | (log_u == 0)
    log_boost = log_u * (1 / a)
    log_boost = lax.select(no_boost, lax.full_like(log_boost, 0), log_boost)
    return lax.log(d) + lax.log(cube) + log_boost


def _accepted_cube(key: Value, d: Value, c: Value) -> Value:
    """Draw (1 + c x)**3 for normal numbers x until one is accepted."""
    dtype = typeof(d).dtype

    def is_rejected(carry: tuple) -> Value:
        """Squeeze test first: it decides nearly always."""
        _, square, cube, u = carry
        squeeze = 1 - dtype.type(0.0331) * (square * square)
        bound = d * (1 - cube + lax.log(cube))
        bound = square * dtype.type(0.5) + bound
        return (u >= squeeze) & (lax.log(u) >= bound)

    def draw(carry: tuple) -> tuple:
        """Propose the cube of a normal number that is shifted above 0."""
        key, key_x, key_u = split_in(carry[0], 3)
        x, v = _shifted_normal(key_x, c)
        u = uniform(key_u, (), dtype)
        return key, x * x, v * v * v, u

    # The first numbers are such that they are rejected.
    start = (key, dtype.type(0), dtype.type(1), dtype.type(2))
    return lax.while_loop(is_rejected, draw, start)[2]


def _shifted_normal(key: Value, c: Value) -> tuple[Value, Value]:
    """Draw normal numbers x until 1 + c x is positive; return both."""
    dtype = typeof(c).dtype

    def is_negative(carry: tuple) -> Value:
        """Go on while the number is not positive."""
        return carry[2] <= 0

    def draw(carry: tuple) -> tuple:
        """Draw the next."""
        key, subkey = split_in(carry[0], 2)
        x = normal(subkey, (), dtype)
        return key, x, 1 + x * c

    start = (key, dtype.type(0), dtype.type(-1))
    _, x, v = lax.while_loop(is_negative, draw, start)
    return x, v
