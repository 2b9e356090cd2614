"""What a loop stored a moment ago is handed on in registers."""

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.recent import keep_recent
from tapeless.kernel.ir import Loop, Store
from tapeless.kernel.nodes import Nodes
from tests.compiler.native import I64, Work


def innermost(program):
    """Return the innermost of the last loops of a program, in order."""
    (*_, loop) = [part for part in program.body if isinstance(part, Loop)]
    while True:
        inner = [part for part in loop.body if isinstance(part, Loop)]
        if not inner:
            return loop
        loop = inner[-1]


def stored_in_registers(function, *args):
    """Return how many registers the innermost loop keeps from one step to the next."""
    loop = innermost(lower_jaxpr(jax.make_jaxpr(function)(*args)))
    return sum(isinstance(part, Store) and part.buffer.name.endswith("_1") for part in loop.body)


def recurrence(combine, n, *back):
    """Return the loop that sets each element from those some places before it."""

    def f(x):
        """Run the loop."""
        body = lambda i, x: x.at[i].set(combine(*(x[i - d] for d in back), x[i]))  # noqa: E731
        return lax.fori_loop(max(back), n, body, x)

    return f


def expected(combine, n, *back):
    """Return the same in NumPy."""

    def f(x):
        """Run the loop."""
        x = np.array(x)
        for i in range(max(back), n):
            x[i] = combine(*(x[i - d] for d in back), x[i])
        return x

    return f


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "uint8"])
@pytest.mark.parametrize("back", [(1,), (2,), (1, 2), (3, 1), (4, 2), (5,)])
@pytest.mark.parametrize("n", [5, 6, 30])
def test_recurrences(dtype, back, n):
    """Elements from one to five places before; five are too many to keep."""
    x = (np.arange(n) % 7 + 1).astype(dtype)
    combine = lambda *v: v[0] // 2 + v[-1] if dtype[0] != "f" else v[0] * dtype_half(v) + v[-1]  # noqa: E731
    dtype_half = lambda v: np.asarray(0.5, dtype)  # noqa: E731
    program = recurrence(combine, n, *back)
    np.testing.assert_array_equal(jax.jit(program)(x), expected(combine, n, *back)(x))
    if n == 30:
        assert stored_in_registers(program, x) == (max(back) < 5)


def test_sweeps_of_a_solver():
    """The neighbour on the left comes from a register, the others from memory."""
    x = np.random.RandomState(0).randn(9, 12).astype(np.float32)

    def point(x, i, j):
        """Average the four neighbours."""
        around = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
        return x.at[i, j].set(np.float32(0.25) * around)

    def sweep(x):
        """Go over all points."""
        row = lambda i, x: lax.fori_loop(1, 11, lambda j, x: point(x, i, j), x)  # noqa: E731
        return lax.fori_loop(0, 3, lambda _, x: lax.fori_loop(1, 8, row, x), x)

    assert stored_in_registers(sweep, x) == 1
    wanted = x.copy()
    for _ in range(3):
        for i in range(1, 8):
            for j in range(1, 11):
                around = wanted[i - 1, j] + wanted[i + 1, j] + wanted[i, j - 1] + wanted[i, j + 1]
                wanted[i, j] = np.float32(0.25) * around
    np.testing.assert_array_equal(jax.jit(sweep)(x), wanted)


def test_backwards():
    """A loop from the end reads the element behind."""
    x = np.arange(1, 20, dtype=np.float32)

    def f(x):
        """Sum from the end."""
        body = lambda i, x: x.at[17 - i].set(x[17 - i] + x[18 - i])  # noqa: E731
        return lax.fori_loop(0, 18, body, x)

    np.testing.assert_array_equal(jax.jit(f)(x), np.cumsum(x[::-1])[::-1])
    assert stored_in_registers(f, x) == 1


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_bounds_known_at_run_time(n):
    """A loop that may not run at all reads nothing that is not there."""
    x = np.arange(1, 9, dtype=np.float32)

    def f(x, n):
        """Sum some of the elements."""
        return lax.fori_loop(0, n, lambda i, x: x.at[i + 1].set(x[i] + x[i + 1]), x)

    wanted = np.concatenate([np.cumsum(x[: n + 1]), x[n + 1 :]])
    np.testing.assert_array_equal(jax.jit(f)(x, n), wanted)


@pytest.mark.parametrize("n", range(6))
def test_one_step_reads_all_that_came_before(n):
    """A loop whose length only the run tells has its first values even when it runs once."""
    work = Work()
    count, x = work.input(np.array(n)), work.output((8,), I64)
    work.arrays[x][:] = np.arange(3, 11)
    i = work.index("i")
    before = [work.get(x, work.index_add(i, k)) for k in (0, 1)]
    step = work.put(x, (work.index_add(i, 2),), work.op("add", *before))
    loop = Loop(i, work.get(count), (step,), independent=False)
    work.body += keep_recent(work, (loop,))
    assert len(work.body) == 3
    wanted = np.arange(3, 11)
    for k in range(n):
        wanted[k + 2] = wanted[k] + wanted[k + 1]
    np.testing.assert_array_equal(work.run()[0], wanted)


def test_steps_of_unequal_width_read_memory():
    """What is stored at a place that the loop itself moves is not what lies one place before."""
    work = Work()
    gaps, x = work.input(np.array([0, 2, 0, 1])), work.output((9,), I64)
    work.arrays[x][:] = np.arange(9)
    i, gap = work.index("i"), work.local((), I64)
    start = work.index_add(i, work.get(gap))
    value = work.op("add", work.get(x, start), work.const(10, I64))
    step = work.put(x, (work.index_add(start, 1),), value)
    widen = work.put(gap, (), work.get(gaps, i))
    loop = Loop(i, 4, (step, widen), independent=False)
    work.body += [work.put(gap, (), work.const(0, I64)), *keep_recent(work, (loop,))]
    wanted, moved = np.arange(9), 0
    for k in range(4):
        wanted[k + moved + 1] = wanted[k + moved] + 10
        moved = (0, 2, 0, 1)[k]
    np.testing.assert_array_equal(work.run()[0], wanted)


def test_two_writers_keep_the_memory():
    """An array that is written in two places is read from memory."""
    x = np.arange(1, 9, dtype=np.float32)

    def f(x):
        """Write two elements in each step."""
        return lax.fori_loop(1, 7, lambda i, x: x.at[i].set(x[i - 1] * 2).at[i - 1].add(1), x)

    wanted = x.copy()
    for i in range(1, 7):
        wanted[i] = wanted[i - 1] * 2
        wanted[i - 1] += 1
    np.testing.assert_array_equal(jax.jit(f)(x), wanted)
    assert stored_in_registers(f, x) == 0


def test_rows_of_a_batch():
    """Rows keep their own registers when the cores share them."""
    x = np.random.RandomState(0).rand(64, 4000).astype(np.float32)
    program = recurrence(lambda a, b: a * np.float32(0.5) + b, 4000, 1)
    found = jax.jit(lambda x: lax.map(program, x))(x)
    wanted = np.stack([expected(lambda a, b: a * np.float32(0.5) + b, 4000, 1)(row) for row in x])
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(jax.jit(jax.vmap(program))(x), wanted)


def test_derivatives():
    """The same loop under reverse and forward mode."""
    x = jnp.arange(1.0, 9.0)
    f = lambda x: jnp.sum(jnp.sin(recurrence(lambda a, b: a * 0.5 + b, 8, 1)(x)))  # noqa: E731
    slow = lambda x: jnp.sum(jnp.sin(jnp.stack(unrolled(x))))  # noqa: E731

    def unrolled(x):
        """Return the elements, without a loop."""
        values = [x[0]]
        for i in range(1, 8):
            values.append(values[-1] * 0.5 + x[i])
        return values

    np.testing.assert_allclose(jax.jit(jax.grad(f))(x), jax.grad(slow)(x), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(f))(x), jax.grad(slow)(x), rtol=1e-5)


def test_nothing_to_keep():
    """A block without loops stays as it is."""
    assert keep_recent(Nodes(), ()) == ()
