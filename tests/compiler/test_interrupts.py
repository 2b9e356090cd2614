"""Signals reach a native loop: Ctrl-C, alarms, loops inside tasks, and the price of polling."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.compiler.emit import emit_program
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.target import host_target
from tapeless.kernel.ir import Loop, Store, While
from tapeless.kernel.sorters import SORTERS
from tapeless.runtime import memory
from tests.compiler.native import F32, I64, Work


def endless(work: Work) -> None:
    """A loop that counts until an input says stop; the input never does."""
    count, zero = work.local((), I64), work.affine(0)
    y = work.output((), I64)
    limit = work.load(work.input(np.array(-1)), zero)
    now = work.load(count, zero, after=1)
    work.body += [
        Store(count, zero, work.const(0, I64)),
        While((), work.ne(now, limit), (Store(count, zero, work.and_(work.add(now, 3), 1023)),)),
        Store(y, zero, now),
    ]


class Alarm(Exception):
    """What the handler of these tests raises."""


@pytest.fixture
def alarm() -> Iterator[Callable[[float], object]]:
    """Make SIGALRM raise `Alarm`; give the function that sets the alarm."""

    def ring(number: int, frame: object) -> None:
        raise Alarm(number)

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def assert_left(work: Work, alarm: Callable[[float], object]) -> None:
    """Check that a program ends soon after the alarm, by what the handler raises."""
    native = work.compile()
    alarm(0.2)
    start = time.monotonic()
    with pytest.raises(Alarm):
        native.run(work.pointers())
    assert time.monotonic() - start < 5.0


def test_an_endless_loop_is_left_with_the_exception_of_the_handler(
    alarm: Callable[[float], object],
) -> None:
    work = Work()
    endless(work)
    native = work.compile()
    alarm(0.2)
    start = time.monotonic()
    with pytest.raises(Alarm, match=str(signal.SIGALRM.value)):
        native.run(work.pointers())
    assert time.monotonic() - start < 2.0


def test_ctrl_c_is_a_keyboard_interrupt() -> None:
    work = Work()
    endless(work)
    native = work.compile()
    main = threading.main_thread().ident
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        native.run(work.pointers())
    timer.join()


def test_a_shared_loop_stops_in_every_thread(alarm: Callable[[float], object]) -> None:
    work = Work()
    n, steps = 64, 1 << 30
    x, y = work.input(np.ones(n, F32)), work.output((n,), F32)
    state, zero = work.local((), F32), work.affine(0)
    i, j = work.index("i", n), work.index("j", steps)
    following = work.add(work.mul(work.load(state, zero), 0.5), work.get(x, i))
    body = (
        Store(state, zero, work.const(0.0, F32)),
        Loop(j, steps, (Store(state, zero, following),), independent=False),
        work.put(y, (i,), work.load(state, zero, after=1)),
    )
    work.body.append(Loop(i, n, body))
    assert "tapeless_parallel" in work.emit(host_target()).needs
    assert_left(work, alarm)
    short = Work()
    z = short.output((), I64)
    short.body.append(short.put(z, (), short.const(3, I64)))
    assert short.run()[0] == 3


def test_other_threads_run_python_meanwhile(alarm: Callable[[float], object]) -> None:
    work = Work()
    endless(work)
    native = work.compile()
    ticks = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.005):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    alarm(0.3)
    with pytest.raises(Alarm):
        native.run(work.pointers())
    stop.set()
    thread.join()
    assert len(ticks) > 5


@pytest.mark.parametrize("kind", ["vectors", "sum"])
def test_long_loops_over_vectors_are_left_too(kind: str, alarm: Callable[[float], object]) -> None:
    work = Work()
    n = 1 << 42
    i, x = work.index("i", n), work.input(np.ones(1, F32))
    y = work.output((64,), F32)
    value = work.mul(work.convert(work.and_(work.affine(i), 63), F32), work.get(x, 0))
    if kind == "sum":
        work.body.append(work.put(y, (0,), work.fold("add", value, i, n, 0.0)))
    else:
        place = work.and_(work.affine(i), 63)
        work.body.append(Loop(i, n, (Store(y, work.affine(place), value),)))
    assert_left(work, alarm)


def test_short_loops_do_not_poll() -> None:
    work = Work()
    i = work.index("i", 50)
    y = work.output((50,), I64)
    work.body.append(Loop(i, 50, (work.put(y, (i,), work.affine(i)),), independent=False))
    assert "tapeless_poll" not in work.emit(host_target()).needs


def in_order(work: Work, extent: int, times: int = 1) -> None:
    """A loop with a carried number that is multiplied by 3 so many times; it wraps around."""
    state, zero = work.local((), I64), work.affine(0)
    y, i = work.output((), I64), work.index("i", extent)
    value = work.add(work.load(state, zero), work.affine(i))
    for _ in range(times):
        value = work.add(work.mul(value, 3), 1)
    work.body += [
        Store(state, zero, work.const(1, I64)),
        Loop(i, extent, (Store(state, zero, value),), independent=False),
        Store(y, zero, work.load(state, zero, after=1)),
    ]


def own_loops(text: str) -> list[str]:
    """The blocks of a module that end with a branch to themselves: loops without a poll."""
    pieces = re.split(r"^([\w.]+):$", text, flags=re.MULTILINE)
    return [
        body
        for label, body in zip(pieces[1::2], pieces[2::2], strict=True)
        if re.search(rf"br i1 %\S+, label %{re.escape(label)}, ", body)
    ]


@pytest.mark.parametrize(("times", "is_stretched"), [(1, True), (400, False)])
def test_long_loops_of_short_iterations_poll_in_stretches(times: int, is_stretched: bool) -> None:
    work = Work()
    in_order(work, 100_000, times)
    text = work.emit(host_target()).text
    assert text.count("call i32 @tapeless_poll") == 1
    assert any("mul" in body for body in own_loops(text)) == is_stretched


@pytest.mark.parametrize("extent", [90_000, 128 * 800, 128 * 800 + 1, 128 * 800 - 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_stretches_have_all_iterations(extent: int, reverse: bool) -> None:
    """Each iteration writes at its own place where it comes in the order."""
    work = Work()
    state, zero = work.local((), I64), work.affine(0)
    y, i = work.output((extent,), I64), work.index("i", extent)
    body = (
        Store(state, zero, work.add(work.load(state, zero), 1)),
        work.put(y, (i,), work.load(state, zero, after=1)),
    )
    loop = Loop(i, extent, body, independent=False, reverse=reverse)
    work.body += [Store(state, zero, work.const(0, I64)), loop]
    assert "tapeless_poll" in work.emit(host_target()).needs
    assert own_loops(work.emit(host_target()).text)
    counts = np.arange(1, extent + 1)
    np.testing.assert_array_equal(work.run()[0], counts[::-1] if reverse else counts)


def test_loops_of_stretches_are_left(alarm: Callable[[float], object]) -> None:
    work = Work()
    in_order(work, 1 << 42)
    assert_left(work, alarm)


def test_a_sorted_row_costs_what_its_own_length_says() -> None:
    """Else the budget was gone with every row, and each of them polled."""
    jaxpr = jax.jit(jnp.sort).trace(np.zeros((3000, 300), np.float32)).jaxpr.jaxpr
    emitted = emit_program(lower_jaxpr(jaxpr), host_target())
    if not any(symbol.startswith(SORTERS) for symbol in emitted.extras):
        pytest.skip("rows are sorted by other means without wide vectors")
    spent = [int(cost) for cost in re.findall(r"= sub nsw i64 %\S+, (\d+)", emitted.text)]
    assert 0 < max(spent) < 1 << 16


def test_rows_with_slices_stop_in_every_thread_and_give_their_memory_back(
    alarm: Callable[[float], object],
) -> None:
    """What was taken for a call that is interrupted serves the next one."""

    def row(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 5000, lambda i, y: jnp.sort(y) * 0.9 + x[::-1], x)

    xs = np.ones((40, 50_000), np.float32)
    rows = jax.jit(lambda xs: jax.lax.map(row, xs)).lower(xs).compile()
    size = rows.memory_analysis().temp_size_in_bytes
    assert size > 200_000
    memory.trim()
    for _ in range(4):
        alarm(0.1)
        start = time.monotonic()
        with pytest.raises(Alarm):
            rows(xs)
        assert time.monotonic() - start < 5.0
    memory.allocate(64)  # finds what has died
    assert size + xs.nbytes <= memory.pooled_bytes() < 3 * (size + xs.nbytes)
