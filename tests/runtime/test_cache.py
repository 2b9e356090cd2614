"""The cache of traced programs: keyed by function and signature, freed with the function."""

from __future__ import annotations

import gc
import logging
import weakref

import numpy as np

import tapeless as jax
from tapeless.runtime.cache import TraceCache

jnp = jax.numpy


def test_cache_size_counts_signatures():
    """Each signature counts once; clearing forgets them."""
    f = jax.jit(lambda x: x)
    for value in (1.0, 2.0, 3, np.ones(2, "float32"), jnp.ones(2)):
        f(value)
    assert f._cache_size() == 3
    f.clear_cache()
    assert f._cache_size() == 0


def test_what_was_only_looked_at_is_not_counted():
    """As in JAX, which counts executables that calls have used."""
    f = jax.jit(lambda x: x * 2)
    for look in (f.lower, f.eval_shape, f.trace, jax.make_jaxpr(f), jax.vmap(f), jax.jit(f)):
        look(jnp.ones(3))
    jax.grad(lambda x: f(x).sum())(jnp.ones(3))
    assert f._cache_size() == 0
    f(jnp.ones(3))
    assert f._cache_size() == 1


def test_compilations_are_logged_when_asked(caplog):
    """Tracing, the types, and the end of it; nothing for a program that is there."""

    @jax.jit
    def scaled(x, y):
        return x * y - 0.125

    with caplog.at_level(logging.WARNING):
        with jax.log_compiles():
            scaled(np.ones(7, "float32"), 2)
            lines = [record.getMessage() for record in caplog.records]
            caplog.clear()
            scaled(np.ones(7, "float32"), 2)
        scaled(np.ones(8, "float32"), 2)
    assert lines[-3].startswith("Finished tracing scaled for jit in 0.0")
    assert lines[-2] == (
        "Compiling jit(scaled) with global shapes and types "
        "(ShapedArray(float32[7]), ShapedArray(int32[], weak_type=True))."
    )
    assert lines[-1].startswith("Finished compilation of jit(scaled) in ")
    assert not caplog.records


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


def explained(caplog, *calls) -> str:
    """Return the last explanation that is logged while functions without arguments are called."""
    caplog.clear()
    with caplog.at_level(logging.WARNING), jax.explain_cache_misses(True):
        for call in calls:
            call()
    return caplog.records[-1].getMessage()


def test_a_miss_names_the_argument_and_both_types(caplog):
    @jax.jit
    def model(batch, scale, *, extra=None):
        return batch["x"] * scale

    first = {"x": jnp.ones(2), "y": jnp.ones(3)}
    text = explained(caplog, lambda: model(first, 1.0))
    assert "never seen function:\n    model" in text
    assert f"at {__file__}:" in text
    text = explained(caplog, lambda: model({**first, "x": jnp.ones(3)}, 1.0))
    assert "* at batch['x'], now f32[3] and before f32[2]" in text
    assert "batch['y']" not in text
    text = explained(caplog, lambda: model(first, jnp.float32(1)))
    assert "* at scale, now f32[] and before f32[]{weak_type=True}" in text
    text = explained(caplog, lambda: model(first, 1.0, extra=1))
    assert "different input pytree" in text
    assert "'extra'" in text


def test_a_miss_names_settings_and_static_values(caplog):
    f = jax.jit(lambda x, n: x * n, static_argnums=1)
    text = explained(caplog, lambda: f(1.0, 2), lambda: f(1.0, 3))
    assert "different static values" in text
    with jax.enable_x64(True):
        text = explained(caplog, lambda: f(1.0, 3))
    assert "* jax_enable_x64 differs: now True and before False" in text


def test_a_hit_is_not_explained(caplog):
    f = jax.jit(lambda x: x + 1)
    f(jnp.ones(2))
    with caplog.at_level(logging.WARNING), jax.explain_cache_misses(True):
        f(jnp.ones(2))
    assert not caplog.records


def test_the_programs_of_one_function_are_bounded():
    """Static values may be new at every call: the oldest programs go, the latest stay."""
    own, other = (lambda x: x), (lambda x: -x)
    cache = TraceCache()
    program = jax.jit(own).trace(1.0)._traced
    cache.put(other, "its own", program)
    for number in range(5000):
        cache.put(own, number, program)
        program.is_called = True
    assert cache.size(own) <= 4096
    assert cache.get(own, 0) is None
    assert cache.get(own, 4999) is program
    assert cache.get(other, "its own") is program
