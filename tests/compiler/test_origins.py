"""Kernels know the lines that they come from, through fusion, loops and library calls."""

from __future__ import annotations

import inspect

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax
from tapeless.compiler.kernels import kernels_of
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.origins import RecordingBuilder

X = np.ones((64, 64), np.float32)


def origins(function, *args):
    """Return, per kernel, the pairs of an operation and its line within the function."""
    builder = RecordingBuilder()
    program = lower_jaxpr(jax.make_jaxpr(function)(*args), builder=builder)
    start = inspect.getsourcelines(function)[1]
    return [
        {(name, source.frame.line - start) for name, source in kernel.origins}
        for kernel in kernels_of(program, builder.origins)
    ]


def fused(x):
    y = jnp.sin(x)
    z = y * 3.0
    return jnp.tanh(z)


def test_a_fused_kernel_has_all_its_equations():
    assert origins(fused, X) == [{("sin", 1), ("mul", 2), ("tanh", 3)}]


def two_products(x):
    y = x @ x
    z = jnp.exp(y)
    return jnp.sum(z @ x)


def test_kernels_on_both_sides_of_memory_keep_apart():
    first, between, second, last = origins(two_products, X)
    assert first == {("dot_general", 1)}
    assert between == {("exp", 2)}
    assert second == {("dot_general", 3)}
    assert last == {("reduce_sum", 3)}


def loop(x):
    def body(c, row):
        return jnp.cos(c) + row, None

    return lax.scan(body, jnp.zeros(64), x)[0]


def test_the_lines_of_a_body_are_those_of_its_loop():
    found = set().union(*origins(loop, X))
    assert {("cos", 2), ("add", 2), ("scan", 4)} <= found


def test_a_plain_builder_gives_the_same_program():
    jaxpr = jax.make_jaxpr(two_products)(X)
    plain, recorded = lower_jaxpr(jaxpr), lower_jaxpr(jaxpr, builder=RecordingBuilder())
    texts = [[kernel.text for kernel in kernels_of(p)] for p in (plain, recorded)]
    assert texts[0] == texts[1]
