"""Sections: long bodies are cut, short ones are not, and results do not change."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.plan import local_buffers
from tapeless.compiler.sections import sections_of

jnp = jax.numpy


def steps(x, weights, count):
    """Apply a small matrix and a tanh, unrolled."""
    for _ in range(count):
        x = jnp.tanh(weights @ x)
    return x


def body(count):
    """Return the statements of the unrolled program; steps over so few numbers are no loop."""
    jaxpr = jax.jit(lambda x, w: steps(x, w, count)).trace(np.ones(15), np.ones((15, 15))).jaxpr
    return lower_jaxpr(jaxpr).body


def test_short_bodies_stay_whole():
    """A program of a few statements is one section."""
    assert len(sections_of(body(5))) == 1


def test_sections_are_the_body_in_order():
    """Sections together are the body, and a local buffer is used in one of them only."""
    whole = body(200)
    sections = sections_of(whole)
    assert len(sections) > 2
    assert [statement for section in sections for statement in section] == list(whole)
    seen = [local_buffers(section) for section in sections]
    for number, buffers in enumerate(seen):
        assert all(buffers.isdisjoint(other) for other in seen[:number])


def test_results_are_those_of_the_loop():
    """200 unrolled steps, in sections, agree with NumPy's."""
    weights = np.random.default_rng(0).normal(size=(20, 20)).astype("float32") / 4
    x = np.ones(20, "float32")
    got = jax.jit(lambda x, w: steps(x, w, 200))(x, weights)
    wanted = x.astype("float64")
    for _ in range(200):
        wanted = np.tanh(weights @ wanted)
    np.testing.assert_allclose(got, wanted, atol=2e-3)
