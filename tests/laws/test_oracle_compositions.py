"""Transformations of random programs, against JAX in the same process.

The programs are those of `recipes.py`; each law draws its own, the same in every run.  JAX compiles
each use of a program as a whole, and we run it compiled or operation by operation, as it is drawn.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies

import tapeless
import tapeless.numpy
from tests.laws.recipes import N_PROGRAMS, Block, agree, cook, decides, recipes

pytestmark = pytest.mark.oracle

# The laws below are tried on N programs each, with one of these dtypes; x64 is toggled on the way.
TOLERANCES = {"float32": 2e-3, "float64": 1e-8, "bfloat16": 0.15, "complex64": 2e-3}
DTYPES = strategies.sampled_from(sorted(TOLERANCES))
SIZES = strategies.sampled_from([3, 3, 3, 1, 0])
SEEDS = strategies.integers(0, 2**16)
FORWARD = recipes(3, frozenset({"own_vjp"}))
REVERSE = recipes(3, frozenset({"loop"}))
BOTH = recipes(3, frozenset({"loop", "own_vjp"}))
programs = settings(max_examples=N_PROGRAMS)


@pytest.fixture(scope="module")
def jax() -> Iterator[ModuleType]:
    """The oracle, which need not optimise what runs once."""
    module = importlib.import_module("jax")
    module.config.update("jax_disable_most_optimizations", True)
    yield module
    module.config.update("jax_disable_most_optimizations", False)


def both(jax: ModuleType, recipe: Block, seed: int, dtype: str, size: int, use: Callable) -> None:
    """Assert that `use(system, f, x, y, rows)` gives the same in both systems."""
    # Rounding in bfloat16 takes decisions, and systems may round at other places.
    assume(dtype != "bfloat16" or not decides(recipe))
    random = np.random.RandomState(seed)
    shapes = [(size,), (size,), (4, size)]
    values = [random.randn(*shape) for shape in shapes]
    if dtype.startswith("complex"):
        values = [value + 1j * random.randn(*value.shape) for value in values]

    def result(system: ModuleType, compiled: bool) -> Any:
        """Cook and use the program in one system."""
        with system.enable_x64(dtype == "float64"):
            arrays = [system.numpy.asarray(value, dtype) for value in values]
            used = lambda *arrays: use(system, cook(system, recipe), *arrays)  # noqa: E731
            out = (system.jit(used) if compiled else used)(*arrays)
            return [np.asarray(leaf) for leaf in system.tree_util.tree_leaves(out)]

    try:
        wanted = result(jax, True)
    except TypeError as error:
        # JAX cannot keep complex numbers for the backward pass of a checkpoint.
        assume("reduce_precision does not accept dtype complex" not in str(error))
        raise
    try:
        found = result(tapeless, seed % 2 == 0)
    except TypeError as error:
        # Operation by operation, a tangent that nothing depends on meets a backward rule.
        if seed % 2 == 0 or "(jvp) to a custom_vjp" not in str(error):
            raise
        with pytest.raises(TypeError, match=r"\(jvp\) to a custom_vjp"):
            result(jax, False)
        return
    agree(found, wanted, TOLERANCES[dtype], list)


def total(system: ModuleType, f: Callable) -> Callable:
    """Return the sum of a function's result."""
    return lambda *args: system.numpy.sum(system.numpy.real(f(*args)))


@programs
@given(recipes(3), SEEDS, DTYPES, SIZES)
def test_values(jax, recipe, seed, dtype, size):
    both(jax, recipe, seed, dtype, size, lambda s, f, x, y, rows: f(x, y))


@programs
@given(recipes(3), SEEDS, DTYPES, SIZES)
def test_mapped_values(jax, recipe, seed, dtype, size):
    def use(s, f, x, y, rows):
        """Map over columns of the transpose, and over rows."""
        return s.vmap(f, (1, None), 1)(rows.T, y), s.vmap(f, (None, 0))(x, rows)

    both(jax, recipe, seed, dtype, size, use)


@programs
@given(REVERSE, SEEDS, DTYPES, SIZES)
def test_gradients(jax, recipe, seed, dtype, size):
    def use(s, f, x, y, rows):
        """Differentiate by both, the program checkpointed or not."""
        loss = total(s, f)
        return s.value_and_grad(loss, (0, 1))(x, y), s.grad(s.checkpoint(loss))(x, y)

    both(jax, recipe, seed, dtype, size, use)


@programs
@given(REVERSE, SEEDS, DTYPES, SIZES)
def test_gradients_per_example(jax, recipe, seed, dtype, size):
    def use(s, f, x, y, rows):
        """Map a gradient."""
        return s.vmap(s.grad(total(s, f), (0, 1)), (0, None))(rows, y)

    both(jax, recipe, seed, dtype, size, use)


@programs
@given(FORWARD, SEEDS, DTYPES, SIZES)
def test_tangents(jax, recipe, seed, dtype, size):
    def use(s, f, x, y, rows):
        """Push forward, also row by row."""
        pushed = s.vmap(lambda a: s.jvp(f, (a, y), (y, a)))(rows)
        return s.jvp(f, (x, y), (y, x)), s.linearize(f, x, y)[1](y, x), pushed

    both(jax, recipe, seed, dtype, size, use)


@programs
@given(REVERSE, SEEDS, DTYPES, SIZES)
def test_hessian_vector_products(jax, recipe, seed, dtype, size):
    def use(s, f, x, y, rows):
        """Push a gradient forward, and pull one back."""
        gradient = lambda a: s.grad(total(s, f))(a, y)  # noqa: E731
        pulled = s.grad(lambda a: s.numpy.sum(s.numpy.real(gradient(a) * y)))(x)
        return s.jvp(gradient, (x,), (y,))[1], pulled

    both(jax, recipe, seed, dtype, size, use)


@programs
@given(BOTH, SEEDS, DTYPES, SIZES)
def test_hessian_vector_products_by_tangents(jax, recipe, seed, dtype, size):
    def use(s, f, x, y, rows):
        """Pull a tangent back, and push one forward along each row."""
        loss = lambda a: total(s, f)(a, y)  # noqa: E731
        tangent = lambda a, v: s.jvp(loss, (a,), (v,))[1]  # noqa: E731
        twice = lambda v: s.jvp(lambda a: tangent(a, y), (x,), (v,))[1]  # noqa: E731
        return s.grad(tangent)(x, y), s.vmap(twice)(rows)

    both(jax, recipe, seed, dtype, size, use)


@programs
@given(BOTH, SEEDS, strategies.sampled_from(["float32", "float64"]), SIZES)
def test_hessians(jax, recipe, seed, dtype, size):
    def use(s, f, x, y, rows):
        """Take the Hessian."""
        return s.hessian(total(s, f))(x, y)

    both(jax, recipe, seed, dtype, size, use)


@programs
@given(recipes(1, frozenset({"loop"})), SEEDS, strategies.sampled_from(["float32", "float64"]))
def test_third_derivatives(jax, recipe, seed, dtype):
    def use(s, f, x, y, rows):
        """Differentiate three times."""
        loss = total(s, f)
        second = lambda a: s.numpy.vdot(s.grad(loss)(a, y), y)  # noqa: E731
        third = lambda a: s.numpy.vdot(s.grad(second)(a), y)  # noqa: E731
        return s.grad(third)(x)

    both(jax, recipe, seed, dtype, 3, use)


@programs
@given(REVERSE, SEEDS)
def test_integers_keys_and_numbers(jax, recipe, seed):
    def use(s, f, x, y, rows):
        """Differentiate by a tree with integers, and pass a key and a Python number along."""

        def loss(tree, key, scale):
            """Mix everything into the arguments of the program."""
            noise = s.random.uniform(key, tree["x"].shape)
            return total(s, f)(tree["x"] * scale + noise, y * tree["n"][0])

        tree = {"x": x, "n": s.numpy.arange(2) + 1, "b": s.numpy.asarray([True])}
        key = s.random.key(seed)
        found = s.grad(loss, (0, 2), allow_int=True)(tree, key, 0.5)
        mapped = s.vmap(lambda k: s.grad(loss, 2)(tree, k, 0.5))(s.random.split(key, 3))
        return found, mapped

    both(jax, recipe, seed, "float32", 3, use)
