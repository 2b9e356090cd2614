"""Functions are compiled when they are first called: once, whoever calls and whatever happens."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tapeless as jax
from tapeless.compiler.linker import runtime
from tapeless.compiler.ondemand import cell_address
from tests.safety.children import run_program

jnp = jax.numpy
WAYS = {"without the lock": ctypes.CFUNCTYPE, "with the lock": ctypes.PYFUNCTYPE}

FIRST_USE = """
import numpy as np
import tapeless as jax
from tapeless.compiler import ondemand
f = jax.jit(jax.numpy.sin)
def made():
    return [bool(cell._pointers[0]) for cell in ondemand._cells.values()]
f(np.ones(16, np.float32))
print(made())
print(f(np.full(16, 1e30, np.float32))[0], made())
"""


def door(way):
    """Return the function that native code calls, taking and returning addresses."""
    kind = WAYS[way](ctypes.c_void_p, ctypes.c_void_p)
    return kind(runtime().symbols["tapeless_door"])


@pytest.mark.parametrize("way", WAYS)
def test_a_function_is_made_once(way):
    """Also if the caller holds the interpreter lock."""
    asked = []

    def compiled(symbol):
        """Note the call."""
        asked.append((symbol, threading.current_thread() is threading.main_thread()))
        return 4096

    symbol = f"once {way}"
    cell = cell_address(symbol, compiled)
    assert cell == cell_address(symbol, compiled)
    assert not asked
    assert [door(way)(cell) for _ in range(3)] == [4096] * 3
    assert asked == [(symbol, False)]


def test_threads_that_want_it_at_once_share_it():
    """One compiles, the others wait."""
    asked = []

    def compiled(symbol):
        """Take some time."""
        asked.append(symbol)
        time.sleep(0.05)
        return 8192

    cell, ask, found = cell_address("shared", compiled), door("without the lock"), []
    threads = [threading.Thread(target=lambda: found.append(ask(cell))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [8192] * 8
    assert asked == ["shared"]


@pytest.mark.parametrize("way", WAYS)
def test_a_signal_does_not_keep_the_function_from_the_caller(way):
    """The handler's exception is raised when the caller is back in Python."""

    def compiled(symbol):
        """Take longer than it takes the signal to come."""
        time.sleep(0.2)
        return 12288

    def handler(*_):
        """Raise."""
        raise InterruptedError("the signal")

    cell, found, ask = cell_address(f"signal {way}", compiled), [], door(way)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(InterruptedError, match="the signal"):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            found.append(ask(cell))
            time.sleep(1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert ask(cell) == 12288


def test_slow_ways_are_compiled_at_first_use(tmp_path):
    """Not before, by two processes, of which the second loads the program and knows the rest."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", FIRST_USE],
            env={**os.environ, "TAPELESS_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        first, second = done.stdout.splitlines()
        assert first == "[False]"
        value, made = second.split(" ", 1)
        np.testing.assert_allclose(float(value), np.sin(float(np.float32(1e30))), rtol=1e-6)
        assert made == "[True]"


def test_tasks_of_a_parallel_loop_may_be_first():
    """Workers ask while the main thread waits for them."""
    x = np.linspace(1e9, 1e30, 1 << 20).astype(np.float32)
    out = jax.jit(lambda x: jnp.tan(x) * 2 + jnp.cos(x))(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(out, np.tan(wide) * 2 + np.cos(wide), rtol=3e-5, atol=1e-6)


NO_MEMORY = """
import resource
import numpy as np
import tapeless as jax
small, large = np.ones(1000, np.float32), np.full(1000, 1e9, np.float32)
f = jax.jit(jax.numpy.sin)
f(small).block_until_ready()
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size, size))
print(f"{f(large)[5]:.6f}")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the size of the process from /proc")
def test_a_function_is_made_though_no_memory_is_left() -> None:
    wanted = np.sin(np.float64(np.float32(1e9)))
    assert float(run_program(NO_MEMORY, JAX_ENABLE_COMPILATION_CACHE="0")) == pytest.approx(
        wanted, abs=1e-5
    )
