"""Loops that read and write single elements cost elements, not arrays, also under grad."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.simplify import simplify
from tapeless.prims.binary import add_any_p

ONE = lax.ScatterDimensionNumbers((), (0,), (0,))
READ = lax.GatherDimensionNumbers((), (0,), (0,))


def by_scatter(x, s, place):
    """Write s into x, and read it back."""
    place = lax.reshape(place, (1,))
    x = lax.scatter(x, place, lax.mul(s, s), ONE, unique_indices=True)
    return x, lax.gather(x, place, READ, (1,), mode="clip")


def by_slice(x, s, place):
    """Do the same with slices."""
    x = lax.dynamic_update_slice(x, lax.reshape(lax.mul(s, s), (1,)), (place,))
    return x, lax.reshape(lax.dynamic_slice(x, (place,), (1,)), ())


def loop(step, size, steps=100):
    """Return the program that makes `steps` steps through an array."""

    def program(x, s):
        """Go through the array; return the last value."""

        def body(carry, i):
            """Make one step."""
            x, s = carry
            x, s = step(x, s, lax.rem(i, np.int32(size)))
            return (x, lax.add(s, np.float32(0.1))), None

        (x, s), _ = lax.scan(body, (x, s), lax.iota(np.int32, steps))
        return lax.add(s, lax.reduce_sum(x, (0,)))

    return program


@pytest.mark.parametrize("step", [by_scatter, by_slice])
def test_gradients_through_loops_that_write_in_place(step):
    program = loop(step, 5, 12)
    x, s = np.arange(5, dtype=np.float32), np.float32(0.3)
    found_x, found_s = jax.grad(program, (0, 1))(x, s)
    high, low = program(x, s + np.float32(1e-2)), program(x, s - np.float32(1e-2))
    np.testing.assert_allclose(float(found_s), (float(high) - float(low)) / 2e-2, rtol=2e-2)
    np.testing.assert_array_equal(np.zeros(5), found_x)


@pytest.mark.parametrize("step", [by_scatter, by_slice])
def test_the_time_of_a_step_does_not_grow_with_the_array(step):
    def best(size: int) -> float:
        """Return the least seconds of the gradient of a loop."""
        program = jax.jit(jax.grad(loop(step, size, 2000), 1))
        x, s = np.zeros(size, np.float32), np.float32(0.3)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            program(x, s)
            times.append(time.perf_counter() - start)
        return min(times)

    # An array copied in every step would take 2000 times 400 kB: hundreds of times as long.
    assert best(100_000) < 20 * best(100)


def squares(x):
    """Write in place, and return the sum of squares, whose cotangent may have any signs."""
    step = lambda i, x: x.at[i].set(jnp.sin(x[i - 1]) + 1)  # noqa: E731
    last = lax.fori_loop(1, x.shape[0], step, x)
    return jnp.sum(last * last)


def test_the_time_of_a_step_of_a_loop_that_sets_elements_is_flat_from_1e3_to_1e5():
    def step(size: int) -> float:
        """Return the least seconds per step of the gradient."""
        gradient, x = jax.jit(jax.grad(squares)), jnp.linspace(0.0, 1.0, size)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            gradient(x).block_until_ready()
            times.append(time.perf_counter() - start)
        return min(times) / size

    # An array copied in every step would take 100 times as long; caches and the call take a few.
    assert step(100_000) < 12 * step(1_000)


def test_a_sum_with_a_scatter_into_zeros_is_one_scatter():
    def program(x, u):
        """Add a cotangent by the transpose of a gather."""
        _, pullback = jax.vjp(lambda x: (lax.neg(x), lax.gather(x, np.array([[3]]), READ, (1,))), x)
        return pullback((x, u))

    jaxpr = jax.make_jaxpr(program)(np.ones(9, np.float32), np.ones(1, np.float32))
    names = [eqn.primitive.name for eqn in simplify(jaxpr).eqns]
    assert "add_any" in [eqn.primitive.name for eqn in jaxpr.eqns]
    assert "scatter-add" in names and "add_any" not in names


def names_in(jaxpr) -> list[str]:
    """Return the operations of a program."""
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def scattered(x, u, places):
    """Return x + (zeros with u added at places), as the transpose of a gather does."""
    zeros = lax.full_like(x, 0.0)
    dims = lax.ScatterDimensionNumbers((), (0,), (0,))
    return add_any_p.bind(x, lax.scatter_add(zeros, places, u, dims))[0]


def test_elements_that_no_update_reaches_lose_their_sign_as_in_the_sum():
    x = np.array([-0.0, 0.0, -0.0, 1.0], np.float32)
    u = np.array([-0.0], np.float32)
    places = np.array([[2]])
    found = np.asarray(jax.jit(scattered)(x, u, places))
    assert "add_any" not in names_in(simplify(jax.make_jaxpr(scattered)(x, u, places)))
    assert found.tobytes() == np.asarray(scattered(x, u, places)).tobytes()
    assert not np.signbit(found).any()


def test_updates_that_may_meet_are_added_to_each_other_first():
    x, u = np.array([1e8, 0.0], np.float32), np.array([3.0, 3.0, 3.0], np.float32)
    places = np.array([[0], [0], [0]])
    found = np.asarray(jax.jit(scattered)(x, u, places))
    assert "add_any" in names_in(simplify(jax.make_jaxpr(scattered)(x, u, places)))
    assert found[0] == np.float32(1e8) + np.float32(9.0)
    assert found.tobytes() == np.asarray(scattered(x, u, places)).tobytes()


def written_out(start, rows):
    """Return the steps of `scanned`, one after the other."""
    x, read = start, []
    for row in rows:
        x, first = body(x, row)
        read.append(first)
    return x, jnp.stack(read)


def body(x, row):
    """Add a row's number at the row's place, and return what was there."""
    place, number = row[:1].astype(np.int32)[None], row[1:]
    return scattered(x, number, place), x[0]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("start", [-0.0, 0.0])
def test_a_loop_has_the_signs_of_its_steps_and_normalises_once(start, reverse):
    rows = jnp.array([[1, -0.0], [3, 2.0], [1, -0.0], [2, 0.0]], np.float32)
    x = jnp.full(4, start)

    def scanned(x, rows):
        """Run the steps in a loop."""
        return lax.scan(body, x, rows, reverse=reverse)

    (last, read), order = scanned(x, rows), rows[::-1] if reverse else rows
    wanted, wanted_read = written_out(x, list(order))
    wanted_read = wanted_read[::-1] if reverse else wanted_read
    assert np.asarray(last).tobytes() == np.asarray(wanted).tobytes()
    assert np.asarray(read).tobytes() == np.asarray(wanted_read).tobytes()
    simple = simplify(jax.make_jaxpr(scanned)(x, rows))
    (loop_eqn,) = [eqn for eqn in simple.eqns if eqn.primitive.name == "scan"]
    names = names_in(simplify(loop_eqn.params["jaxpr"]))
    assert "cond" in names and "add" not in names and "add_any" not in names


def test_a_loop_that_starts_without_signs_normalises_never():
    rows = jnp.ones((3, 2))
    program = lambda rows: lax.scan(body, jnp.zeros(4), rows)  # noqa: E731
    (eqn,) = [e for e in simplify(jax.make_jaxpr(program)(rows)).eqns if e.primitive.name == "scan"]
    names = names_in(simplify(eqn.params["jaxpr"]))
    assert not {"cond", "add", "add_any"} & set(names)


def test_a_carry_that_gets_signs_again_is_normalised_in_every_step():
    def negated(x, row):
        """Leave negative zeros for the next step."""
        x, first = body(x, row)
        return lax.neg(x), first

    rows = jnp.array([[1, -0.0], [3, 2.0], [1, -0.0]], np.float32)
    last, _ = lax.scan(negated, jnp.zeros(4), rows)
    x = jnp.zeros(4)
    for row in rows:
        x, _ = negated(x, row)
    assert np.asarray(last).tobytes() == np.asarray(x).tobytes()
    assert np.signbit(last).any()


def test_two_loops_of_one_length_share_what_tells_the_first_step():
    rows = jnp.array([[1, -0.0], [3, 2.0], [1, -0.0]], np.float32)
    x = jnp.full(4, -0.0)
    twice = jax.jit(lambda x: (lax.scan(body, x, rows)[0], lax.scan(body, lax.neg(x), rows)[0]))
    first, second = twice(x)
    assert np.asarray(first).tobytes() == np.asarray(lax.scan(body, x, rows)[0]).tobytes()
    assert np.asarray(second).tobytes() == np.asarray(lax.scan(body, -x, rows)[0]).tobytes()
    assert len([n for n in names_in(simplify(jax.make_jaxpr(twice)(x))) if n == "iota"]) == 1
