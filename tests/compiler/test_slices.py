"""Slices: how loops are cut into chunks, and the memory that threads have for their rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler import rowlocal
from tapeless.compiler.buffers import memory
from tapeless.compiler.emit import emit_program
from tapeless.compiler.linker import runtime
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.program import Program
from tapeless.compiler.slices import SHARED_COST, chunk_length
from tapeless.compiler.target import host_target
from tapeless.util.processors import thread_count

F32 = np.float32


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


def mapped(row: Callable) -> Callable:
    """Return the map of a function over rows, one after the other."""
    return lambda *xs: lax.map(lambda x: row(*x), xs)


def program_of(function: Callable, *args: object) -> Program:
    """Return the loops of a function."""
    return lower_jaxpr(jax.make_jaxpr(function)(*args).jaxpr)


def is_shared(program: Program) -> bool:
    """Tell whether the worker pool runs a loop of a program."""
    return "tapeless_parallel" in emit_program(program, host_target()).text


def sorting(x: jax.Array) -> jax.Array:
    """Take many steps that need a temporary."""
    return lax.fori_loop(0, 50, lambda i, y: jnp.sort(y) * 0.9 + x[::-1], x)


def factored(a: jax.Array) -> jax.Array:
    """Invert by LAPACK, multiply by BLAS, and loop until the data says so."""
    n = a.shape[0]
    b = jnp.linalg.inv(a + n * jnp.eye(n, dtype=a.dtype))
    b = lax.while_loop(lambda b: jnp.abs(b).max() > 1e-3, lambda b: jnp.sin(b @ a) * 0.01, b)
    return lax.cond(a[0, 0] > 0, lambda b: b @ a, lambda b: b + a.T, b)


def shape(*sizes: int) -> jax.ShapeDtypeStruct:
    """Return the type of an array of floats."""
    return jax.ShapeDtypeStruct(sizes, F32)


ROWS = [(sorting, (3000, 20)), (sorting, (16, 30_000)), (factored, (16, 160, 160))]


@pytest.mark.parametrize(("row", "sizes"), ROWS)
def test_each_thread_has_a_slice(row: Callable, sizes: tuple, monkeypatch) -> None:
    found = []
    for count in (1, 2, 3):
        monkeypatch.setenv("TAPELESS_NUM_THREADS", str(count))
        program = program_of(mapped(row), shape(*sizes))
        (slices,) = program.slices.values()
        assert is_shared(program)
        assert slices.count == count
        found.append(memory(program).temp)
        places = [offset for buffer, offset in program.temps if buffer in slices.buffers]
        assert all(offset + slices.count * slices.size <= found[-1] + offset for offset in places)
    one, two, three = found
    assert two - one == three - two == slices.size > 0


@pytest.mark.parametrize(("row", "sizes"), ROWS)
def test_rows_have_the_same_bits_for_every_number_of_threads(row: Callable, sizes: tuple) -> None:
    xs = np.random.default_rng(0).normal(size=sizes).astype(F32)
    run, one = jax.jit(mapped(row)), jax.jit(row)
    found = []
    try:
        for count in (1, 2, 5, 2):
            runtime().limit(count - 1)
            found.append(np.asarray(run(xs)))
    finally:
        runtime().limit(thread_count() - 1)
    assert all(np.array_equal(found[0], other) for other in found[1:])
    expected = np.stack([np.asarray(one(x)) for x in xs[::20]])
    np.testing.assert_allclose(found[0][::20], expected, rtol=1e-5, atol=1e-6)


def test_there_are_no_more_slices_than_chunks_and_than_memory_for_them(monkeypatch) -> None:
    monkeypatch.setenv("TAPELESS_NUM_THREADS", "500")
    (few,) = program_of(mapped(sorting), shape(3, 200_000)).slices.values()
    assert few.count == 3
    (large,) = program_of(mapped(sorting), shape(100, 10_000_000)).slices.values()
    assert 2 <= large.count
    assert large.count * large.size <= 1 << 30


def test_rows_that_would_take_too_much_memory_are_not_shared() -> None:
    program = program_of(mapped(sorting), shape(100, 100_000_000))
    assert not program.slices
    assert memory(program).temp < 1_300_000_000


def products(x: jax.Array, w: jax.Array) -> jax.Array:
    """Multiply again and again."""
    return lax.fori_loop(0, 4, lambda i, x: jnp.tanh(x @ w), x)


def test_few_large_rows_are_shared_inside() -> None:
    w = np.ones((1000, 1000), F32)
    for count, sliced in ((4, False), (40, True)):
        program = program_of(mapped(lambda x: products(x, w)), shape(count, 1000, 1000))
        assert is_shared(program)
        assert bool(program.slices) == sliced


def test_rows_of_a_scan_without_a_carry_and_of_a_batch_have_slices() -> None:
    def stepping(xs: jax.Array) -> jax.Array:
        return lax.scan(lambda _, x: (None, factored(x)), None, xs)[1]

    def branching(x: jax.Array, flag: jax.Array) -> jax.Array:
        return lax.cond(flag, sorting, lambda x: x, x)

    assert program_of(stepping, shape(24, 220, 220)).slices
    flags = jax.ShapeDtypeStruct((2000,), bool)
    assert program_of(jax.vmap(branching), shape(2000, 3000), flags).slices


def test_a_carry_keeps_a_loop_on_one_core() -> None:
    running = lambda xs: lax.scan(lambda c, x: (c + sorting(x), c), xs[0], xs)[1]  # noqa: E731
    assert not is_shared(program_of(running, shape(3000, 20)))


def test_rows_that_call_back_are_not_shared() -> None:
    def calling(x: jax.Array) -> jax.Array:
        return jax.pure_callback(np.sort, jax.ShapeDtypeStruct(x.shape, x.dtype), sorting(x))

    def printing(x: jax.Array) -> jax.Array:
        jax.debug.print("{}", x[0])
        return sorting(x)

    for row in (calling, printing):
        program = program_of(mapped(row), shape(3000, 20))
        assert not program.slices
        assert not is_shared(program)


def softmaxes(x: jax.Array) -> jax.Array:
    """x: (n, k) -> (n,); rows of different lengths on the way."""
    y = jax.nn.softmax(x, axis=1)
    y = jax.nn.softmax(jnp.concatenate([y, y * 2, y * 3], 1), axis=1)
    return jax.nn.softmax(y[:, :32], axis=1).sum(1)


def test_what_has_a_part_for_each_row_of_a_shared_loop_overlaps_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two that share memory would have the rows of two threads at one place."""
    monkeypatch.setattr(rowlocal, "LEAST_SHORTENED", 1 << 40)
    program = program_of(softmaxes, shape(20_000, 64))
    assert is_shared(program)
    end = 0
    for buffer, offset in sorted(program.temps, key=lambda item: item[1]):
        assert offset >= end
        end = offset + buffer.size * buffer.dtype.itemsize
    assert end <= program.arena_size


def test_what_rows_alone_need_has_the_memory_of_a_row_for_each_thread() -> None:
    program = program_of(softmaxes, shape(20_000, 64))
    ((_, slices),) = program.slices.items()
    assert slices.size <= 4 * (2 * 64 + 2 * 192 + 2 * 32)
    assert program.arena_size == slices.count * slices.size


def test_many_threads_get_the_numbers_of_one() -> None:
    x = np.random.default_rng(0).normal(size=(20_000, 64)).astype(F32)
    run = jax.jit(softmaxes)
    try:
        runtime().limit(0)
        expected = np.asarray(run(x))
        runtime().limit(3)
        assert all(np.array_equal(expected, run(x)) for _ in range(40))
    finally:
        runtime().limit(thread_count() - 1)
