"""Arrays that a function captures: compiled in the same time whatever their size, never copied.

Memory is what the process has resident, so each measurement runs in a process of its own. Elements
that nobody wrote are not resident: a copy is.
"""

from __future__ import annotations

import pytest

from tests.safety.children import run_program

MEASURE = """
def resident():
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["VmHWM"].split()[0]) * 1024  # the most so far

def prepared(weights, number):
    start = time.perf_counter()
    take = lambda i: lax.dynamic_index_in_dim(weights, i, keepdims=False)
    jitted = jax.jit(lambda i: take(i) + number)
    compiled = jitted.lower(0).compile()
    return time.perf_counter() - start, compiled

jax.config.update("jax_enable_compilation_cache", False)
prepared(jnp.zeros(256), 0)
"""


def test_compiling_takes_the_same_time_from_a_kilobyte_to_300_megabytes():
    times = run_program(
        MEASURE
        + """
sizes = [256, 75_000, 75_000_000]
arrays = [jnp.zeros(size) for size in sizes]
best = [min(prepared(array, 1 + n)[0] for n in range(5)) for array in arrays]
print(*best)
""",
        TAPELESS_CACHE_DIR="",
    )
    small, *large = map(float, times.split())
    assert max(large) < 2 * small, times


def test_a_captured_array_is_not_copied():
    grown = run_program(
        MEASURE
        + """
array = jnp.zeros(75_000_000)
array[0].block_until_ready()
before = resident()
_, compiled = prepared(array, 1)
assert compiled(74_999_999) == 1
print(resident() - before)
"""
    )
    assert int(grown) < 30e6


@pytest.mark.parametrize("calls", [1, 3])
def test_a_captured_numpy_array_is_copied_once(calls):
    grown = run_program(
        MEASURE
        + f"""
array = np.zeros(20_000_000, np.float32)
before = resident()
_, compiled = prepared(array, 1)
array[5] = 7
for _ in range({calls}):
    assert compiled(5) == 1  # what it was when the function was traced
print(resident() - before)
"""
    )
    assert 70e6 < int(grown) < 110e6
