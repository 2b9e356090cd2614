"""Tasks: pieces of programs that the worker pool runs."""

from __future__ import annotations

import ctypes
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.compiler.buffers import assemble
from tapeless.compiler.emit import emit_program
from tapeless.compiler.engine import compile_program
from tapeless.compiler.linker import runtime
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.target import named_target
from tapeless.kernel.ir import Call, Loop
from tapeless.util.processors import thread_count
from tests.compiler.native import F64, Work
from tests.compiler.test_slices import is_shared, program_of


def test_two_threads_take_rows_each_with_a_slice_of_its_own(monkeypatch) -> None:
    """Each row writes the number of its thread to its temporary, waits, and reads it."""
    monkeypatch.setenv("TAPELESS_NUM_THREADS", "2")
    work, extent = Work(), 40
    y, scratch = work.output((extent,), F64), work.temp((5000,), F64)
    i, j = work.index("i", extent), work.index("j", 5000)
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    @callback
    def note(place: int) -> None:
        """Write who is there, and let the other one run."""
        ctypes.c_double.from_address(place).value = threading.get_native_id()
        time.sleep(0.002)

    clear = Loop(j, 5000, (work.put(scratch, (j,), work.const(0.0, F64)),))
    body = (
        clear,
        Call("note", (scratch,), (), (scratch,)),
        work.put(y, (i,), work.get(scratch, 0)),
    )
    program = assemble("test", (), (y,), (Loop(i, extent, body),))
    (slices,) = program.slices.values()
    assert (slices.count, slices.size) == (2, 40_000)
    assert program.arena_size == 80_000
    symbols = {"note": ctypes.cast(note, ctypes.c_void_p).value}
    native = compile_program(replace(program, symbols=symbols))
    try:
        runtime().limit(1)
        native.run([work.arrays[y].ctypes.data])
        assert len(set(work.arrays[y])) == 2
        runtime().limit(0)
        native.run([work.arrays[y].ctypes.data])
        assert set(work.arrays[y]) == {threading.get_native_id()}
    finally:
        runtime().limit(thread_count() - 1)


@pytest.mark.parametrize("sizes", [(8, 32, 8192), (1, 64, 65536), (1, 512, 512)])
def test_results_that_library_calls_write_are_no_temporaries(sizes: tuple[int, ...]) -> None:
    count, n, k = sizes
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, n, k)).astype(np.float32)
    y = rng.normal(size=(count, k, n)).astype(np.float32)
    assert is_shared(program_of(lambda x, y: x @ y, x, y))
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


def steps(grow, side: int, count: int = 4):
    """Return the text of a loop whose steps add to each element of a grid a neighbour's."""

    def body(u, _):
        return grow(u) + 0.5 * jnp.roll(u, 1, 0), None

    x = np.ones((side, side), np.float32)
    program = lower_jaxpr(jax.make_jaxpr(lambda u: jax.lax.scan(body, u, None, length=count)[0])(x))
    return emit_program(program, named_target("x86-64-v3")).text


def test_steps_over_cached_arrays_are_shared_only_if_they_are_much_work() -> None:
    """Otherwise each core would wait for what the other has written in the step before."""
    little = lambda u: sum(u * k for k in range(2, 18))  # noqa: E731
    much = lambda u: jnp.tanh(jnp.sin(jnp.exp(jnp.sin(u))))  # noqa: E731
    assert "@tapeless_parallel" not in steps(little, 300)
    assert "@tapeless_parallel" in steps(much, 300)
    assert "@tapeless_parallel" in steps(little, 1000)


def test_a_wide_vector_that_a_task_captures_has_room() -> None:
    """The step's number, in 32 lanes, lies beside addresses in the context of a shared loop."""
    n_rows, size = 2000, 16
    rng = np.random.default_rng(0)
    wants = (rng.random(n_rows) < 0.01).astype(np.int32)
    x = rng.integers(-50, 50, (n_rows, size)).astype(np.int32)
    steps = rng.integers(0, size, n_rows).astype(np.int32)

    def row(wants: jax.Array, x: jax.Array, steps: jax.Array) -> jax.Array:
        """Roll a row some steps, if it wants that."""
        turn = [lambda y: jnp.roll(y, 2)] * 2

        def step(state: tuple) -> tuple:
            """Roll once."""
            return state[0] + 1, jax.lax.switch(steps % 2, turn, state[1])

        def rolled(x: jax.Array) -> jax.Array:
            """Roll on."""
            return jax.lax.while_loop(lambda state: state[0] < steps, step, (wants * 0, x))[1]

        return jax.lax.cond(wants > 0, rolled, lambda x: x, x)

    @jax.jit
    def program(wants: jax.Array, x: jax.Array, steps: jax.Array) -> jax.Array:
        """Take one step with all rows."""

        def all_rows(x: jax.Array, i: jax.Array) -> tuple:
            """Map the row."""
            return jax.vmap(row)((wants + i * (wants > 0)) % 4, x, (steps + i) % size), None

        return jax.lax.scan(all_rows, x, jnp.arange(1, dtype=jnp.int32))[0]

    expected = x.copy()
    for i in np.flatnonzero(wants):
        expected[i] = np.roll(x[i], 2 * steps[i])
    np.testing.assert_array_equal(program(wants, x, steps), expected)
