"""What is kept for the backward pass, against what JAX keeps, by both systems' reports."""

from __future__ import annotations

import contextlib
import importlib
import io
from types import ModuleType

import numpy as np
import pytest

import tapeless

pytestmark = pytest.mark.oracle

ROWS = np.ones((4, 3), np.float32)


def mlp(j: ModuleType, w, x):
    """Two layers."""
    return j.numpy.sum(j.numpy.tanh(w @ j.numpy.tanh(w @ x)))


def recurrent(j: ModuleType, w, x):
    """A scan with a product in it."""
    step = lambda h, a: (j.numpy.tanh(w @ h + a), h)  # noqa: E731
    return j.numpy.sum(j.lax.scan(step, x, ROWS)[0])


def invariant(j: ModuleType, w, x):
    """A scan with an invariant factor and a constant start."""
    step = lambda h, a: (h * j.numpy.sin(x) + a, None)  # noqa: E731
    return j.numpy.sum(j.lax.scan(step, j.numpy.ones(3), ROWS)[0])


def linear(j: ModuleType, w, x):
    """A scan that is linear in its carry."""
    return j.numpy.sum(j.lax.scan(lambda h, a: (w @ h + a, None), x, ROWS)[0])


def branch(j: ModuleType, w, x):
    """A branch."""
    yes, no = lambda x: j.numpy.sum(j.numpy.sin(x)), lambda x: j.numpy.sum(x * x)
    return j.lax.cond(x[0] > 0, yes, no, x)


def softmax(j: ModuleType, w, x):
    """A softmax."""
    return j.numpy.sum(j.nn.softmax(w @ x) * x)


def update(j: ModuleType, w, x):
    """An update of one element."""
    return j.numpy.sum(x.at[0].set(2.0) * j.numpy.sin(x))


def compiled(j: ModuleType, w, x):
    """A compiled function."""
    return j.jit(lambda w, x: mlp(j, w, x))(w, x)


def counted(j: ModuleType, w, x):
    """A loop between known bounds."""
    return j.numpy.sum(j.lax.fori_loop(0, 5, lambda i, h: j.numpy.sin(h) * x, x))


def checkpointed(j: ModuleType, w, x):
    """A scan of checkpointed steps."""
    step = j.checkpoint(lambda h, a: (j.numpy.tanh(j.numpy.sin(w @ h) + a), None))
    return j.numpy.sum(j.lax.scan(step, x, ROWS)[0])


def count(system: ModuleType, function) -> int:
    """Return the number of lines that a system reports."""
    report = importlib.import_module(f"{system.__name__}.ad_checkpoint").print_saved_residuals
    arrays = system.numpy.ones((3, 3)), system.numpy.ones(3)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        report(lambda w, x: function(system, w, x), *arrays)
    return len(text.getvalue().splitlines())


PROGRAMS = [
    mlp, recurrent, invariant, linear, branch, softmax, update, compiled, counted, checkpointed
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_no_more_is_kept_than_by_jax(function):
    jax = importlib.import_module("jax")
    ours, theirs = count(tapeless, function), count(jax, function)
    assert 0 < ours <= theirs
