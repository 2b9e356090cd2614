"""Keys that are used twice, and those that are not."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax, random
from tapeless import numpy as jnp
from tapeless.runtime import key_reuse

Reused = jax.errors.KeyReuseError


def key() -> jax.Array:
    """Return a key that nobody has used."""
    return random.key(0)


def twice(use: Callable, other: Callable = random.normal) -> Callable:
    """Return the function that uses a key in two ways."""
    return lambda k: (use(k), other(k))


WRONG: dict[str, Callable] = {
    "drawn twice": twice(random.normal),
    "two distributions": twice(random.normal, random.uniform),
    "split, then drawn": twice(random.split),
    "drawn in a function": twice(jax.jit(random.normal)),
    "a part twice": lambda k: twice(random.normal)(random.split(k)[0]),
    "reshaped": lambda k: twice(random.bits)(k.reshape((1,))[0]),
    "in a scan": lambda k: lax.scan(lambda c, x: (c, random.normal(k)), 0, jnp.arange(3)),
    "carried on": lambda k: lax.scan(lambda c, x: (c, random.normal(c)), k, jnp.arange(3)),
    "in a while": lambda k: lax.while_loop(
        lambda c: c < 3, lambda c: c + 1 + 0 * random.bits(k).astype(int), 0
    ),
    "in a branch and after": twice(
        lambda k: lax.cond(True, random.normal, lambda k: 0.0, k), random.normal
    ),
    "slices of a scan and after": lambda k: [
        lax.scan(lambda c, x: (c, random.normal(x)), 0, keys)[1] + random.normal(keys[1])
        for keys in [random.split(k, 3)]
    ],
}

RIGHT: dict[str, Callable] = {
    "split": lambda k: [random.normal(part) for part in random.split(k)],
    "parts by number": lambda k: [
        random.normal(keys[0]) + random.normal(keys[1]) for keys in [random.split(k, 3)]
    ],
    "fold_in": lambda k: random.normal(random.fold_in(k, 1)) + random.normal(k),
    "clone": lambda k: random.normal(random.clone(k)) + random.normal(k),
    "its data": lambda k: (random.key_data(k), random.normal(k)),
    "scanned": lambda k: lax.scan(lambda c, x: (c, random.normal(x)), 0, random.split(k, 3)),
    "split in each step": lambda k: lax.scan(
        lambda c, x: (lambda a, b: (a, random.normal(b)))(*random.split(c)), k, jnp.arange(3)
    ),
    "folded in a loop": lambda k: lax.fori_loop(
        0, 3, lambda i, s: s + random.normal(random.fold_in(k, i)), 0.0
    ),
    "either branch": lambda k: lax.cond(True, random.normal, random.uniform, k),
    "mapped": lambda k: jax.vmap(random.normal)(random.split(k, 3)),
    "checkpoint": lambda k: jax.grad(jax.checkpoint(lambda x: jnp.sin(x * random.normal(k))))(1.0),
    "two ways of drawing in one": lambda k: [
        random.poisson(k, 3.0),
        random.binomial(random.fold_in(k, 1), 10.0, 0.3),
        random.multinomial(random.fold_in(k, 2), 5, jnp.ones(3) / 3),
    ],
    "old keys": lambda k: twice(random.normal)(random.PRNGKey(0)),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_key_that_is_used_twice_is_an_error(name: str, wrap: Callable) -> None:
    wrap(WRONG[name])(key())  # silent by default
    with jax.debug_key_reuse(True), pytest.raises(Reused, match=r"(?s)line .*test_key_reuse.py:"):
        wrap(WRONG[name])(key())


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_key_that_is_used_once_is_none(name: str, wrap: Callable) -> None:
    plain = jax.tree.leaves(wrap(RIGHT[name])(key()))
    with jax.debug_key_reuse(True):
        found = jax.tree.leaves(wrap(RIGHT[name])(key()))
    for one, other in zip(plain, found, strict=True):
        if not jnp.issubdtype(jax.typeof(one).dtype, jax.dtypes.prng_key):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def test_calls_of_a_compiled_function_use_its_arguments() -> None:
    draw = jax.jit(lambda x, k: random.normal(k) * x)
    with jax.debug_key_reuse(True):
        for _ in range(50):
            draw(1.0, key())
        k = key()
        draw(1.0, k)
        with pytest.raises(Reused, match="Previously-consumed key .* at index 1"):
            draw(2.0, k)


def test_a_key_that_is_used_and_returned_is_used() -> None:
    with jax.debug_key_reuse(True):
        again, _ = jax.jit(lambda k: (k, random.normal(k)))(key())
        with pytest.raises(Reused):
            random.normal(again)


def test_arrays_that_are_gone_are_forgotten() -> None:
    with jax.debug_key_reuse(True):
        random.normal(key())
        gc.collect()
        before = len(key_reuse._known)
        for _ in range(20):
            random.normal(key())
        gc.collect()
        assert len(key_reuse._known) <= before + 2
