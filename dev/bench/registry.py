"""What a workload is, and the list of them all.

The group of a workload is the name of its file up to the first underscore, and its kind, which says
how it is measured, follows from the group unless it is given:

    call      seconds a call, waiting for the result of each
    stream    seconds a call, waiting for the last result only
    fresh     seconds of the first call, in a new process for each measurement
    process   seconds of a whole process that runs the program text which the workload returns
    cached    the same, after another process has filled the compile cache on disk
    memory    bytes by which the process grows, at most, while it runs a compiled function

Workloads of one family are variants of one thing; a family counts once in its group's mean. A
workload that is `native` has a form in C too (`native.py`).
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dev.bench import workloads

__all__ = ["GROUPS", "Workload", "all_workloads", "workload"]

GROUPS = ("dispatch", "trace", "compile", "coldstart", "kernels", "loops", "autodiff", "memory")
KINDS = {"dispatch": "stream", "compile": "fresh", "coldstart": "process", "memory": "memory"}


@dataclass(frozen=True, slots=True)
class Workload:
    """A program to measure; `build(jax)` returns a function and its arguments."""

    group: str
    name: str
    family: str
    kind: str
    build: Callable[[Any], Any]
    native: bool = False

    @property
    def title(self) -> str:
        """The group and the name, which select the workload."""
        return f"{self.group}/{self.name}"

    @property
    def unit(self) -> str:
        """What is measured: seconds or bytes."""
        return "bytes" if self.kind == "memory" else "seconds"


_found: list[Workload] = []


def workload(
    family: str | None = None,
    kind: str | None = None,
    memory: bool = False,
    native: bool = False,
) -> Callable[[Callable], Callable]:
    """Return a decorator that lists a function as a workload; `memory` adds a row of that group."""

    def add(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        name = build.__name__
        group = build.__module__.rpartition(".")[2].partition("_")[0]
        assert group in GROUPS, f"{build.__module__}: no such group"
        way = kind or KINDS.get(group, "call")
        _found.append(Workload(group, name, family or name, way, build, native))
        if memory:
            _found.append(Workload("memory", name, family or name, "memory", build))
        return build

    return add


def all_workloads() -> list[Workload]:
    """Import every file of workloads and return the list, group by group."""
    for module in pkgutil.iter_modules(workloads.__path__):
        importlib.import_module(f"{workloads.__name__}.{module.name}")
    return sorted(_found, key=lambda row: GROUPS.index(row.group))
