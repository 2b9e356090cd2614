"""The cache of traced programs: keyed by function and signature, freed with the function."""

from __future__ import annotations

import gc
import logging
import weakref

import numpy as np

import tapeless as jax

jnp = jax.numpy


def test_cache_size_counts_signatures():
    """Each signature counts once; clearing forgets them."""
    f = jax.jit(lambda x: x)
    for value in (1.0, 2.0, 3, np.ones(2, "float32"), jnp.ones(2)):
        f(value)
    assert f._cache_size() == 3
    f.clear_cache()
    assert f._cache_size() == 0


def test_programs_die_with_their_function():
    """What a dead function captured is freed."""

    class Captured:
        """Something that can be watched."""

    captured = Captured()
    watch = weakref.ref(captured)
    f = jax.jit(lambda x, held=captured: x + (held is not None))
    for _ in range(3):
        f(1.0)
    del f, captured
    gc.collect()
    assert watch() is None


def test_misses_are_explained(caplog):
    """With the flag on, a log says which part of a signature is new."""
    f = jax.jit(lambda x: x)
    with caplog.at_level(logging.WARNING), jax.explain_cache_misses(True):
        f(jnp.ones(2))
        f(jnp.ones(3))
    texts = [record.getMessage() for record in caplog.records]
    assert any("argument types changed" in text and "float32[3]" in text for text in texts)
