"""Ctrl-C, alarms and every other signal handler, by real signals in real processes.

Each case is a program with a `run` that takes (almost) for ever and an `after` that uses the same
function with other arguments.  The test sends SIGINT some time after `run` has started.  The child
reports when KeyboardInterrupt reached it, on the clock that both processes share.
"""

from __future__ import annotations

import math
import signal
import time

import pytest

from tests.safety.children import Child

LATENCY = 0.1  # seconds
ROUNDS = 5  # the machine may be busy: the first round that is fast enough ends the test

LOOP = """
for _ in range(ROUNDS):
    print("started")
    try:
        run()
        print("finished")
    except KeyboardInterrupt:
        print(time.monotonic())
    print(after())
"""

CASES = {
    "while_loop": """
f = jax.jit(lambda n: lax.while_loop(lambda i: i != n, lambda i: (i + 3) & 1023, jnp.int32(0)))
f(6)
run, after = lambda: f(-1), lambda: int(f(6)) == 6
""",
    "scan": """
@jax.jit
def f(x, ks):
    return lax.scan(lambda c, k: (jnp.sin(c) + k, ()), x, ks)[0]
few, many = jnp.zeros(2), jnp.zeros(3_000_000)
g = f.lower(jnp.ones(256), many).compile()
run = lambda: [g(jnp.ones(256), many) for _ in range(99)]
after = lambda: f(jnp.ones(3), few).shape == (3,)
""",
    "counted_loop": """
f = jax.jit(lambda x, n: lax.fori_loop(0, n, lambda i, c: jnp.sin(c) + 1, x))
run, after = lambda: f(1.0, 2_000_000_000), lambda: abs(float(f(1.0, 1)) - 1.841471) < 1e-5
after()
""",
    "scan_of_large_arrays": """
f = jax.jit(lambda x, n: lax.fori_loop(0, n, lambda i, c: jnp.sin(c) + 1, x))
run, after = lambda: f(jnp.ones(1_000_000), 2_000_000_000), lambda: f(jnp.ones(1_000_000), 1)[5] > 1
after()
""",
    "eager_loop": """
def run():
    x = jnp.ones(1000)
    while True:
        x = jnp.sin(x) + 1
after = lambda: float(jnp.sin(jnp.ones(1000))[0]) > 0
""",
    "tracing": """
def g(x, n):
    while n != 0:
        x, n = jnp.sin(x), n - 1
    return x
f = jax.jit(g, static_argnums=1)
run, after = lambda: f(1.0, -1), lambda: abs(float(f(1.0, 1)) - 0.841471) < 1e-5
""",
    "compiling": """
def g(x, n):
    for i in range(n):
        x = jnp.sin(x) + jnp.cumsum(x * i)
    return x
f = jax.jit(g, static_argnums=1)
f.trace(jnp.ones(10), 600)
run, after = lambda: f(jnp.ones(10), 600), lambda: f(jnp.ones(10), 2).shape == (10,)
""",
    "parallel_loop": """
f = jax.jit(lambda x, n: jax.vmap(lambda r: lax.fori_loop(0, n, lambda i, c: jnp.sin(c) + 1, r))(x))
x = jnp.ones(3000)
run, after = lambda: f(x, 100_000_000), lambda: abs(float(f(x, 1)[0]) - 1.841471) < 1e-5
after()
""",
    "parallel_rows": """
def row(r):
    return lax.map(lambda k: jnp.sin(k * r).sum(), jnp.arange(1_000_000.0)).sum()
f = jax.jit(lambda x: jax.vmap(row)(x))
x = jnp.ones((1000, 100))
g = f.lower(x).compile()
run, after = lambda: g(x), lambda: float(jax.jit(jnp.sum)(x)) == 1e5
""",
    "products_in_a_loop": """
f = jax.jit(lambda x, n: lax.fori_loop(0, n, lambda i, c: c @ x, x))
x = jnp.eye(300)
run, after = lambda: f(x, 1_000_000_000), lambda: float(f(x, 3).sum()) == 300
after()
""",
    "gradient_of_a_loop": """
def loss(x, n):
    return lax.fori_loop(0, n, lambda i, c: jnp.sin(c), x).sum()
f = jax.jit(jax.grad(lambda x, ks: lax.scan(lambda c, k: (jnp.sin(c) * k, ()), x, ks)[0].sum()))
g = f.lower(jnp.ones(100), jnp.ones(1_000_000)).compile()
x, many = jnp.ones(100), jnp.ones(1_000_000)
def run():
    while True:
        g(x, many)
after = lambda: abs(float(f(jnp.ones(100), jnp.ones(1))[0]) - 0.5403023) < 1e-5
""",
    "callback": """
f = jax.jit(lambda x, s: jax.pure_callback(lambda a, t: (time.sleep(float(t)), a)[1], x, x, s))
run, after = lambda: f(1.0, 1000.0), lambda: float(f(1.0, 0.0)) == 1.0
after()
""",
}


# What begins like this runs as under a version of Python for which no handlers are written.
NEWER = """
import sys, llvmlite.binding, numpy
known, sys.version_info = sys.version_info, (3, 99)
import tapeless
sys.version_info = known
from tapeless.util import handlers
assert not handlers._before
"""
VERSIONS = pytest.mark.parametrize("first", ["", NEWER], ids=["this_python", "newer"])


def interrupted(case: str, limit: float, after: float = 0.05, patience: float = 10) -> float:
    """Return the shortest time, in seconds, from a SIGINT to the exception, of some rounds.

    The rounds end when one has taken less than `limit`.  after: how long it has run before the
    first signal, in seconds of processor time; patience: see `Child.work`.
    """
    with Child((case + LOOP).replace("ROUNDS", str(ROUNDS))) as child:
        latency = math.inf
        for number in range(ROUNDS):
            child.expect("started")
            child.work(after + 0.1 * number, patience)
            sent = child.send(signal.SIGINT)
            caught = child.line()
            assert caught != "finished", "the program was not long enough"
            latency = min(latency, float(caught) - sent)
            child.expect("True")
            if latency < limit:
                break
        return latency


@pytest.mark.parametrize("name", sorted(CASES))
def test_ctrl_c_interrupts_within_a_tenth_of_a_second_and_the_function_runs_afterwards(
    name: str,
) -> None:
    assert interrupted(CASES[name], LATENCY) < LATENCY


def test_a_long_product_is_cut_into_pieces_of_at_most_a_second() -> None:
    case = """
f = jax.jit(lambda x: x @ x)
n = 6000
x = jnp.ones((n, n))
g = f.lower(x).compile()
run, after = lambda: g(x), lambda: float(f(jnp.ones((2, 2)))[0, 0]) == 2
"""
    assert interrupted(case, 1.0) < 1.0


LONG_CALLS = {
    "svd": """
f = jax.jit(lambda x: jnp.linalg.svd(x)[1])
x = jnp.asarray(np.random.RandomState(0).randn(2200, 2200))
g = f.lower(x).compile()
run, after = lambda: g(x), lambda: abs(float(f(jnp.eye(2) * 3)[0]) - 3) < 1e-5
""",
    "eigh_eagerly": """
x = jnp.asarray(np.random.RandomState(0).randn(2000, 2000))
run, after = lambda: jnp.linalg.eigh(x), lambda: float(jnp.linalg.eigh(jnp.eye(2))[0][0]) == 1
after()
""",
    "fft": """
f = jax.jit(jnp.fft.fft)
x = jnp.ones(30_000_001)
g = f.lower(x).compile()
run, after = lambda: g(x), lambda: float(f(jnp.ones(4))[0].real) == 4
after()
""",
    "sort": """
f = jax.jit(jnp.sort)
x = jnp.sin(jnp.arange(30_000_000.0) * 1e3)
g = f.lower(x).compile()
run, after = lambda: g(x), lambda: float(f(jnp.array([3.0, 1.0]))[0]) == 1
after()
""",
    "donated": """
f = jax.jit(lambda x: jnp.linalg.svd(x)[0] @ x, donate_argnums=0)
y = np.random.RandomState(0).randn(2200, 2200).astype("f")
g = f.lower(y).compile()
arrays = [jnp.array(y) for _ in range(ROUNDS)]
def run():
    x = arrays.pop()
    try:
        g(x)
    finally:
        assert x.is_deleted()
after = lambda: f(jnp.eye(2)).shape == (2, 2)
""",
    "before_a_callback": """
def here(a):
    assert threading.current_thread() is threading.main_thread()
    return a
f = jax.jit(lambda x: jax.pure_callback(here, jax.typeof(x), jnp.linalg.svd(x)[0]))
x = jnp.asarray(np.random.RandomState(0).randn(2200, 2200))
g = f.lower(x).compile()
h = f.lower(x[:500, :500]).compile()
run, after = lambda: g(x), lambda: h(x[:500, :500]).shape == (500, 500)
""",
    "in_a_while_loop": """
def step(c):
    return jnp.linalg.svd(c)[0] + 1
f = jax.jit(lambda x: lax.while_loop(lambda c: c.sum() < 1e30, step, x).max())
x = jnp.asarray(np.random.RandomState(0).randn(2200, 2200))
g = f.lower(x).compile()
run, after = lambda: g(x), lambda: float(f(jnp.eye(2) * 1e31)) > 1
""",
    "in_a_scan": """
f = jax.jit(lambda x, ks: lax.scan(lambda c, k: (jnp.linalg.svd(c)[0] + k, ()), x, ks)[0])
x, many = jnp.asarray(np.random.RandomState(0).randn(2200, 2200)), jnp.ones(1000)
g = f.lower(x, many).compile()
run, after = lambda: g(x, many), lambda: f(jnp.eye(2), many[:1]).shape == (2, 2)
""",
}


@pytest.mark.parametrize("name", sorted(LONG_CALLS))
def test_ctrl_c_does_not_wait_for_a_long_call_of_a_library(name: str) -> None:
    # What comes before a call of LAPACK looks at signals by itself: none is sent there.
    after = 0.05 if name in ("fft", "sort") else 0.3
    assert interrupted(LONG_CALLS[name], LATENCY, after, patience=100) < LATENCY


def test_a_loop_that_was_left_in_its_own_thread_ends_at_its_next_poll() -> None:
    with Child(
        """
f = jax.jit(lambda x, n: lax.fori_loop(0, n, lambda i, c: jnp.linalg.svd(c)[0] + 1, x))
x = jnp.asarray(np.random.RandomState(0).randn(500, 500))
f(x, 1)
def threads():
    return set(os.listdir("/proc/self/task"))
time.sleep(0.5)  # threads that compiled have ended
known = threads()
print("started")
try:
    f(x, 1_000_000)
except KeyboardInterrupt:
    (left,) = threads() - known
    end = time.monotonic() + 20
    while left in threads() and time.monotonic() < end:
        time.sleep(0.01)
    print("goes on" if left in threads() else "has ended")
print(bool(jnp.isfinite(f(x, 2)).all()))
"""
    ) as child:
        child.expect("started")
        time.sleep(0.2)
        child.send(signal.SIGINT)
        child.expect("has ended")
        child.expect("True")
        assert child.end()[0] == 0


def test_handlers_run_while_a_large_module_is_compiled() -> None:
    with Child(
        """
from tapeless.compiler.generate import generate_object
from tapeless.compiler.target import host_target
steps = "\\n".join(
    f"%x{i + 1} = mul i64 %x{i}, {i % 7 + 3}\\n%q{i} = getelementptr i64, ptr %p, i64 {i}\\n"
    f"store i64 %x{i}, ptr %q{i}" for i in range(40))
text = "\\n".join(
    f"define void @f{k}(ptr %p, i64 %x0) {{\\n{steps}\\nret void\\n}}" for k in range(200))
rings = []
signal.signal(signal.SIGALRM, lambda number, frame: rings.append(number))
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
generate_object(text, host_target())
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(rings))
"""
    ) as child:
        assert int(child.line()) >= 10


def test_an_alarm_raises_the_exception_of_its_handler() -> None:
    with Child(
        CASES["while_loop"]
        + """
class TimeLimit(Exception):
    pass
def ring(number, frame):
    raise TimeLimit("too slow")
signal.signal(signal.SIGALRM, ring)
for _ in range(3):
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    start = time.monotonic()
    try:
        run()
    except TimeLimit as error:
        print(error, time.monotonic() - start < 1.0, after())
"""
    ) as child:
        for _ in range(3):
            child.expect("too slow True True")
        assert child.end()[0] == 0


def test_a_handler_of_sigterm_ends_the_program_its_way() -> None:
    with Child(
        CASES["parallel_loop"]
        + """
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(7))
print("started")
run()
"""
    ) as child:
        child.expect("started")
        time.sleep(0.1)
        child.send(signal.SIGTERM)
        code, out, errors = child.end()
        assert (code, out) == (7, ""), errors


def test_a_handler_that_returns_lets_the_loop_go_on() -> None:
    with Child(
        """
seen = []
signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
f = jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + jnp.sin(c), 1.0))
quiet = float(f(20_000_000))
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
loud = float(f(20_000_000))
signal.setitimer(signal.ITIMER_REAL, 0)
print(quiet == loud, len(seen) > 2)
"""
    ) as child:
        child.expect("True True")
        assert child.end()[0] == 0


def test_an_exception_of_a_handler_is_raised_only_once() -> None:
    with Child(
        CASES["counted_loop"]
        + """
print("started")
try:
    run()
except KeyboardInterrupt as error:
    print(type(error).__name__)
for _ in range(100):
    f(1.0, 1000)
print("quiet")
"""
    ) as child:
        child.expect("started")
        time.sleep(0.1)
        child.send(signal.SIGINT)
        child.expect("KeyboardInterrupt")
        child.expect("quiet")
        assert child.end()[0] == 0


@VERSIONS
def test_a_signal_just_before_a_callback_is_not_lost(first: str) -> None:
    with Child(
        """
import random
class Alarm(Exception):
    pass
raised = []
def ring(number, frame):
    raised.append(number)
    raise Alarm
def slow(x):
    x = lax.fori_loop(0, 100, lambda i, c: jnp.sin(c), x)
    return jax.pure_callback(lambda a: np.float32(1), jax.ShapeDtypeStruct((), x.dtype), x[0])
f, x = jax.jit(slow), jnp.ones(50_000)
f(x)
signal.signal(signal.SIGALRM, ring)
caught = {Alarm: 0, KeyboardInterrupt: 0}
for number in range(150):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.0002 * (number % 50))
        f(x), f(x)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except (Alarm, KeyboardInterrupt) as error:
        caught[type(error)] += 1
print(sum(caught.values()) == len(raised), caught[Alarm] > 10)
# In the few instructions between the look and the first line of the callback, ctypes drops it.
print(caught[KeyboardInterrupt] * 10 < caught[Alarm])
""",
        first=first,
    ) as child:
        child.expect("True True")
        child.expect("True")
        assert child.end()[0] == 0


def test_a_parallel_loop_looks_for_signals_between_chunks() -> None:
    with Child(
        """
import ctypes
from tapeless.compiler.interrupts import raise_interruption
from tapeless.compiler.linker import runtime
def ring(number, frame):
    raise TimeoutError("too slow")
run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
run = run(runtime().symbols["tapeless_parallel"])
chunk = ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p)  # it does nothing, and says 0
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.1)
print(run(chunk, None, 10**10) != 0)
try:
    raise_interruption(runtime().exception)
except TimeoutError as error:
    print(error)
""",
        limit=20.0,
    ) as child:
        child.expect("True")
        child.expect("too slow")


@VERSIONS
def test_a_signal_in_a_loop_of_callbacks_is_not_lost(first: str) -> None:
    with Child(
        """
class Alarm(Exception):
    pass
raised = []
def ring(number, frame):
    raised.append(number)
    raise Alarm
number = jax.ShapeDtypeStruct((), np.float32)
call = lambda i, c: jax.pure_callback(lambda a: a, number, c)
f = jax.jit(lambda x, n: lax.fori_loop(0, n, call, x))
f(1.0, 1)
signal.signal(signal.SIGALRM, ring)
def until_ring(delay):  # CPython 3.13 does not count the jump of a loop to the `try` around it
    before = len(raised)
    signal.setitimer(signal.ITIMER_REAL, delay)
    while len(raised) == before:
        f(1.0, 30)
def once(delay):
    try:
        until_ring(delay)
    except (Alarm, KeyboardInterrupt):
        return True
    return False
print(sum(not once(0.0005 + 0.00001 * i) for i in range(200)))
""",
        first=first,
    ) as child:
        child.expect("0")
        assert child.end()[0] == 0


def test_a_loop_in_a_daemon_thread_ends_with_the_interpreter() -> None:
    with Child(
        CASES["while_loop"]
        + """
for _ in range(2):
    threading.Thread(target=run, daemon=True).start()
time.sleep(0.3)
print("leaving")
"""
    ) as child:
        child.expect("leaving")
        assert child.end()[0] == 0


def test_a_loop_in_another_thread_ends_by_ctrl_c_at_exit() -> None:
    with Child(
        CASES["while_loop"] + 'threading.Thread(target=run).start()\nprint("leaving")\n'
    ) as child:
        child.expect("leaving")
        time.sleep(0.3)
        child.send(signal.SIGINT)
        start = time.monotonic()
        code, _, _ = child.end()
        assert code >= 0
        assert time.monotonic() - start < 10.0
