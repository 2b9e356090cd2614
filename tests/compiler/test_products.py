"""Matrix products ahead of loops and after them."""

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.simplify import simplify
from tapeless.core.jaxpr import Jaxpr, subjaxprs

__all__ = []

STEPS, INPUTS, UNITS = 40, 24, 32


def operations(jaxpr: Jaxpr) -> list[str]:
    """Return the names of all equations, those of nested programs included."""
    names = []
    for eqn in jaxpr.eqns:
        names.append(eqn.primitive.name)
        for inner in subjaxprs(eqn.params):
            names += operations(inner)
    return names


def products_in_loops(function, *args) -> tuple[int, int]:
    """Return how many products run in loops, and how many outside."""
    jaxpr = simplify(jax.make_jaxpr(function)(*args).jaxpr)
    inside = [
        name for eqn in jaxpr.eqns for sub in subjaxprs(eqn.params) for name in operations(sub)
    ]
    return inside.count("dot_general"), [e.primitive.name for e in jaxpr.eqns].count("dot_general")


def arrays(*shapes: tuple[int, ...], dtype: object = np.float32) -> list:
    """Return arrays of small numbers."""
    rng = np.random.default_rng(3)
    return [jnp.asarray(rng.normal(0, 0.3, shape).astype(dtype)) for shape in shapes]


def cell(w, u, b, h, x):
    """A simple recurrent step."""
    return jnp.tanh(x @ w + h @ u + b)


def joined_cell(w, u, b, h, x):
    """The same with both products as one."""
    return jnp.tanh(jnp.concatenate([x, h]) @ w + b)


def run(step, reverse=False):
    """Return the recurrent network of a step."""

    def network(w, u, b, xs):
        """All states of the network."""
        if step is joined_cell:
            w = jnp.concatenate([w, u])

        def body(h, x):
            """One step."""
            h = step(w, u, b, h, jnp.sin(x))
            return h, h

        return lax.scan(body, jnp.zeros(UNITS, xs.dtype), xs, reverse=reverse)[1]

    return network


def by_hand(w, u, b, xs, reverse=False):
    """All states, by a loop of Python in double precision."""
    w, u, b, xs = (np.asarray(a, np.float64) for a in (w, u, b, xs))
    h, states = np.zeros(UNITS), np.zeros((len(xs), UNITS))
    for t in reversed(range(len(xs))) if reverse else range(len(xs)):
        states[t] = h = np.tanh(np.sin(xs[t]) @ w + h @ u + b)
    return states


ARGS = ((INPUTS, UNITS), (UNITS, UNITS), (UNITS,), (STEPS, INPUTS))


@pytest.mark.parametrize("step", [cell, joined_cell])
@pytest.mark.parametrize("reverse", [False, True])
def test_products_of_slices_are_one_product_before_the_loop(step, reverse):
    args = arrays(*ARGS)
    network = run(step, reverse)
    assert products_in_loops(network, *args) == (1, 1)
    # steps magnify what is rounded: other sines, as accurate, give errors from 1e-6 to 4e-6
    np.testing.assert_allclose(network(*args), by_hand(*args, reverse), atol=8e-6)


@pytest.mark.parametrize("step", [cell, joined_cell])
def test_sums_of_outer_products_are_one_product_after_the_loop(step):
    args = arrays(*ARGS)
    network = run(step)

    def loss(*args):
        """A number that all weights change."""
        return jnp.sum(network(*args) ** 2)

    gradient = jax.grad(loss, (0, 1, 2, 3))
    inside, outside = products_in_loops(gradient, *args)
    assert inside == 2  # of the states, there and back
    assert outside == (4 if step is cell else 2)
    with jax.enable_x64(True):
        double = [jnp.asarray(np.asarray(a, np.float64)) for a in args]
        for number, got in enumerate(gradient(*args)):
            direction = np.random.default_rng(number).normal(size=args[number].shape)
            slopes = []
            for h in (1e-5, -1e-5):
                moved = [*double]
                moved[number] = moved[number] + h * direction
                slopes.append(np.sum(by_hand(*moved) ** 2))
            wanted = (slopes[0] - slopes[1]) / 2e-5
            assert np.sum(np.asarray(got) * direction) == pytest.approx(wanted, rel=1e-4)


def test_a_carry_that_is_read_stays_in_the_loop():
    xs, gs = arrays((STEPS, INPUTS), (STEPS, UNITS))

    def function(xs, gs):
        """Sum outer products, and look at the sum on the way."""

        def body(total, pair):
            """One step."""
            total = total + jnp.outer(*pair)
            return total, total[0, 0]

        return lax.scan(body, jnp.zeros((INPUTS, UNITS)), (xs, gs))

    total, seen = function(xs, gs)
    x, g = np.asarray(xs, np.float64), np.asarray(gs, np.float64)
    np.testing.assert_allclose(total, x.T @ g, atol=1e-5)
    np.testing.assert_allclose(seen, np.cumsum(x[:, 0] * g[:, 0]), atol=1e-5)


def test_a_sum_starts_at_its_initial_value_and_may_move_axes():
    xs, gs, start = arrays((STEPS, 4, INPUTS), (STEPS, 4, UNITS), (UNITS, INPUTS))

    def function(xs, gs, start):
        """Sum transposed products of four terms."""
        return lax.scan(lambda c, p: (c + (p[0].T @ p[1]).T, None), start, (xs, gs))[0]

    assert products_in_loops(function, xs, gs, start) == (0, 1)
    wanted = np.einsum("tkx,tkg->gx", np.asarray(xs, np.float64), np.asarray(gs, np.float64))
    np.testing.assert_allclose(function(xs, gs, start), wanted + np.asarray(start), atol=1e-5)


def test_what_only_results_need_comes_after_the_loop():
    w, u, b, xs, v = arrays(*ARGS, (UNITS, 20))

    def function(w, u, b, xs, v):
        """A network with a readout in each step."""

        def body(h, x):
            """One step."""
            h = cell(w, u, b, h, jnp.sin(x))
            return h, (jnp.sum(jnp.exp(h @ v) * x[:20]), h)

        return lax.scan(body, jnp.zeros(UNITS), xs)[1]

    assert products_in_loops(function, w, u, b, xs, v) == (1, 2)
    states = by_hand(w, u, b, xs)
    read = np.sum(np.exp(states @ np.asarray(v, np.float64)) * np.asarray(xs)[:, :20], axis=1)
    out, seen = function(w, u, b, xs, v)
    np.testing.assert_allclose(seen, states, atol=8e-6)
    np.testing.assert_allclose(out, read, atol=1e-4)


def test_large_stacks_and_short_loops_stay_as_they_are():
    w, few = arrays((INPUTS, UNITS), (4, INPUTS))
    rows = jnp.zeros((STEPS, 100, INPUTS))
    function = lambda w, xs: lax.scan(lambda c, x: (c + jnp.sum(x @ w), None), 0.0, xs)[0]  # noqa: E731
    assert products_in_loops(function, w, few) == (1, 0)
    assert products_in_loops(function, w, rows) == (1, 0)
    assert products_in_loops(function, w, jnp.zeros((STEPS, INPUTS))) == (0, 1)


def test_a_map_keeps_its_products_and_stores_one_row():
    w, xs = arrays((INPUTS, INPUTS), (STEPS, INPUTS))
    function = lambda w, xs: lax.map(lambda x: jnp.tanh(w @ x) @ w, xs)  # noqa: E731
    assert products_in_loops(function, w, xs) == (2, 0)
    memory = jax.jit(function).lower(w, xs).compile().memory_analysis()
    assert memory.temp_size_in_bytes < STEPS * INPUTS * 4
    w, xs = np.asarray(w, np.float64), np.asarray(xs, np.float64)
    np.testing.assert_allclose(function(w, xs), np.tanh(xs @ w.T) @ w, atol=1e-5)
