"""Progress bars move while loops run, once per run, under all transformations."""

from __future__ import annotations

import io
import signal
import threading

import numpy as np
import pytest
import tqdm

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax
from tapeless.util import lazy

N = 400
XS = np.linspace(0.0, 1.0, N, dtype=np.float32)


class Bars:
    """What is written, as lists of the counts shown: one list per bar."""

    def __init__(self):
        """Keep what bars write."""
        self.stream = io.StringIO()

    def wrap(self, body, total=N, **options):
        """Return a body with a bar that shows each of its moves."""
        return jax.progress(
            body,
            total=total,
            description="work",
            file=self.stream,
            mininterval=0,
            ascii=True,
            **options,
        )

    def open(self):
        """Return the bars that were not ended."""
        return [bar for bar in tqdm.tqdm._instances if bar.fp is self.stream]

    def counts(self):
        """Return the counts that each finished or abandoned bar has shown."""
        found = []
        for text in self.stream.getvalue().split("\r"):
            if "/" in text:
                count = int(text.split("|")[2].split("/")[0])
                if count == 0:
                    found.append([])
                found[-1].append(count)
        return found


@pytest.fixture
def bars():
    """A place for bars."""
    return Bars()


def step(c, x):
    return c * 0.5 + jnp.sin(x), c


def check_whole(bar, total=N, most=102):
    """Assert that a bar went from nothing to everything, upwards, in few moves."""
    assert bar[0] == 0
    assert bar[-1] == total
    assert bar == sorted(bar)
    assert len(bar) <= most + 2


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("outer", [lambda f: f, jax.jit, lambda f: jax.jit(jax.grad(f))])
def test_a_scan_moves_one_bar(bars, outer, reverse):
    def run(wrap):
        """Return the scan, summed."""
        return lambda xs: lax.scan(wrap(step), 0.0, xs, reverse=reverse)[0]

    found = outer(run(bars.wrap))(XS)
    (bar,) = bars.counts()
    check_whole(bar)
    np.testing.assert_array_equal(found, outer(run(lambda f: f))(XS))


@pytest.mark.parametrize("of", [lambda f: f, jax.grad])
def test_a_batch_moves_one_bar(bars, of):
    f = of(lambda xs: lax.scan(bars.wrap(step), 0.0, xs)[0])
    jax.jit(jax.vmap(f))(jnp.stack([XS] * 3))
    (bar,) = bars.counts()
    check_whole(bar)


@pytest.mark.parametrize("is_static", [True, False])
def test_counted_loops_move_a_bar(bars, is_static):
    def f(n):
        """Sum up numbers."""
        return lax.fori_loop(0, N if is_static else n, bars.wrap(lambda i, c: c + i), 0)

    assert jax.jit(f)(N) == N * (N - 1) // 2
    (bar,) = bars.counts()
    check_whole(bar)


def test_a_while_loop_that_ends_early_ends_its_bar_and_tells_how_far_it_came(bars):
    run = jax.jit(lambda n: lax.while_loop(lambda c: c < n, bars.wrap(lambda c: c + 1), 0))
    early = N // 2 + 3  # its last move but for the end is at a multiple of four
    assert run(early) == early
    assert bars.stream.getvalue().endswith("\n")
    assert not bars.open()
    assert run(N) == N
    first, whole = bars.counts()
    assert first[-1] == early
    check_whole(whole)


def test_a_scan_that_is_shorter_than_its_total_ends_its_bar(bars):
    jax.jit(lambda xs: lax.scan(bars.wrap(step), 0.0, xs, reverse=True)[0])(XS[:30])
    assert bars.counts()[-1][-1] == 30
    assert not bars.open()


def test_a_bar_whose_loop_is_interrupted_is_ended(bars):
    def stop(c):
        """Raise in the middle."""
        if c >= 9:
            raise KeyboardInterrupt

    def body(i, c):
        """Count, and stop there."""
        jax.debug.callback(stop, c)
        return c + 1

    with pytest.raises(KeyboardInterrupt):
        jax.block_until_ready(lax.fori_loop(0, N, bars.wrap(body), 0))
    assert bars.stream.getvalue().endswith("\n")
    assert not bars.open()


def test_a_bar_whose_loop_a_signal_stops_is_ended(bars):
    run = jax.jit(lambda: lax.while_loop(lambda c: c >= 0, bars.wrap(lambda c: (c + 1) % 7), 0))
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    assert not bars.open()


def test_map_moves_a_bar(bars):
    np.testing.assert_allclose(lax.map(bars.wrap(jnp.sin), XS), np.sin(XS), rtol=1e-6)
    (bar,) = bars.counts()
    check_whole(bar)


def test_each_run_has_a_bar(bars):
    f = jax.jit(lambda xs: lax.scan(bars.wrap(step), 0.0, xs)[0])
    f(XS)
    f(XS)
    for bar in bars.counts():
        check_whole(bar)
    assert len(bars.counts()) == 2


def test_short_loops_show_every_iteration(bars):
    lax.scan(bars.wrap(step, total=5), 0.0, XS[:5])
    (bar,) = bars.counts()
    assert sorted(set(bar)) == [0, 1, 2, 3, 4, 5]


def test_bodies_that_run_one_by_one_count_too(bars):
    with jax.disable_jit():
        lax.scan(bars.wrap(step, total=5), 0.0, XS[:5])
    (bar,) = bars.counts()
    assert sorted(set(bar)) == [0, 1, 2, 3, 4, 5]


def test_a_nested_loop_counts_its_own_iterations(bars):
    def outer(c, xs):
        """Run the inner loop."""
        return lax.scan(bars.wrap(step, total=5), c, xs)[0], None

    jax.jit(lambda xs: lax.scan(outer, 0.0, xs)[0])(XS[:15].reshape(3, 5))
    assert [bar[-1] for bar in bars.counts()] == [5, 5, 5]


def test_python_is_called_a_hundred_times_at_most(bars):
    calls = []
    f = bars.wrap(lambda i, c: c + 1, total=100_000, postfix="x")
    stream = bars.stream
    stream.write = lambda text: calls.append(text)
    assert jax.jit(lambda: lax.fori_loop(0, 100_000, f, 0))() == 100_000
    assert 100 <= len([text for text in calls if "\r" in text]) <= 104


@pytest.mark.parametrize(
    ("args", "options", "error", "message"),
    [
        ((3,), {"total": 5}, TypeError, "wants the body of a loop, a function, got int"),
        ((step,), {"total": -1}, ValueError, "number of iterations, got -1; give 0 or more"),
        ((step,), {"total": 2.5}, TypeError, "as an integer, got 2.5"),
    ],
)
def test_bad_arguments_are_refused(args, options, error, message):
    with pytest.raises(error, match=message):
        jax.progress(*args, **options)


def test_a_loop_without_iterations_has_no_bar():
    none = XS[:0]
    body = jax.progress(step, total=len(none))
    assert lax.scan(body, 0.0, none)[0] == 0
    assert body is step


def test_programs_with_bars_are_printed(bars):
    program = jax.make_jaxpr(lambda xs: lax.scan(bars.wrap(step), 0.0, xs))(XS)
    assert "progress_tick[total=400]" in str(program)


def test_a_traced_total_is_refused():
    with pytest.raises(TypeError, match="wants the number of iterations as an integer"):
        jax.jit(lambda n: lax.fori_loop(0, n, jax.progress(step, total=n), 0))(3)


def test_without_tqdm_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(lazy, "exists", lambda name: False)
    with pytest.raises(ImportError, match=r"needs the package tqdm.*tapeless\[inspect\]"):
        jax.progress(step, total=3)
