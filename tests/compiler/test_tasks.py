"""Tasks: how loops are cut into chunks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.emit import emit_program
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.target import host_target
from tapeless.compiler.tasks import SHARED_COST, chunk_length


@pytest.mark.parametrize("extent", [2, 3, 64, 1000, 12345, 1 << 22])
@pytest.mark.parametrize("unit", [1, 16, 100])
def test_chunks_cover_the_loop_and_are_whole_units(extent: int, unit: int) -> None:
    length = chunk_length(extent, 1e9, unit)
    if extent < 2 * unit:
        assert length is None
        return
    assert length % unit == 0
    assert 2 <= -(-extent // length) <= 64


def test_cheap_loops_are_not_cut() -> None:
    assert chunk_length(1 << 20, SHARED_COST - 1, 16) is None
    assert chunk_length(1 << 20, SHARED_COST, 16) is not None


def test_a_chunk_is_worth_handing_out() -> None:
    length = chunk_length(1 << 20, float(1 << 20), 1)
    assert length >= 1 << 18


def shared(function: Callable, *args: np.ndarray) -> bool:
    """Tell whether the worker pool runs a loop of a program."""
    program = lower_jaxpr(jax.make_jaxpr(function)(*args).jaxpr)
    return "tapeless_parallel" in emit_program(program, host_target()).text


def mapped(row: Callable) -> Callable:
    """Return the map of a function over rows, one after the other."""
    return lambda xs: lax.map(row, xs)


def sorting(x: jax.Array) -> jax.Array:
    """Take many steps that need a temporary."""
    return lax.fori_loop(0, 50, lambda i, y: jnp.sort(y) * 0.9 + x[::-1], x)


def test_rows_of_a_map_are_shared_with_temporaries_of_their_own() -> None:
    xs = np.random.default_rng(0).normal(size=(3000, 20)).astype(np.float32)
    assert shared(mapped(sorting), xs)
    found = np.asarray(jax.jit(mapped(sorting))(xs))
    for _ in range(50):
        assert np.array_equal(np.asarray(jax.jit(mapped(sorting))(xs)), found)
    one = jax.jit(sorting)
    expected = np.stack([np.asarray(one(x)) for x in xs[::100]])
    np.testing.assert_allclose(found[::100], expected, rtol=1e-5, atol=1e-6)


def test_rows_that_call_back_or_have_large_temporaries_are_not_shared() -> None:
    def calling(x: jax.Array) -> jax.Array:
        return jax.pure_callback(np.sort, jax.ShapeDtypeStruct(x.shape, x.dtype), sorting(x))

    xs = np.ones((3000, 20), np.float32)
    assert not shared(mapped(calling), xs)
    assert not shared(mapped(sorting), np.ones((40, 100_000), np.float32))


def test_a_carry_keeps_a_loop_on_one_core() -> None:
    xs = np.ones((3000, 20), np.float32)
    running = lambda xs: lax.scan(lambda c, x: (c + sorting(x), c), xs[0], xs)[1]  # noqa: E731
    assert not shared(running, xs)


@pytest.mark.parametrize("sizes", [(8, 32, 8192), (1, 64, 65536), (1, 512, 512)])
def test_results_that_library_calls_write_are_no_temporaries(sizes: tuple[int, ...]) -> None:
    count, n, k = sizes
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, n, k)).astype(np.float32)
    y = rng.normal(size=(count, k, n)).astype(np.float32)
    assert shared(lambda x, y: x @ y, x, y)
    np.testing.assert_allclose(jax.jit(lambda x, y: x @ y)(x, y), x @ y, rtol=1e-3, atol=1e-2)


def test_the_last_part_of_a_shared_loop_knows_the_loop_around():
    """Its elements are no whole number of vectors, and it reads at the index of a scan."""
    x = np.ones((1300, 1300), np.float32)
    steps = np.arange(1, 4, dtype=np.float32)
    run = jax.jit(lambda x, ks: jax.lax.scan(lambda c, k: (jnp.sqrt(c) + k, None), x, ks)[0])
    expected = 1.0
    for k in steps:
        expected = np.sqrt(np.float32(expected)) + k
    np.testing.assert_allclose(run(x, steps), np.full_like(x, expected), rtol=1e-6)
