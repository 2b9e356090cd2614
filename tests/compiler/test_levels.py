"""Nests that follow each other run block by block, and compute what they did one by one."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax
from tapeless.compiler import levels
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.plan import Costs
from tapeless.kernel.ir import If
from tests.compiler.programs import noted_arguments

LONG = 300_001


@pytest.fixture(autouse=True)
def whole_trees(monkeypatch):
    """Scan lists of any length by the tree alone, whose levels are what runs in blocks."""
    monkeypatch.setattr("tapeless.control.associative_scan.SHORTEST", 1 << 60)
    monkeypatch.setattr("tapeless.control.associative_scan.SHORTEST_OF_ROWS", 1 << 60)


@pytest.fixture
def made(monkeypatch):
    """The list that gets the layout of each loop over blocks."""
    return noted_arguments(monkeypatch, levels, "write_blocks")


@pytest.fixture
def small_blocks(monkeypatch, made):
    """Let short arrays run in blocks; the list gets the layout of each loop over blocks."""
    monkeypatch.setattr(levels, "LARGE", 1)
    monkeypatch.setattr(levels, "BLOCK", 2048)
    return made


def drawn(*shape: int) -> np.ndarray:
    """Draw numbers near 1."""
    return np.random.default_rng(sum(shape)).uniform(0.9, 1.1, shape).astype("float32")


def fading(x, y):
    """Combine two numbers; it is not associative, so that another tree has other values."""
    return x * np.float32(0.5) + y


def linear(x, y):
    """Compose two linear maps."""
    return x[0] * y[0], y[0] * x[1] + y[1]


def tree(combine, leaves: list) -> list:
    """Return the values of the tree that the program of a scan says, over the first axis."""
    n = len(leaves[0])
    if n < 2:
        return leaves
    odd = tree(combine, combine([x[: n - 1 : 2] for x in leaves], [x[1::2] for x in leaves]))
    last = len(odd[0]) if n % 2 else len(odd[0]) - 1
    even = combine([x[:last] for x in odd], [x[2::2] for x in leaves])
    results = []
    for x, later, y in zip(leaves, even, odd, strict=True):
        whole = np.empty_like(x)
        whole[0], whole[2::2], whole[1::2] = x[0], later, y
        results.append(whole)
    return results


def expected(x: np.ndarray) -> np.ndarray:
    """Return the scan of an array by `fading`."""
    return tree(lambda a, b: [fading(a[0], b[0])], [x])[0]


@pytest.mark.parametrize("n", [*range(1, 71), 255, 256, 257])
def test_short_scans_are_those_of_the_tree(n, small_blocks):
    x = drawn(n)
    got = jax.jit(lambda x: lax.associative_scan(fading, x))(x)
    np.testing.assert_array_equal(got, expected(x))


@pytest.mark.parametrize("n", [4095, 4096, 4097, 5003, 8191, 8193, 12_345])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_in_blocks_are_those_of_the_tree(n, reverse, small_blocks):
    x = drawn(n)
    got = jax.jit(lambda x: lax.associative_scan(fading, x, reverse=reverse))(x)
    step = -1 if reverse else 1
    np.testing.assert_array_equal(got, expected(x[::step])[::step])
    assert small_blocks


@pytest.mark.parametrize("n", [6000, 8192, 9001])
def test_trees_of_arrays_run_in_blocks(n, small_blocks):
    a, b = drawn(n), drawn(n)[::-1].copy()
    got = jax.jit(lambda a, b: lax.associative_scan(linear, (a, b)))(a, b)
    for x, y in zip(got, tree(lambda x, y: list(linear(x, y)), [a, b]), strict=True):
        np.testing.assert_array_equal(x, y)
    assert small_blocks


def test_rows_and_trailing_axes(small_blocks):
    x = drawn(3, 7001, 2)
    got = jax.jit(lambda x: lax.associative_scan(fading, x, axis=1))(x)
    for row, result in zip(x, got, strict=True):
        np.testing.assert_array_equal(result, expected(row))
    many = drawn(5, 6007)
    got = jax.jit(jax.vmap(lambda x: lax.associative_scan(fading, x)))(many)
    for row, result in zip(many, got, strict=True):
        np.testing.assert_array_equal(result, expected(row))


def test_integers_and_loops(small_blocks):
    x = np.random.default_rng(0).integers(-99, 99, 9001).astype("int32")
    got = jax.jit(lambda x: lax.associative_scan(lambda a, b: 3 * a - b, x))(x)
    np.testing.assert_array_equal(got, tree(lambda a, b: [3 * a[0] - b[0]], [x])[0])
    y = drawn(9002)
    got = jax.jit(lambda y: lax.fori_loop(0, 3, lambda _, c: lax.associative_scan(fading, c), y))(y)
    np.testing.assert_array_equal(got, expected(expected(expected(y))))
    assert len(small_blocks) > 2


def test_gradients_are_those_of_operations_one_by_one(small_blocks):
    def loss(a, b):
        """Return a number that depends on all of a scan."""
        return jnp.sum(lax.associative_scan(linear, (a, b))[1] * weights)

    a, b, weights = drawn(9003), drawn(9003)[::-1].copy(), drawn(9003)
    got = jax.jit(jax.grad(loss, (0, 1)))(a, b)
    assert small_blocks
    for x, y in zip(got, jax.grad(loss, (0, 1))(a, b), strict=True):
        np.testing.assert_array_equal(x, y)


def test_temporaries_of_long_scans_are_small():
    x = drawn(LONG)
    compiled = jax.jit(lambda x: lax.associative_scan(fading, x)).lower(x).compile()
    np.testing.assert_array_equal(compiled(x), expected(x))
    assert compiled.memory_analysis().temp_size_in_bytes < x.nbytes // 3


def test_gradients_of_long_scans_need_no_more_memory_in_blocks(monkeypatch):
    def loss(x):
        """Return a number that depends on all of a scan."""
        return jnp.sum(lax.associative_scan(jnp.add, x) ** 2)

    program = jax.make_jaxpr(jax.grad(loss))(drawn(1_000_000)).jaxpr
    in_blocks = lower_jaxpr(program).arena_size
    monkeypatch.setattr(levels, "LARGE", 1 << 60)
    assert in_blocks <= lower_jaxpr(program).arena_size


def test_longer_scans_have_no_more_loops_over_blocks(made):
    counts = []
    for n in (1_000_000, 16_000_000):
        made.clear()
        x = jax.ShapeDtypeStruct((n,), np.float32)
        program = jax.make_jaxpr(lambda a, b: lax.associative_scan(linear, (a, b)))(x, x)
        lower_jaxpr(program.jaxpr)
        counts.append(len(made))
    assert counts[1] <= counts[0]


def test_blocks_of_little_work_are_short(made):
    def work_of_blocks(combine, *arrays):
        """Return the operations of a block of the last levels."""
        made.clear()
        program = jax.make_jaxpr(lambda *xs: lax.associative_scan(combine, xs))(*arrays)
        lower_jaxpr(program.jaxpr)
        layout, costs = made[-1], Costs()
        return sum(costs.statement(n.statement) for n in layout.nests if n.var) / layout.count

    x = drawn(LONG)
    assert work_of_blocks(lambda x, y: [x[0] + y[0]], x) < levels.WORK
    assert work_of_blocks(linear, x, x) > 2 * levels.WORK


def test_what_is_read_again_later_is_stored_as_a_whole(small_blocks):
    def f(x):
        """Return a scan, and what a gather picks of one on the way."""
        first = lax.associative_scan(fading, x)
        second = lax.associative_scan(fading, first * 2)
        return second, first[::-1]

    x = drawn(9004)
    second, first = jax.jit(f)(x)
    np.testing.assert_array_equal(first[::-1], expected(x))
    np.testing.assert_array_equal(second, expected(expected(x) * np.float32(2)))
    assert small_blocks


def test_small_programs_are_left_alone(monkeypatch):
    monkeypatch.setattr(levels, "write_blocks", None)
    x = drawn(5001)
    got = jax.jit(lambda x: lax.associative_scan(lambda a, b: a * 0.25 + b, x))(x)
    assert got.shape == x.shape


def test_results_of_a_loop_are_stored_though_its_body_runs_in_blocks():
    draw = np.random.default_rng(0)
    xs = draw.normal(size=(50, 32, 64)).astype(np.float32)
    w, u = (draw.normal(size=(size, 128)).astype(np.float32) / 20 for size in (64, 128))

    def states(xs, w, u):
        def step(h, x):
            h = jnp.tanh(x @ w + h @ u)
            return h, h

        return jax.lax.scan(step, jnp.zeros((32, 128)), xs)[1]

    wanted = [np.zeros((32, 128))]
    for x in xs:
        wanted.append(np.tanh(x @ w + wanted[-1] @ u))
    np.testing.assert_allclose(jax.jit(states)(xs, w, u), wanted[1:], atol=1e-4)


def test_rows_that_are_written_out_need_none_of_the_block_before(made):
    """Of four places of a row the last iteration of a block makes none of the next block."""
    x = drawn(70_000, 4)

    def shares(x):
        shown = jnp.sin(jnp.exp(x * 2))
        return shown / shown.sum(1, keepdims=True)

    program = lower_jaxpr(jax.make_jaxpr(shares)(x).jaxpr)
    (layout,) = made
    assert {span.low for span in layout.spans.values()} == {0}
    assert not any(isinstance(s, If) for loop in program.body for s in loop.body)
