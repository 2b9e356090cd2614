"""Nests of one form are one function: which are, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless.compiler import emit
from tapeless.compiler.alike import nests_alike
from tapeless.compiler.target import host_target
from tapeless.kernel.ir import Buffer, Loop
from tests.compiler.native import F32, Work

jnp = jax.numpy
named = pytest.mark.parametrize
N = 40


def nest(work: Work, source: Buffer, to: Buffer, factor: float, **options: int) -> None:
    """Add a loop that computes some recipes: x -> sin(x * factor) + x, at displaced elements."""
    first, out, stride = (options.get(name, 0) for name in ("first", "out", "stride"))
    i = work.index("i", N)
    element = work.index_mul(i, stride or 1)
    x = work.load(source, work.index_add(element, first))
    value = work.op("sin", work.mul(x, work.const(factor, F32)))
    for _ in range(3):
        value = work.add(work.mul(value, x), x)
    place = work.index_add(i, out)
    work.body.append(Loop(i, N, (emit.Store(to, place, value),)))


def chained(factors: list[float]) -> Work:
    """Apply nests one after the other."""
    work = Work()
    buffer = work.input(np.linspace(-1, 1, N, dtype=F32))
    for factor in factors[:-1]:
        following = work.temp((N,), F32)
        nest(work, buffer, following, factor)
        buffer = following
    nest(work, buffer, work.output((N,), F32), factors[-1])
    return work


def windows(stride: int, starts: list[int]) -> Work:
    """Apply nests to parts of one buffer, results beside each other."""
    work = Work()
    source = work.input(np.linspace(-2, 2, 400, dtype=F32))
    to = work.output((len(starts) * N,), F32)
    for number, start in enumerate(starts):
        nest(work, source, to, 0.5, first=start, out=number * N, stride=stride)
    return work


WORKS: dict[str, tuple[Callable[[], Work], int]] = {
    "one constant": (lambda: chained([0.5] * 6), 1),
    "constants": (lambda: chained([0.5, 1.5, -0.0, 2.5, float("inf"), 0.5]), 1),
    "places": (lambda: windows(1, [0, 7, 300, 1]), 1),
    "places, downwards": (lambda: windows(1, [300, 7, 2]), 1),
    "every other place": (lambda: windows(2, [0, 24, 5, 29]), 2),
    "two": (lambda: chained([0.5] * 2), 0),
}


def functions(work: Work) -> int:
    """Count the functions for nests in a program."""
    return work.emit(host_target()).text.count("define internal i32 @nest")


@named("effort", [0, 1, 2])
@named("name", WORKS)
def test_functions_give_the_same_bits(
    name: str, effort: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, count = WORKS[name]
    shared = make()
    assert functions(shared) == count
    got = shared.run(effort)
    monkeypatch.setattr(emit, "nests_alike", lambda *_: {})
    alone = make()
    assert functions(alone) == 0
    np.testing.assert_array_equal(got, alone.run(effort))


def test_a_temporary_that_became_a_result_is_passed_as_one() -> None:
    work = Work()
    source = work.input(np.ones(N, F32))
    temps = [work.temp((N,), F32) for _ in range(3)]
    for temp in temps:
        nest(work, source, temp, 0.5)
    *alike, apart = work.body
    found = nests_alike(tuple(work.body), {source, temps[-1]}, ())
    assert set(found) == set(alike) and apart not in found


def test_what_is_the_same_in_all_iterations_is_computed_once() -> None:
    work = Work()
    source, scale = work.input(np.ones(N, F32)), work.input(np.ones((), F32))
    root = work.op("sin", work.get(scale))
    for _ in range(3):
        to, i = work.output((N,), F32), work.index("i", N)
        value = work.get(source, i)
        for _ in range(4):
            value = work.add(work.mul(value, root), value)
        work.body.append(Loop(i, N, (work.put(to, (i,), value),)))
    text = work.emit(host_target()).text
    assert functions(work) == 0
    assert text.count('call float @"sin') == 1


def test_types_and_extents_are_part_of_the_form() -> None:
    work = Work()
    for count, dtype in ((N, F32), (N + 1, F32), (N, np.dtype(np.float64))):
        source, to = work.input(np.ones(count, dtype)), work.output((count,), dtype)
        i = work.index("i", count)
        value = work.get(source, i)
        for _ in range(6):
            value = work.mul(work.add(value, value), value)
        work.body.append(Loop(i, count, (work.put(to, (i,), value),)))
    assert functions(work) == 0


@named("n", [1 << 12, 1 << 19])
def test_unrolled_steps_of_programs(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones, and ones that are shared among threads and polled."""

    def steps(x: jax.Array) -> jax.Array:
        """Take some."""
        for k in range(6):
            x = jnp.tanh(jnp.cumsum(x) * 1e-3 + k) * jnp.cos(x)
        return x

    x = jnp.linspace(-1, 1, n)
    seen: list[int] = []
    real = emit.nests_alike

    def spy(*args: object) -> object:
        """Count calls of functions."""
        found = real(*args)
        seen.append(len(found))
        return found

    monkeypatch.setattr(emit, "nests_alike", spy)
    got = jax.jit(lambda x: steps(x))(x)
    assert max(seen) >= 3
    monkeypatch.setattr(emit, "nests_alike", lambda *_: {})
    alone = jax.jit(lambda x: (steps(x), x))(x)[0]
    np.testing.assert_array_equal(got, alone)
