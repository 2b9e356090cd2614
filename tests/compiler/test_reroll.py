"""Loops that carry many scalars work in lanes."""

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.reroll import FEWEST, reroll
from tapeless.kernel.ir import Loop
from tapeless.kernel.nodes import Nodes

N = 40


def inner_extents(function, *args):
    """Return the extents of the loops that stand in the program's last loop."""
    program = lower_jaxpr(jax.make_jaxpr(function)(*args))
    (*_, loop) = [part for part in program.body if isinstance(part, Loop)]
    return sorted(part.extent for part in loop.body if isinstance(part, Loop))


def stepped(step, length):
    """Return the function that takes some steps of a tuple of scalars."""
    return lambda *xs: lax.scan(lambda c, _: (step(c), None), xs, None, length)[0]


def by_hand(step, length, xs):
    """Take the steps in NumPy."""
    for _ in range(length):
        xs = step(xs)
    return xs


def ring(c):
    """Mix each with its neighbour; the last with the first."""
    half = np.float32(0.5)
    return tuple(a * half + b * (half - b) for a, b in zip(c, (*c[1:], c[0]), strict=True))


def shared(c):
    """Mix each with what all share."""
    return tuple(a * np.float32(0.5) + c[0] * c[-1] for a in c[:-1]) + (c[-1],)


def reverse(c):
    """Turn the order round, which no order of memory suits."""
    return tuple(a + b for a, b in zip(c, c[::-1], strict=True))


def pairs(c):
    """Step positions and velocities, which alternate."""
    step = np.float32(0.01)
    new = []
    for x, v in zip(c[::2], c[1::2], strict=True):
        new += [x + v * step, v - x * step]
    return tuple(new)


def swapped(c):
    """Move each to its neighbour's place."""
    return (*c[1:], c[0])


def constant(c):
    """Forget everything but the last."""
    return (*[np.float32(2)] * (len(c) - 1), c[-1] + np.float32(1))


def numbers(n, dtype="float32"):
    """Return some numbers."""
    return tuple(np.asarray(0.125 + 0.01 * k, dtype) for k in range(n))


@pytest.mark.parametrize("step", [ring, shared, reverse, pairs, swapped, constant])
@pytest.mark.parametrize("n", [4, FEWEST, N, 2 * FEWEST + 6])
def test_values_are_those_of_scalars(step, n):
    """Every pattern gives the same bits as NumPy's scalars, in lanes or not."""
    xs = numbers(n)
    found = jax.jit(stepped(step, 7))(*xs)
    np.testing.assert_array_equal(np.stack(found), np.stack(by_hand(step, 7, xs)))


def test_runs_are_found():
    """The ring is a loop and one statement; copies are a loop."""
    assert inner_extents(stepped(ring, 7), *numbers(N)) == [N - 1, N]
    assert inner_extents(stepped(ring, 7), *numbers(FEWEST - 1)) == []
    assert N - 1 in inner_extents(stepped(shared, 7), *numbers(N))
    alternating = inner_extents(stepped(pairs, 7), *numbers(2 * N))
    assert alternating.count(N) >= 2


@pytest.mark.parametrize("dtype", ["float16", "int32", "float64", "bool", "complex64"])
def test_dtypes(dtype):
    """Scalars of every kind may lie beside each other."""
    with jax.enable_x64(True):
        values = tuple(np.asarray(k % 3, dtype) for k in range(N))

        def rotated(c):
            """Add to each its neighbour."""
            return tuple(a + b for a, b in zip(c, (*c[1:], c[0]), strict=True))

        found = jax.jit(stepped(rotated, 3))(*values)
        np.testing.assert_array_equal(np.stack(found), np.stack(by_hand(rotated, 3, values)))


def test_recipes_and_outputs():
    """Sines of the carry, with stacked outputs and a loop around."""
    xs = numbers(N)
    rotated = lambda c: (*c[1:], c[0])  # noqa: E731

    def step(c, x):
        """Mix by sines."""
        new = tuple(0.9 * a + 0.1 * jnp.sin(b) + x for a, b in zip(c, rotated(c), strict=True))
        return new, new[3]

    def vector(c, x):
        """The same over a vector."""
        new = 0.9 * c + 0.1 * jnp.sin(jnp.roll(c, -1)) + x
        return new, new[3]

    rows = jnp.linspace(0.0, 0.1, 6)
    last, ys = jax.jit(lambda *c: lax.scan(step, c, rows))(*xs)
    wanted, wanted_ys = lax.scan(vector, jnp.stack(xs), rows)
    np.testing.assert_allclose(np.stack(last), wanted, rtol=1e-6)
    np.testing.assert_allclose(ys, wanted_ys, rtol=1e-6)


def test_derivatives_and_rows():
    """Gradients and batches of such a loop."""
    f = lambda x: jnp.stack(stepped(ring, 5)(*x))  # noqa: E731
    x = jnp.stack(numbers(N))

    def vector(x):
        """The same over a vector."""
        half = np.float32(0.5)
        step = lambda c, _: (c * half + jnp.roll(c, -1) * (half - jnp.roll(c, -1)), None)  # noqa: E731
        return lax.scan(step, x, None, 5)[0]

    total = lambda f: lambda x: jnp.sum(jnp.sin(f(x)))  # noqa: E731
    np.testing.assert_allclose(
        jax.jit(jax.grad(total(f)))(x), jax.grad(total(vector))(x), rtol=1e-5, atol=1e-6
    )
    rows = x * jnp.linspace(0.5, 1.0, 3)[:, None]
    np.testing.assert_allclose(jax.jit(jax.vmap(f))(rows), jax.vmap(vector)(rows), rtol=1e-6)


def test_branches_and_whiles_inside():
    """Scalars that a branch and a while read are found in their arrays."""
    xs = numbers(N)

    def step(c):
        """Step, with a branch on one scalar and a loop on another."""
        c = ring(c)
        first = lax.cond(c[3] > 0.1, lambda a: a * 0.5, lambda a: a + 1, c[7])
        second = lax.while_loop(lambda a: a < 1, lambda a: a + c[9] + 0.3, c[11])
        return (first, second, *c[2:])

    def plain(c):
        """The same with Python's branches and loops."""
        c = ring(c)
        first = c[7] * np.float32(0.5) if c[3] > 0.1 else c[7] + np.float32(1)
        second = c[11]
        while second < 1:
            second = second + c[9] + np.float32(0.3)
        return (first, second, *c[2:])

    found = jax.jit(stepped(step, 4))(*xs)
    np.testing.assert_allclose(np.stack(found), np.stack(by_hand(plain, 4, xs)), rtol=1e-6)


def test_nothing_to_roll():
    """A block without runs stays as it is."""
    assert reroll(Nodes(), ()) == ()
