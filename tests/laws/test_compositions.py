"""Transformations of random programs, against plain evaluation and finite differences.

Programs are drawn by hypothesis, the same in every run: first-order operations and nested loops,
branches, checkpoints, compiled functions, inner derivatives and rules of their own (`recipes.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import assume, given, settings, strategies

import tapeless as jax
from tapeless import numpy as jnp
from tests.laws.recipes import N_PROGRAMS, agree, cook, recipes

SIZE = 3
EPS = 1e-5
SEEDS = strategies.integers(0, 2**16)
# What has no derivative where it is not smooth, or hides one on purpose.
FORWARD = recipes(2, frozenset({"own_vjp", "stopped"}))
REVERSE = recipes(2, frozenset({"loop", "stopped"}))
DTYPES = strategies.sampled_from(["float32", "float64", "complex64", "bfloat16"])
TOLERANCES = {"float32": 1e-3, "float64": 1e-9, "complex64": 1e-3, "bfloat16": 0.1}
programs = settings(max_examples=N_PROGRAMS)


def vectors(seed: int, count: int, dtype: str = "float64", rows: int | None = None) -> list[Any]:
    """Return random vectors of SIZE, or stacks of them."""
    random = np.random.RandomState(seed)
    shape = (SIZE,) if rows is None else (rows, SIZE)
    values = [random.randn(*shape) for _ in range(count)]
    if dtype.startswith("complex"):
        values = [value + 1j * random.randn(*shape) for value in values]
    return [jnp.asarray(value, dtype) for value in values]


def total(f: Callable) -> Callable:
    """Return the sum of a function's result."""
    return lambda *args: jnp.sum(jnp.real(f(*args)))


def check(got: Any, want: Any, tolerance: float) -> None:
    """Assert that two trees agree."""
    agree(got, want, tolerance, jax.tree.leaves)


def difference(f: Callable, x: Any, v: Any) -> Any:
    """Return the central difference of a compiled function in the direction `v`."""
    f = jax.jit(f)
    high, low = f(x + EPS * v), f(x - EPS * v)
    assume(np.abs(high).max(initial=0) < 1e3)
    return (high - low) / (2 * EPS)


def wide(test: Callable) -> Callable:
    """Run a test in 64 bits."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        """Run it."""
        with jax.enable_x64(True):
            test(*args, **kwargs)

    return run


@programs
@given(recipes(3), SEEDS, DTYPES)
def test_a_compiled_program_gives_the_values_of_its_operations(recipe, seed, dtype):
    with jax.enable_x64(dtype == "float64"):
        f, (x, y) = cook(jax, recipe), vectors(seed, 2, dtype)
        check(jax.jit(f)(x, y), f(x, y), TOLERANCES[dtype])


@programs
@given(recipes(2), SEEDS, DTYPES, strategies.integers(0, 1), strategies.integers(0, 1))
def test_a_mapped_program_gives_the_values_of_its_rows(recipe, seed, dtype, axis, out_axis):
    with jax.enable_x64(dtype == "float64"):
        f = jax.jit(cook(jax, recipe))
        (rows,), (y,) = vectors(seed, 1, dtype, rows=4), vectors(seed + 1, 1, dtype)
        stacked = jnp.moveaxis(rows, 0, axis)
        mapped = jax.jit(jax.vmap(f, (axis, None), out_axis))(stacked, y)
        check(mapped, jnp.stack([f(x, y) for x in rows], out_axis), TOLERANCES[dtype])


@programs
@given(FORWARD, SEEDS)
@wide
def test_forward_mode_is_the_limit_of_differences(recipe, seed):
    f, (x, y, v) = cook(jax, recipe), vectors(seed, 3)
    wanted = difference(lambda a: f(a, y), x, v)
    tangent = jax.jit(lambda a, b: jax.jvp(lambda a: f(a, y), (a,), (b,))[1])(x, v)
    check(tangent, wanted, 1e-4)
    check(jax.linearize(lambda a: f(a, y), x)[1](v), tangent, 1e-9)


@programs
@given(REVERSE, SEEDS)
@wide
def test_reverse_mode_is_the_limit_of_differences(recipe, seed):
    f, (x, y, v) = total(cook(jax, recipe)), vectors(seed, 3)
    gradient = jax.grad(f)(x, y)
    check(jnp.vdot(gradient, v), difference(lambda a: f(a, y), x, v), 1e-4)
    check(jax.jit(jax.grad(f))(x, y), gradient, 1e-9)
    check(jax.grad(jax.checkpoint(f))(x, y), gradient, 1e-9)


@programs
@given(REVERSE, SEEDS)
@wide
def test_gradients_of_rows_are_those_of_the_batch(recipe, seed):
    f = total(cook(jax, recipe))
    (rows,), (y,) = vectors(seed, 1, rows=3), vectors(seed + 1, 1)
    mapped = jax.jit(jax.vmap(jax.grad(f, (0, 1)), (0, None)))(rows, y)
    one = jax.jit(jax.grad(f, (0, 1)))
    each = [one(x, y) for x in rows]
    check(mapped, jax.tree.map(lambda *xs: jnp.stack(xs), *each), 1e-9)
    whole = jax.grad(lambda xs, b: jnp.sum(jax.vmap(f, (0, None))(xs, b)), (0, 1))(rows, y)
    check(whole, (mapped[0], jnp.sum(mapped[1], 0)), 1e-9)


@programs
@given(REVERSE, SEEDS)
@wide
def test_second_derivatives_agree_in_all_compositions(recipe, seed):
    f, (x, y, v) = total(cook(jax, recipe)), vectors(seed, 3)
    gradient = jax.grad(f)
    wanted = difference(lambda a: gradient(a, y), x, v)
    forward = jax.jit(lambda a, b: jax.jvp(lambda a: gradient(a, y), (a,), (b,))[1])(x, v)
    check(forward, wanted, 1e-4)
    reverse = jax.jit(jax.grad(lambda a: jnp.vdot(gradient(a, y), v)))(x)
    check(reverse, forward, 1e-8)
    check(jax.jit(jax.hessian(f))(x, y) @ v, forward, 1e-8)


@programs
@given(recipes(2, frozenset({"loop", "stopped", "own_vjp"})), SEEDS)
@wide
def test_reverse_over_forward_is_forward_over_reverse(recipe, seed):
    f, (x, y, v) = total(cook(jax, recipe)), vectors(seed, 3)
    inner = jax.jit(jax.grad(lambda a: jax.jvp(lambda a: f(a, y), (a,), (v,))[1]))(x)
    outer = jax.jit(lambda a: jax.jvp(jax.grad(lambda a: f(a, y)), (a,), (v,))[1])(x)
    check(inner, outer, 1e-8)
    twice = jax.jit(jax.jacfwd(jax.jacfwd(lambda a: f(a, y))))(x)
    check(twice @ v, outer, 1e-8)


@programs
@given(recipes(1, frozenset({"loop", "stopped"})), SEEDS)
@wide
def test_third_derivatives_are_the_limit_of_differences(recipe, seed):
    f, (x, y, v) = total(cook(jax, recipe)), vectors(seed, 3)

    def second(a):
        """Differentiate twice in the direction v."""
        return jnp.vdot(jax.jvp(lambda a: jax.grad(f)(a, y), (a,), (v,))[1], v)

    third = jax.jit(jax.grad(second))(x)
    check(jnp.vdot(third, v), difference(second, x, v), 1e-4)
