"""Transposes in tiles: every remainder, several operands, threads, and what is not tiled."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.compiler.target import host_target, named_target
from tapeless.compiler.tiles import find_tile, ordered_for_tiles
from tapeless.kernel.ir import Loop
from tests.compiler.native import F32, F64, I32, Work
from tests.compiler.test_emit import numbers

named = pytest.mark.parametrize


def turning(n: int, m: int, dtype: np.dtype) -> tuple[Work, np.ndarray]:
    """A program that adds a transposed array, a straight one and a column; and its result."""
    work = Work()
    a, b, c = (numbers(*shape, dtype=dtype) for shape in ((m, n), (n, m), (n,)))
    x, y, z = work.input(a), work.input(b), work.input(c)
    out = work.output((n, m), dtype)
    i, j = work.index("i", n), work.index("j", m)
    value = work.add(work.sub(work.get(x, j, i), work.get(y, i, j)), work.get(z, i))
    work.body.append(Loop(i, n, (Loop(j, m, (work.put(out, (i, j), value),)),)))
    return work, a.T - b + c[:, None]


@named("dtype", [F32, F64, I32], ids=str)
@named("shape", [(16, 16), (17, 40), (40, 17), (8, 9), (33, 70), (64, 100)], ids=str)
def test_every_remainder(shape: tuple[int, int], dtype: np.dtype) -> None:
    work, expected = turning(*shape, dtype)
    np.testing.assert_array_equal(work.run()[0], expected)


@named("shape", [(1600, 1000), (1201, 1003)], ids=str)
def test_tiles_are_shared_among_threads(shape: tuple[int, int]) -> None:
    work, expected = turning(*shape, F32)
    assert "tapeless_parallel" in work.emit(host_target()).needs
    np.testing.assert_array_equal(work.run()[0], expected)


@named("level", ["x86-64-v2", "x86-64-v3"])
def test_lower_levels_use_smaller_tiles(level: str) -> None:
    work, expected = turning(37, 41, F32)
    target = named_target(level)
    assert find_tile(work.body[0], target.vector_bytes).size == target.vector_bytes // 4
    np.testing.assert_array_equal(work.run_for(target)[0], expected)


@named(("dtype", "size", "height"), [(F32, 8, 16), (F64, 4, 8)], ids=["float32", "float64"])
def test_a_row_of_a_tile_is_half_of_a_cache_line(dtype: np.dtype, size: int, height: int) -> None:
    tile = find_tile(turning(37, 41, dtype)[0].body[0], 64)
    assert (tile.size, tile.height) == (size, height)
    few = find_tile(turning(height - 1, 41, dtype)[0].body[0], 64)
    assert (few.size, few.height) == (size, size)


@named(("dtype", "size"), [(F32, 16), (F64, 8)], ids=["float32", "float64"])
def test_rows_that_are_pages_apart_are_whole_lines(dtype: np.dtype, size: int) -> None:
    page = 4096 // dtype.itemsize
    work, expected = turning(2 * size, page, dtype)
    tile = find_tile(work.body[0], 64)
    assert (tile.size, tile.height) == (size, size)
    assert find_tile(work.body[0], 32).size == size // 2
    np.testing.assert_array_equal(work.run()[0], expected)
    for n, m in ((2 * size, page + 1), (2 * size + 1, page), (2 * size, page + size)):
        assert find_tile(turning(n, m, dtype)[0].body[0], 64).size == size // 2


@named(("dtype", "size"), [(F32, 16), (F64, 8)], ids=["float32", "float64"])
def test_large_results_are_streamed_by_lines(dtype: np.dtype, size: int) -> None:
    nest = turning(1033, 1040, dtype)[0].body[0]
    tile = find_tile(nest, 64, may_stream=True)
    assert (tile.size, tile.height, len(tile.streamed)) == (size, size, 1)
    assert not find_tile(nest, 64).streamed
    assert not find_tile(nest, 32, may_stream=True).streamed
    for n, m in ((1033, 1044), (100, 1040)):
        assert not find_tile(turning(n, m, dtype)[0].body[0], 64, may_stream=True).streamed


def test_stores_past_the_caches_are_whole_aligned_lines() -> None:
    work, _ = turning(1033, 1040, F32)
    stores = [
        line for line in work.emit(named_target("x86-64-v4")).text.splitlines() if "!1" in line
    ]
    assert len(stores) == 16 + 1
    assert all("store <16 x float>" in line and "align 64" in line for line in stores[:-1])


def test_a_nest_for_several_buffers_is_not_streamed() -> None:
    work, _ = turning(1033, 1040, F32)
    x, y, z, _ = work.arrays
    out = work.output((1033, 1040), F32)
    i, j = work.index("i", 1033), work.index("j", 1040)
    value = work.add(work.sub(work.get(x, j, i), work.get(y, i, j)), work.get(z, i))
    work.body.append(Loop(i, 1033, (Loop(j, 1040, (work.put(out, (i, j), value),)),)))
    text = work.emit(named_target("x86-64-v4")).text
    assert "@nest0" in text and "!nontemporal" not in text


@named("shape", [(1040, 1040), (1033, 1040), (70, 130, 144)], ids=str)
def test_streamed_results_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    x = numbers(*shape[::-1], dtype=F32)
    found, total = jax.jit(lambda x: (x.T, jnp.sum(x.T * 2, axis=0)))(x)
    np.testing.assert_array_equal(found, x.T)
    np.testing.assert_allclose(total, (x.T * 2).sum(axis=0), rtol=1e-4, atol=1e-3)
    given = jnp.asarray(x)
    result = jax.jit(lambda x, y: (x.T + 1, y), donate_argnums=1)(given, jnp.zeros(shape, F32))[0]
    np.testing.assert_array_equal(result, x.T + 1)


def test_what_reads_its_own_output_is_not_tiled() -> None:
    work = Work()
    i, j = work.index("i", 32), work.index("j", 32)
    y = work.output((32, 32), F32)
    store = work.put(y, (i, j), work.get(y, j, i))
    assert find_tile(Loop(i, 32, (Loop(j, 32, (store,)),)), 64) is None


def test_straight_loops_are_not_tiled() -> None:
    work = Work()
    i, j = work.index("i", 32), work.index("j", 32)
    x, y = work.input(numbers(32, 32)), work.output((32, 32), F32)
    store = work.put(y, (i, j), work.get(x, i, j))
    assert find_tile(Loop(i, 32, (Loop(j, 32, (store,)),)), 64) is None


@named("dtype", [np.dtype(np.int16), F32, F64], ids=str)
@named("shape", [(16, 3, 40), (33, 5, 70), (50, 2, 17)], ids=str)
def test_axes_that_are_reversed_are_tiled(shape: tuple[int, ...], dtype: np.dtype) -> None:
    work = Work()
    a = numbers(*shape, dtype=dtype)
    x, out = work.input(a), work.output(shape[::-1], dtype)
    variables = [work.index(name, extent) for name, extent in zip("abc", shape, strict=True)]
    first, second, third = variables
    body = (work.put(out, (third, second, first), work.get(x, *variables)),)
    for var, extent in ((first, shape[0]), (second, shape[1]), (third, shape[2])):
        body = (Loop(var, extent, body),)
    work.body.extend(body)
    np.testing.assert_array_equal(work.run()[0], a.transpose())
    moved = ordered_for_tiles(body[0], 64)
    assert moved.var is second
    assert find_tile(moved.body[0], 64) is not None


def test_loops_that_run_in_order_stay_where_they_are() -> None:
    work = Work()
    i, j, k = work.index("i", 32), work.index("j", 32), work.index("k", 32)
    x, y = work.input(numbers(32, 32, 32)), work.output((32, 32, 32), F32)
    inner = Loop(k, 32, (work.put(y, (i, j, k), work.get(x, k, j, i)),))
    nest = Loop(i, 32, (Loop(j, 32, (inner,), independent=False),))
    assert ordered_for_tiles(nest, 64) is nest
