"""Small programs of the libraries, and programs in programs; see `programs.py`.

Importing this file enters them into `PROGRAMS`.
"""

from functools import partial

import numpy as np

from tests.golden.programs import PROGRAMS, I, M, X, program

__all__ = ["PROGRAMS"]

T = np.float32(1.5)
KEY = np.array([0, 3], np.uint32)


@program(X)
def loops_in_branches_in_loops(jax):
    lax = jax.lax

    def step(c, y):
        doubled = lambda c: lax.while_loop(lambda v: v < 10.0, lambda v: v * 2, c)  # noqa: E731
        c = lax.cond(y > 1.0, lambda c: c * 2, doubled, c)
        return c, lax.fori_loop(0, 3, lambda i, v: v + i, y)

    return lambda x: lax.scan(step, jax.numpy.float32(0), x)


@program(T)
def custom_jvp_in_scan(jax):
    @jax.custom_jvp
    def f(x):
        return jax.numpy.sin(x)

    f.defjvp(lambda p, t: (f(p[0]), jax.numpy.cos(p[0]) * t[0]))
    return lambda x: jax.lax.scan(lambda c, _: (f(c), c), x, None, length=4)


@program(T)
def custom_vjp_with_static_argument(jax):
    @partial(jax.custom_vjp, nondiff_argnums=(1,))
    def f(x, n):
        return x**n

    f.defvjp(lambda x, n: (f(x, n), x), lambda n, r, g: (n * r ** (n - 1) * g,))
    return lambda x: f(x, 3)


@program(X)
def vmap_of_custom_vjp(jax):
    @jax.custom_vjp
    def f(x):
        return jax.numpy.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda r, g: (jax.numpy.cos(r) * g,))
    return jax.vmap(f)


@program(X)
def gradient_of_checkpointed(jax):
    f = jax.checkpoint(lambda x: jax.numpy.sin(jax.numpy.cos(x)))
    return jax.grad(lambda x: f(x).sum())


@program(X)
def tangent_of_counted_loop(jax):
    f = lambda x: jax.lax.fori_loop(0, 3, lambda i, c: jax.numpy.sin(c), x)  # noqa: E731
    return lambda x: jax.jvp(f, (x,), (x,))


@program(M)
def scan_of_trees_unrolled(jax):
    step = lambda c, r: ({"a": c["a"] + r.sum(), "b": c["b"]}, (r, c["b"]))  # noqa: E731
    return lambda m: jax.lax.scan(step, {"a": jax.numpy.float32(0), "b": 1}, m, unroll=2)


@program(M)
def rows_choose_branches(jax):
    row = lambda r: jax.lax.cond(r[0] > 0, lambda r: r, lambda r: r * 2, r)  # noqa: E731
    return jax.vmap(row)


@program(T)
def branch_by_number(jax):
    branches = [jax.numpy.sin, jax.numpy.cos, jax.numpy.tan]
    return lambda x: jax.lax.switch(x.astype(int), branches, x)


@program(X)
def stopped_gradient(jax):
    return jax.grad(lambda x: (jax.lax.stop_gradient(x) * x).sum())


@program(X)
def linear_at_a_point(jax):
    return lambda x: jax.linearize(jax.numpy.sin, x)[1](x)


@program(X)
def pullback_of_two(jax):
    return lambda x: jax.vjp(lambda a, b: (a * b, a), x, x)[1]((x, x))


@program(X)
def named_parts(jax):
    def f(x):
        with jax.named_scope("layer"):
            return jax.named_call(lambda y: jax.numpy.sin(y), name="inner")(x)

    return f


@program()
def keys(jax):
    def f():
        key = jax.random.key(0)
        one, other = jax.random.split(key)
        normal = jax.random.normal(one, (3,))
        return normal, jax.random.fold_in(other, 3), jax.random.key_data(key)

    return f


@program()
def raw_bits(jax):
    return lambda: jax.random.bits(jax.random.PRNGKey(3), (2,))


@program(KEY)
def uniform_of_raw_key(jax):
    return lambda key: jax.random.uniform(key, (2,))


@program(M)
def softmax(jax):
    return jax.nn.softmax


@program(M)
def logsumexp(jax):
    return lambda m: jax.nn.logsumexp(m, axis=1)


@program(X)
def gradient_of_relu(jax):
    return jax.grad(lambda x: jax.nn.relu(x).sum())


@program(M)
def einsum(jax):
    return lambda m: jax.numpy.einsum("ij,kj->ik", m, m)


@program(X, I)
def indexing(jax):
    return lambda x, i: (x.at[i].add(1.0), x[i], x[::-1], x[-1])


@program(X)
def where_and_clip(jax):
    return lambda x: (jax.numpy.where(x > 1, x, 0), jax.numpy.clip(x, 0, 1))


@program(M)
def associative_scan(jax):
    return lambda m: jax.lax.associative_scan(jax.numpy.add, m)


@program(M)
def factorisations(jax):
    linalg = jax.numpy.linalg
    return lambda m: (linalg.cholesky(m @ m.T), linalg.qr(m), linalg.svd(m), linalg.eigh(m @ m.T))


@program(M)
def convolution(jax):
    return lambda m: jax.lax.conv(m[None, None], m[None, None, :2, :2], (1, 1), "SAME")


@program(M)
def windows(jax):
    return lambda m: jax.lax.reduce_window(m, -np.inf, jax.lax.max, (2, 2), (1, 1), "VALID")


@program(X)
def largest_and_barrier(jax):
    return lambda x: (jax.lax.top_k(x, 2), jax.lax.optimization_barrier(x))
