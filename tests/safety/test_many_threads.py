"""Eight threads that call, trace and compile the same and different functions."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp

THREADS = 8


def in_threads(work: Callable[[int], None], limit: float) -> None:
    """Run `work(number)` in each thread; fail for an exception, and for a thread that hangs."""
    found: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised below
            found.append(error)

    threads = [threading.Thread(target=guarded, args=(n,), daemon=True) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + limit
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if found:
        raise found[0]


def mixture(seconds: float) -> Callable[[int], None]:
    """Return the work: shared and own functions, eager, compiled, transformed, in loops."""
    x = jnp.linspace(0.0, 1.0, 200_000)
    shared = jax.jit(lambda x, s: jnp.sin(x * s).sum())
    sums = [float(shared(x, float(s))) for s in range(4)]

    def work(number: int) -> None:
        end, step = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            step += 1
            c = number + step / 8
            assert float(shared(x, float(step % 4))) == sums[step % 4]
            assert math.isclose(jax.jit(lambda y, c=c: jnp.sin(y) * c + y)(2.0),
                                math.sin(2.0) * c + 2, rel_tol=1e-4)  # fmt: skip
            assert math.isclose(
                jax.grad(lambda y, c=c: jnp.sum(y * y * c))(1.5), 3 * c, rel_tol=1e-4
            )
            rows = jax.vmap(lambda y, c=c: y * c)(jnp.arange(5.0))
            np.testing.assert_allclose(rows, np.arange(5) * c, rtol=1e-5)
            total = lax.fori_loop(0, number + 3, lambda i, y, c=c: y + c, 0.0)
            assert math.isclose(total, c * (number + 3), rel_tol=1e-4)
            assert float(jnp.ones(step % 50 + 1).sum()) == step % 50 + 1

    return work


def test_threads_that_mix_everything_neither_hang_nor_err() -> None:
    in_threads(mixture(2.0), 60.0)


@pytest.mark.slow
def test_threads_that_mix_everything_for_a_minute() -> None:
    in_threads(mixture(60.0), 180.0)


def test_threads_that_trace_one_function_at_once_get_one_program() -> None:
    barrier = threading.Barrier(THREADS)
    f = jax.jit(lambda x: jnp.cos(x) * 3)

    def work(number: int) -> None:
        barrier.wait()
        for size in range(1, 12):
            np.testing.assert_allclose(f(jnp.zeros(size)), np.full(size, 3.0))

    in_threads(work, 60.0)
    assert f._cache_size() == 11


def test_contexts_belong_to_their_thread() -> None:
    barrier = threading.Barrier(THREADS)

    def work(number: int) -> None:
        wide = number % 2 == 0
        with jax.enable_x64(wide):
            barrier.wait()
            for _ in range(20):
                assert jnp.arange(3.0).dtype == (np.float64 if wide else np.float32)
                assert jax.jit(lambda: jnp.arange(3.0))().dtype.itemsize == (8 if wide else 4)

    in_threads(work, 60.0)


def test_an_array_may_be_deleted_by_another_thread() -> None:
    f = jax.jit(lambda x: (x * 2).sum())

    def work(number: int) -> None:
        for _ in range(100):
            x = jnp.ones(5000)
            other = threading.Thread(target=x.delete)
            other.start()
            try:
                assert float(f(x)) == 10000
            except RuntimeError as error:
                assert "deleted" in str(error)
            other.join()

    in_threads(work, 60.0)
