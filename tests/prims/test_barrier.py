"""Barriers are identities that transformations respect."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless.prims import barrier
from tapeless.prims.binary import mul
from tests.support.harness import laws
from tests.support.records import Record, normal

RECORDS = [
    Record(
        "optimization_barrier",
        lambda x, y: barrier.optimization_barrier((x, y)),
        (normal(2, 3), normal(3)),
        ("float32", "int8", "bool"),
    ),
]
globals().update(laws(RECORDS))


def test_trees_keep_their_structure() -> None:
    """Dictionaries and tuples come back as they were."""
    tree = {"a": np.ones(2, np.float32), "b": (np.float32(1), None)}
    for function in (barrier.optimization_barrier, barrier.stop_gradient):
        out = function(tree)
        assert set(out) == {"a", "b"} and out["b"][1] is None
        assert np.asarray(out["a"]).tolist() == [1.0, 1.0]
    assert barrier.optimization_barrier(()) == ()


def test_stop_gradient_is_a_constant_to_grad() -> None:
    """d/dx x * stop(x) is x."""
    slope = jax.grad(lambda x: mul(x, barrier.stop_gradient(x)))(np.float32(3))
    assert float(slope) == 3.0


def test_stop_gradient_shows_in_the_program() -> None:
    """It is an operation of its own, also on integers."""
    text = str(jax.make_jaxpr(lambda x: barrier.stop_gradient((x, 1)))(np.float32(1)))
    assert text.count("stop_gradient") == 2
