"""Resident memory reaches a plateau, whatever is called, traced and compiled, how often ever."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.core.jaxpr import Jaxpr
from tapeless.runtime import eager
from tapeless.util.cache import BoundedTable

X = jnp.arange(16.0)
STATUS = Path("/proc/self/status")
MEBIBYTE = 1 << 20
pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="reads the memory of a Linux process")


def resident() -> int:
    """Return the resident bytes of this process, garbage apart."""
    gc.collect()
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def growth(run: Callable[[int], None], count: int) -> int:
    """Return the bytes by which the process grows in the second of two series of `run`."""
    for number in range(count):
        run(number)
    before = resident()
    for number in range(count, 2 * count):
        run(number)
    return resident() - before


def sizes(few: int, many: int) -> pytest.MarkDecorator:
    """Return the parameters of a test: few runs, and many in `make test-long`."""
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])


@sizes(20_000, 500_000)
def test_calls_keep_nothing(count):
    """Calls of one compiled function, and of an eager operation."""
    f = jax.jit(lambda x, y: x * y + 1)

    def run(number: int) -> None:
        """Call both."""
        f(X, 2.5)
        assert (X + X).shape == (16,)

    assert growth(run, count) < MEBIBYTE


@sizes(150, 5_000)
def test_closures_that_do_the_same_keep_nothing(count):
    """A new function for each call, all of one program."""

    def run(number: int) -> None:
        """Compile a closure over a large array, and drop it."""
        large = jnp.full(4096, number)
        jax.jit(lambda x: jnp.sin(x) + large[0])(X)

    # One of the arrays has 16 kilobytes.
    assert growth(run, count) < MEBIBYTE


def compile_another(number: int) -> None:
    """Compile a program with a constant of its own, and drop the function."""
    jax.jit(lambda x: jnp.sin(x) * (number + 0.5) + number)(X)


def programs_alive() -> int:
    """Return the number of programs that something refers to."""
    gc.collect()
    return sum(isinstance(each, Jaxpr) for each in gc.get_objects())


def test_code_of_dead_functions_is_freed(monkeypatch):
    # A program with its code takes some 50 kilobytes. Of some thousands machine code is kept as
    # data, 5 kilobytes each.
    monkeypatch.setattr(eager, "templates", BoundedTable(16))
    assert growth(compile_another, 150) < 150 * 20_000


def test_dead_programs_are_freed(monkeypatch):
    monkeypatch.setattr(eager, "templates", BoundedTable(16))
    for number in range(20):
        compile_another(number)
    before = programs_alive()
    for number in range(20, 50):
        compile_another(number)
    assert programs_alive() <= before


@pytest.mark.slow
def test_ten_thousand_programs_reach_a_plateau():
    assert growth(compile_another, 5_000) < 10 * MEBIBYTE
