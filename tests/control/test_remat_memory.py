"""A checkpoint lowers the memory of a process that really runs the gradient, by what it promises.

A child process takes the gradient of a scan whose body has many intermediates, with and without a
checkpoint, and prints the temporaries that the compiled program reports and how far the peak of its
resident memory rose while it ran.
"""

from __future__ import annotations

import pytest

from tests.safety.children import run_program

SIZE, STEPS, DEPTH = 5_000, 1_000, 16
CARRIES = SIZE * STEPS * 4
MEGABYTE = 2**20

PROGRAM = f"""
def body(c):
    for _ in range({DEPTH}):
        c = jnp.sin(c) * c + 1
    return c

def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024

step = jax.checkpoint(body) if CHECKPOINTED else body
run = lambda x: jnp.sum(lax.scan(lambda c, _: (step(c), None), x, None, length={STEPS})[0])
x = jnp.ones({SIZE})
compiled = jax.jit(jax.grad(run)).lower(x).compile()
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak is what is resident now
before = peak()
assert np.isfinite(np.asarray(compiled(x))).all()
print(compiled.memory_analysis().temp_size_in_bytes, peak() - before)
"""


@pytest.fixture(scope="module")
def measured() -> dict[bool, tuple[int, int]]:
    """Return (temporaries, growth of the peak), both in bytes, with and without a checkpoint."""
    found = {}
    for checkpointed in (False, True):
        printed = run_program(f"CHECKPOINTED = {checkpointed}\n{PROGRAM}")
        temporaries, growth = printed.split()
        found[checkpointed] = int(temporaries), int(growth)
    return found


@pytest.mark.parametrize("kind", [0, 1], ids=["reported", "resident"])
def test_without_a_checkpoint_every_intermediate_is_kept(measured, kind):
    assert measured[False][kind] > DEPTH * CARRIES


@pytest.mark.parametrize("kind", [0, 1], ids=["reported", "resident"])
def test_with_a_checkpoint_about_the_carries_are_kept(measured, kind):
    assert measured[True][kind] < 1.2 * CARRIES + 4 * MEGABYTE


def test_what_is_reported_is_what_is_used(measured):
    for temporaries, growth in measured.values():
        assert abs(growth - temporaries) < 0.05 * temporaries + 4 * MEGABYTE
