"""Executable memory: code is freed with its program, and how much there can be has an end."""

import ctypes
import gc
from pathlib import Path

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.compiler import linker
from tapeless.compiler.generate import generate_object
from tapeless.compiler.linker import link
from tapeless.compiler.target import host_target
from tapeless.runtime import fastcall


def compiled(number: float):
    """A function that is compiled: each number's program is another."""
    f = jax.jit(lambda x: jnp.sin(x) * number)
    np.testing.assert_allclose(f(1.0), np.sin(1.0) * number, rtol=1e-6)
    return f


def live() -> int:
    """How many programs are linked."""
    gc.collect()
    return linker.count_live()


@pytest.fixture(autouse=True)
def parts_that_stay(monkeypatch):
    """Link what stays for the rest of the process, forget all else, and count from here."""
    fastcall.install()
    compiled(0.0)
    jax.clear_caches()
    monkeypatch.setattr(linker, "_counted", live())


def test_code_dies_with_its_program():
    before = live()
    functions = [compiled(n + 0.5) for n in range(5)]
    assert live() >= before + 5
    functions.clear()
    jax.clear_caches()
    assert live() <= before


def test_caches_make_room_when_there_is_no_more(monkeypatch):
    limit = live() + 10
    monkeypatch.setattr(linker, "_most_mappings", lambda: 4 * limit)
    monkeypatch.setattr(linker, "_mappings", lambda: 0)
    for n in range(50):
        compiled(n + 0.25)
    assert live() <= limit


def test_functions_that_are_kept_end_in_a_memory_error_and_nothing_worse(monkeypatch):
    limit = live() + 10
    monkeypatch.setattr(linker, "_most_mappings", lambda: 4 * limit)
    monkeypatch.setattr(linker, "_mappings", lambda: 0)
    kept = []
    with pytest.raises(MemoryError, match=r"compiled programs are alive.*jax.clear_caches"):
        for n in range(50):
            f = jax.jit(lambda x, n=n: jnp.sin(x) * (n + 0.125))
            x = jnp.ones(3 + n)
            for _ in range(40):
                f(x)
            kept.append(f)
    jax.clear_caches()
    compiled(7.0)


def test_mappings_of_others_count(monkeypatch):
    kept = [compiled(n + 0.375) for n in range(3)]
    monkeypatch.setattr(linker, "_counted", -linker._EVERY)
    monkeypatch.setattr(linker, "_mappings", linker._most_mappings)
    with pytest.raises(MemoryError, match="compiled programs are alive"):
        compiled(11.0)
    monkeypatch.undo()
    kept.append(compiled(12.0))


def test_what_was_linked_leaves_nothing_behind() -> None:
    """LLVM keeps something of a library for as long as there is its linker."""
    target = host_target()
    code = generate_object("define i32 @entry() {\n  ret i32 7\n}\n", target, 0)

    def grown(count: int) -> int:
        """Return by how many kilobytes linking and dropping so many libraries grows the process."""
        before = resident()
        for _ in range(count):
            link(code, "entry", (), {}).address("entry")
        return resident() - before

    def resident() -> int:
        """Return the resident kilobytes."""
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    kept = link(code, "entry", (), {})
    assert min(grown(300) for _ in range(4)) < 300  # what is kept would grow by 2,700 each time
    assert ctypes.CFUNCTYPE(ctypes.c_int32)(kept.address("entry"))() == 7
