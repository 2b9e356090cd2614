"""A fixed budget of the fuzzer; the fuzzer's own claims; damaged cache files."""

from __future__ import annotations

import itertools
import os
import random
import time
import types
from pathlib import Path

import pytest

import tapeless
from tests.safety import fuzz
from tests.safety.children import run_program

SECONDS_LONG = float(os.environ.get("FUZZ_SECONDS", "600"))


# How many inputs of a kind `make test` tries.
BUDGET = {
    "calls": 400, "programs": 40, "jaxprs": 40, "modules": 100, "exports": 200, "cache": 300,
}  # fmt: skip


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_nothing_that_a_user_can_pass_crashes_the_process(kind: str) -> None:
    report = fuzz.Report()
    fuzz.fuzz(0, BUDGET[kind], report, kind)
    assert report.tried == BUDGET[kind]
    assert not report.findings(), str(report)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS_LONG + 600)
@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_nothing_crashes_for_long(kind: str) -> None:
    report, seed, end = fuzz.Report(), 100, time.monotonic() + SECONDS_LONG
    while time.monotonic() < end:
        fuzz.fuzz(seed, BUDGET[kind], report, kind)
        seed += 1
    assert not report.findings(), str(report)


def test_the_fuzzer_sees_crashes_hangs_and_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    names = fuzz.names_for(tapeless, tapeless.numpy)
    assert fuzz.check("jnp.sin(A((3,), 'float32', 0))", names) is None
    assert fuzz.check("jnp.sin('a')", names) is None
    monkeypatch.setattr(fuzz, "LIMIT", 1)
    assert "hang" in fuzz.check("[0 for _ in iter(int, 1)]", names)
    assert "fault" in fuzz.check("nothing_of_this_name", names)
    assert fuzz.check("jit(lambda x: x[...])({})", names) is None
    looks_up = {"looks_up": lambda: {}[...]}
    assert "fault" in fuzz.check("looks_up()", {**names, **looks_up})
    monkeypatch.setattr(fuzz, "sys", types.SimpleNamespace(executable="/bin/false"))
    report = fuzz.Report()
    fuzz.fuzz(0, 1, report)
    assert len(report.crashes) == 1


def test_expressions_depend_on_the_seed_alone() -> None:
    for kind in fuzz.KINDS:
        first = list(itertools.islice(fuzz.expressions(3, kind), 50))
        assert first == list(itertools.islice(fuzz.expressions(3, kind), 50))
        assert first != list(itertools.islice(fuzz.expressions(4, kind), 50))


def test_what_is_known_to_differ_is_read_from_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    assert r"segment_" in fuzz.excluded()
    assert len(fuzz.excluded()) >= 8
    ours = fuzz.names_for(tapeless, tapeless.numpy)
    theirs = {
        **ours,
        "jnp": types.SimpleNamespace(sin=tapeless.numpy.cos, angle=tapeless.numpy.cos),
    }
    assert "difference" in fuzz.compare("jnp.sin(np.ones(3))", ours, theirs)
    assert fuzz.compare("jnp.angle(np.ones(3))", ours, theirs) is None


def test_a_library_that_does_not_come_back_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = fuzz.names_for(tapeless, tapeless.numpy)
    quick, slow = ({**ours, "seconds": seconds} for seconds in (0, 3))
    monkeypatch.setattr(fuzz, "LIMIT", 1)
    text = "__import__('time').sleep(seconds) or (1, 2)"
    assert fuzz.compare(text, quick, slow) is None
    assert "hang" in fuzz.compare(text, slow, quick)


TOO_LARGE = """
for n in (2**61, 2**62, 2**63 - 1, 2**63, 2**64, 2**65 + 3):
    for make in (
        lambda: jnp.zeros(n),
        lambda: jnp.full(n, 1.0),
        lambda: jax.ops.segment_sum(1, jnp.uint8(0), n),
        lambda: jnp.fft.fft(jnp.ones((2, 3)), n, axis=-2),
        lambda: jax.jit(lambda x: jnp.broadcast_to(x, (n, 4)))(1.0),
        lambda: jax.jit(lambda x: jnp.sort(jnp.broadcast_to(x, (n,))).sum())(1.0),
    ):
        for _ in range(3):  # the later calls may take another way
            try:
                make()
            except (MemoryError, OverflowError, ValueError, TypeError):
                continue
            raise SystemExit(f"an array of {n} elements was made")
print("well")
"""


def test_an_array_larger_than_the_address_space_is_an_error() -> None:
    assert run_program(TOO_LARGE) == "well"


USE_CACHE = """
f = jax.jit(lambda x: jnp.sin(x) * 3 + jnp.cumsum(x))
print(float(f(jnp.ones(7))[6]))
"""


def test_damaged_cache_files_are_misses(tmp_path: Path) -> None:
    expected = run_program(USE_CACHE, TAPELESS_CACHE_DIR=str(tmp_path))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    intact = {path: path.read_bytes() for path in files}
    rng = random.Random(0)
    damages = (
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: rng.randbytes(len(data)),
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
    )
    for number, path in enumerate(sorted(files)):
        path.write_bytes(damages[number % len(damages)](path.read_bytes()))
    assert run_program(USE_CACHE, TAPELESS_CACHE_DIR=str(tmp_path)) == expected
    assert {path: path.read_bytes() for path in files} == intact  # they were written again
