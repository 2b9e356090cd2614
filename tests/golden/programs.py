"""Small programs whose texts are kept, written once for every module that is `jax`.

A program is a function of that module; it returns the function to trace and its arguments, which
are NumPy arrays.  `PROGRAMS` has them by name.  `rewrite.py` writes the texts, the tests beside it
compare them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["HLO_PROGRAMS", "PROGRAMS"]

Program = Callable[[Any], tuple[Callable, list[np.ndarray]]]

PROGRAMS: dict[str, Program] = {}
# Those whose StableHLO is kept, too.
HLO_PROGRAMS: list[str] = []

X = np.array([0.5, 1.5, 2.5], np.float32)
M = np.arange(12, dtype=np.float32).reshape(3, 4) / 8
I = np.array([2, 0, 1], np.int32)  # noqa: E741 - as mathematicians call indices
C = np.array([1 + 2j, 3 - 1j], np.complex64)


def program(*args: np.ndarray, hlo: bool = False) -> Callable[[Callable], Callable]:
    """Register a function of `jax` that returns the function to trace on `args`."""

    def register(make: Callable) -> Callable:
        """Enter it under its name."""
        PROGRAMS[make.__name__] = lambda jax: (make(jax), list(args))
        if hlo:
            HLO_PROGRAMS.append(make.__name__)
        return make

    return register


# Frames, names, literals


@program(X, hlo=True)
def scaled(jax):
    return lambda x: jax.lax.mul(x, 2.0)


@program(X)
def identity(jax):
    return lambda x: x


@program(X, hlo=True)
def literal_results(jax):
    return lambda x: (1.0, np.float32(0.1), True, 3, x, np.float32(np.inf), 1e10)


@program(X)
def unused_result(jax):
    def f(x):
        jax.lax.sin(x)
        return x

    return f


@program(X, hlo=True)
def captured_array(jax):
    weights = np.eye(3, dtype=np.float32)
    return lambda x: jax.lax.dot(weights, x)


@program(X)
def captured_twice(jax):
    offset = np.arange(3, dtype=np.float32)
    return lambda x: jax.lax.add(jax.lax.add(x, offset), offset)


@program(*[X] * 30)
def many_arguments(jax):
    def f(*xs):
        total = xs[0]
        for x in xs[1:]:
            total = jax.lax.add(total, x)
        return [total, *xs]

    return f


@program(X, M)
def trees(jax):
    return lambda x, m: {"b": (x, [m]), "a": jax.lax.neg(m)}


@program(C)
def complex_literals(jax):
    return lambda z: jax.lax.mul(z, np.complex64(1 + 2j))


@program(I)
def integer_literals(jax):
    return lambda i: (jax.lax.add(i, 7), jax.lax.rem(i, np.int32(-3)), jax.lax.gt(i, 1))


# Elementwise operations


@program(X, hlo=True)
def functions(jax):
    lax = jax.lax
    names = "sin cos tanh exp log log1p expm1 sqrt rsqrt cbrt logistic neg abs sign floor ceil"
    return lambda x: [getattr(lax, name)(x) for name in names.split()]


@program(X, X)
def operators(jax):
    lax = jax.lax
    names = "add sub mul div rem pow max min atan2 nextafter eq ne lt le gt ge"
    return lambda x, y: [getattr(lax, name)(x, y) for name in names.split()]


@program(I)
def bit_operations(jax):
    lax = jax.lax
    names = "bitwise_and bitwise_or bitwise_xor shift_left shift_right_logical"
    return lambda i: [getattr(lax, name)(i, i) for name in names.split()] + [lax.clz(i)]


@program(X)
def powers(jax):
    lax = jax.lax
    return lambda x: (lax.integer_pow(x, 3), lax.pow(x, 2.5), lax.square(x))


@program(X)
def conversions(jax):
    lax = jax.lax

    def f(x):
        small = lax.convert_element_type(x, "bfloat16")
        whole = lax.convert_element_type(x, np.int32)
        bits = lax.bitcast_convert_type(x, np.uint32)
        return small, whole, bits, lax.reduce_precision(x, 5, 10), lax.round(x)

    return f


@program(C)
def complex_parts(jax):
    lax = jax.lax
    return lambda z: (lax.real(z), lax.imag(z), lax.conj(z), lax.complex(lax.real(z), lax.imag(z)))


@program(X)
def choices(jax):
    lax = jax.lax

    def f(x):
        return lax.select(lax.lt(x, 1.0), x, lax.neg(x)), lax.clamp(0.0, x, 1.0)

    return f


# Structure


@program(M, hlo=True)
def shapes(jax):
    lax = jax.lax

    def f(m):
        turned = lax.transpose(m, (1, 0))
        return turned, lax.reshape(m, (4, 3)), lax.expand_dims(m, (0,)), lax.rev(m, (0,))

    return f


@program(X)
def broadcasts(jax):
    lax = jax.lax

    def f(x):
        wide = lax.broadcast_in_dim(x, (2, 3), (1,))
        return wide, lax.broadcast(x, (2,)), lax.full((2, 2), 1.0), lax.full_like(x, 3.0)

    return f


@program(M)
def parts_of_arrays(jax):
    lax = jax.lax

    def f(m):
        row = lax.index_in_dim(m, 1, 0)
        part = lax.slice(m, (0, 1), (3, 4), (2, 1))
        return row, part, lax.squeeze(row, (0,)), lax.pad(m, np.float32(0), ((1, 1, 0), (0, 0, 1)))

    return f


@program(M, np.int32(1), hlo=True)
def dynamic_parts(jax):
    lax = jax.lax

    def f(m, i):
        part = lax.dynamic_slice(m, (i, 0), (1, 4))
        return part, lax.dynamic_update_slice(m, part, (i, 0))

    return f


@program(M)
def joined(jax):
    return lambda m: jax.lax.concatenate([m, m], 0)


@program(M)
def counted(jax):
    lax = jax.lax
    return lambda m: (lax.iota(np.int32, 3), lax.broadcasted_iota(np.float32, (3, 4), 1))


@program(M, I, hlo=True)
def gathered(jax):
    lax = jax.lax
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    return lambda m, i: lax.gather(m, lax.expand_dims(i, (1,)), numbers, (1, 4), mode="clip")


@program(M, I, hlo=True)
def scattered(jax):
    lax = jax.lax
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return lambda m, i: lax.scatter_add(m, lax.expand_dims(i, (1,)), m, numbers)


# Folds


@program(M, hlo=True)
def reductions(jax):
    lax = jax.lax

    def f(m):
        sums = lax.reduce_sum(m, (0,)), lax.reduce_prod(m, (1,))
        return *sums, lax.reduce_max(m, (0, 1)), lax.reduce_and(lax.lt(m, 1.0), (0,))

    return f


@program(M, hlo=True)
def extremes(jax):
    lax = jax.lax
    return lambda m: (lax.argmax(m, 0, np.int32), lax.argmin(m, 1, np.int32))


@program(M, hlo=True)
def cumulative(jax):
    lax = jax.lax
    return lambda m: (lax.cumsum(m, 0), lax.cumprod(m, 1, reverse=True), lax.cummax(m, 0))


@program(M, hlo=True)
def sorts(jax):
    lax = jax.lax
    return lambda m: (lax.sort(m), lax.sort((m, m), dimension=0, num_keys=1), lax.top_k(m, 2))


@program(M, hlo=True)
def products(jax):
    lax = jax.lax

    def f(m):
        turned = lax.dot_general(m, m, (((1,), (1,)), ((), ())))
        rows = lax.dot_general(m, m, (((1,), (1,)), ((0,), (0,))))
        return turned, rows, lax.dot(m, lax.transpose(m, (1, 0)), precision="highest")

    return f


# jit


@program(X, hlo=True)
def jit_in_jit(jax):
    lax = jax.lax
    return lambda x: jax.jit(jax.jit(lambda y: lax.mul(y, 2.0)))(lax.add(x, 1.0))


@program(X, hlo=True)
def jit_shared(jax):
    double = jax.jit(lambda y: jax.lax.mul(y, 2.0))
    return lambda x: double(double(x))


@program(X)
def jit_shared_in_shared(jax):
    double = jax.jit(lambda y: jax.lax.mul(y, 2.0))
    fourfold = jax.jit(lambda y: double(double(y)))
    return lambda x: fourfold(double(fourfold(x)))


@program(X)
def jit_two_of_one_name(jax):
    lax = jax.lax
    double, triple = (jax.jit(lambda y, n=n: lax.mul(y, n)) for n in (2.0, 3.0))
    return lambda x: triple(double(triple(double(x))))


@program(X)
def jit_long(jax):
    def f(x):
        for _ in range(12):
            x = jax.lax.sin(x)
        return x

    return lambda x: jax.lax.cos(jax.jit(f)(x))


@program(X)
def jit_same_argument_twice(jax):
    return lambda x: jax.jit(lambda y, z: (y, z, jax.lax.mul(y, z)))(x, x)


@program(X)
def jit_of_literal(jax):
    return lambda x: (x, jax.jit(lambda y: jax.lax.mul(y, 2.0))(1.0))


@program(X)
def jit_unused_result(jax):
    lax = jax.lax
    return lambda x: jax.jit(lambda y: (lax.add(y, 1.0), lax.add(y, 2.0)))(x)[1]


@program(X)
def jit_captured_array(jax):
    weights = np.eye(3, dtype=np.float32)
    return lambda x: jax.jit(lambda y: jax.lax.dot(weights, y))(x)


# Control flow


@program(X, hlo=True)
def branch(jax):
    lax = jax.lax

    def f(x):
        positive = lax.gt(lax.reduce_sum(x, (0,)), 0.0)
        return lax.cond(positive, lambda x: x, lambda x: lax.mul(x, 2.0), x)

    return f


@program(X, np.int32(1))
def switch(jax):
    lax = jax.lax
    return lambda x, i: lax.switch(i, [lambda x: x, lax.sin, lax.cos], x)


@program(X, hlo=True)
def while_loop(jax):
    lax = jax.lax

    def f(x):
        return lax.while_loop(
            lambda c: lax.lt(lax.reduce_sum(c, (0,)), 100.0), lambda c: lax.mul(c, 2.0), x
        )

    return f


@program(X, np.int32(4))
def counted_loop(jax):
    lax = jax.lax
    return lambda x, n: lax.fori_loop(0, n, lambda i, c: lax.mul(c, 2.0), x)


@program(X)
def static_loop(jax):
    lax = jax.lax
    return lambda x: lax.fori_loop(0, 3, lambda i, c: lax.mul(c, 2.0), x)


@program(X, hlo=True)
def running_sum(jax):
    lax = jax.lax
    return lambda x: lax.scan(lambda c, y: (lax.add(c, y), lax.mul(c, 2.0)), np.float32(0), x)


@program(M)
def scan_backwards(jax):
    lax = jax.lax
    start = np.zeros(4, np.float32)
    step = lambda c, y: (lax.add(c, y), (lax.sin(c), y))  # noqa: E731
    return lambda m: lax.scan(step, start, m, reverse=True, unroll=2)


@program(M)
def mapped_loop(jax):
    return lambda m: jax.lax.map(jax.lax.sin, m)


# Batching


@program(M, hlo=True)
def vmap_of_while(jax):
    lax = jax.lax

    def f(x):
        return lax.while_loop(
            lambda c: lax.lt(lax.reduce_sum(c, (0,)), 100.0), lambda c: lax.add(c, 10.0), x
        )

    return jax.vmap(f)


@program(X, I)
def vmap_of_branch(jax):
    lax = jax.lax

    def f(x, i):
        return lax.cond(lax.gt(i, 0), lambda x: x, lambda x: lax.mul(x, 2.0), x)

    return jax.vmap(f)


@program(M, M)
def vmap_of_product(jax):
    return jax.vmap(jax.lax.dot, in_axes=(0, 0))


@program(M)
def vmap_of_sum(jax):
    return jax.vmap(lambda x: jax.lax.reduce_sum(x, (0,)), in_axes=1)


@program(M)
def vmap_of_jit(jax):
    return jax.vmap(jax.jit(lambda x: jax.lax.sin(x)))


@program(M)
def vmap_of_scan(jax):
    lax = jax.lax
    return jax.vmap(lambda x: lax.scan(lambda c, y: (lax.add(c, y), c), np.float32(0), x))


@program(X)
def vmap_with_axis_name(jax):
    return jax.vmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")


# Differentiation


@program(X, hlo=True)
def gradient(jax):
    lax = jax.lax
    return jax.grad(lambda x: lax.reduce_sum(lax.mul(lax.sin(x), x), (0,)))


@program(X)
def tangent(jax):
    return lambda x: jax.jvp(jax.lax.sin, (x,), (x,))


@program(X)
def gradient_of_jit(jax):
    lax = jax.lax
    return jax.grad(lambda x: lax.reduce_sum(lax.mul(jax.jit(lax.sin)(x), x), (0,)))


@program(M)
def gradient_of_product(jax):
    lax = jax.lax
    return jax.grad(lambda m: lax.reduce_sum(lax.dot(m, lax.transpose(m, (1, 0))), (0, 1)))


@program(X)
def pullback(jax):
    return lambda x: jax.vjp(jax.lax.tanh, x)[1](x)


@program(X)
def linear_part(jax):
    return lambda x: jax.linearize(jax.jit(jax.lax.sin), x)[1](x)


@program(X, hlo=True)
def checkpointed(jax):
    lax = jax.lax
    block = jax.checkpoint(lambda x: lax.sin(lax.sin(x)))
    return jax.grad(lambda x: lax.reduce_sum(block(x), (0,)))


@program(X)
def custom_jvp(jax):
    @jax.custom_jvp
    def f(x):
        return jax.lax.mul(x, 2.0)

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return f


@program(X)
def custom_vjp(jax):
    def forward(x):
        return f(x), x

    def backward(x, ct):
        return (jax.lax.mul(ct, x),)

    f = jax.custom_vjp(lambda x: jax.lax.mul(x, 2.0))
    f.defvjp(forward, backward)
    return f


@program(X)
def gradient_of_custom_vjp(jax):
    f = jax.custom_vjp(lambda x: jax.lax.mul(x, 2.0))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (jax.lax.mul(ct, x),))
    return jax.grad(lambda x: jax.lax.reduce_sum(f(x), (0,)))
