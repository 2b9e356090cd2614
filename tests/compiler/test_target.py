"""Targets: what the host offers, levels below it, and the environment's choice."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from tapeless.compiler.generate import machine
from tapeless.compiler.target import host_target, named_target


@pytest.fixture
def fresh() -> object:
    """Forget the host's target before and after the test."""
    host_target.cache_clear()
    yield
    host_target.cache_clear()


def test_the_host_is_described(fresh: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAPELESS_CPU", raising=False)
    target = host_target()
    assert target.triple == llvm.get_process_triple()
    assert target.vector_bytes in (16, 32, 64)
    assert machine(target, 1).triple == target.triple


def test_the_environment_chooses_a_level(fresh: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPELESS_CPU", "x86-64-v3")
    assert host_target() is named_target("x86-64-v3")
    host_target.cache_clear()
    monkeypatch.setenv("TAPELESS_CPU", "fast")
    with pytest.raises(ValueError, match=r"aarch64, .*got 'fast'"):
        host_target()


@pytest.mark.parametrize(
    "level, width", [("x86-64-v2", 16), ("x86-64-v3", 32), ("x86-64-v4", 64), ("aarch64", 16)]
)
def test_levels_differ_in_width(level: str, width: int) -> None:
    assert named_target(level).vector_bytes == width
