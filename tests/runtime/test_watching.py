"""The interpreter tells of writes to dicts of modules and classes, in whichever way."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import types
from typing import Any

import pytest

import tapeless as jax
from tapeless.compiler import callplan
from tapeless.runtime import fastcall, watching

Stale = jax.errors.StaleCaptureError

needs_watchers = pytest.mark.skipif(sys.version_info < (3, 12), reason="Python has no watchers")

SOURCE = """
import sys

class Base:
    rate = 2.0

class Class(Base):
    scale = 2.0
    spare = 1.0

number, other = 2.0, 0
this = sys.modules[__name__]

class Text(str):
    pass

def write_in_a_loop():
    global number
    for number in [2.0] * 99 + [3.0]:
        pass

def write_to_a_class_in_a_loop():
    for number in [2.0] * 99 + [3.0]:
        Class.scale = number

def write_others(n):
    global other
    for other in range(n):
        Class.spare = other
"""

WRITES = {
    "number": (
        "number = 3.0",
        "globals()['number'] = 3.0",
        "globals()[''.join(['num', 'ber'])] = 3.0",
        "globals()[Text('number')] = 3.0",
        "globals().update(number=3.0)",
        "globals().__ior__({'number': 3.0})",
        "setattr(this, 'number', 3.0)",
        "this.number = 3.0",
        "object.__setattr__(this, 'number', 3.0)",
        "write_in_a_loop()",
        "exec('number = 3.0', globals())",
        "from sys import maxsize as number",
        "for number in (3.0,): pass",
        "def number(): pass",
        "del number",
        "globals().pop('number')",
        "delattr(this, 'number')",
        "globals().setdefault('number', globals().pop('number') + 1)",
        "kept = globals().copy(); globals().clear()",
    ),
    "Class.scale": (
        "Class.scale = 3.0",
        "setattr(Class, 'scale', 3.0)",
        "type.__setattr__(Class, ''.join(['sca', 'le']), 3.0)",
        "write_to_a_class_in_a_loop()",
        "del Class.scale",
        "Class = Base",
    ),
    "Class.rate": ("Class.rate = 3.0", "Base.rate = 3.0", "del Base.rate", "Base = Class = 3.0"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def linked() -> None:
    """Link the stub."""
    fastcall.install()


def traced(text: str) -> tuple[Any, dict[str, Any]]:
    """Return a compiled function of a new module, and the module's variables."""
    module = sys.modules["user"] = types.ModuleType("user")
    exec(compile(SOURCE, "user.py", "exec"), vars(module))
    return jax.jit(eval(f"lambda x: x * {text}", vars(module))), vars(module)


def field(f: Any, name: str) -> int:
    """Return a field of the plan of the only route of a function."""
    ((address, _),) = f.routes.values()
    numbers = (ctypes.c_int64 * len(callplan.PLAN)).from_address(address)
    return numbers[callplan.PLAN.index(name)]


def is_settled(f: Any) -> bool:
    """Tell whether nothing has been written since all rows of a function's plan held."""
    (watcher,) = watching.watchers
    return ctypes.c_int64.from_address(field(f, "seen")).value == watcher.writes.value


@needs_watchers
@pytest.mark.parametrize(
    "text,write", [(text, write) for text, writes in WRITES.items() for write in writes]
)
def test_each_way_to_write_is_told(text: str, write: str) -> None:
    f, variables = traced(text)
    with jax.checks(stale=True):
        for _ in range(3):
            assert f(2.0) == 4.0
        assert is_settled(f) and field(f, "n_silent") == (2 if text == "Class.rate" else 0)
        exec(compile(write, "user.py", "exec"), variables)
        assert not is_settled(f)
        with pytest.raises(Stale):
            f(2.0)


@needs_watchers
def test_writes_to_what_nobody_reads_are_not_counted() -> None:
    """A mark of another test may be at the place of one name, but not at those of five modules."""
    counted = []
    with jax.checks(stale=True):
        for _ in range(5):
            f, variables = traced("number * Class.scale / 2")
            f(2.0), f(2.0)
            (watcher,) = watching.watchers
            before = watcher.writes.value
            variables["write_others"](1000)
            counted.append(watcher.writes.value - before)
            assert is_settled(f) is (counted[-1] == 0)
    assert min(counted) == 0


@needs_watchers
def test_a_write_that_is_taken_back_is_looked_at_once() -> None:
    f, variables = traced("number")
    with jax.checks(stale=True):
        f(2.0), f(2.0)
        before = variables["number"]
        variables["number"] = 3.0
        variables["number"] = before
        assert not is_settled(f)
        assert f(2.0) == 4.0 and is_settled(f)


@needs_watchers
def test_dicts_that_die_with_their_functions_do_no_harm() -> None:
    with jax.checks(stale=True):
        for _ in range(20):
            f, variables = traced("number * Class.scale / 2")
            assert f(2.0) == 4.0 and f(2.0) == 4.0
            variables["number"] = 3.0
            with pytest.raises(Stale):
                f(2.0)


def test_attributes_of_objects_are_always_looked_at() -> None:
    f, variables = traced("(number, this.Class)[1].scale")
    variables["mine"] = types.SimpleNamespace(rate=2.0)
    f = jax.jit(eval("lambda x: x * mine.rate", variables))
    with jax.checks(stale=True):
        assert f(2.0) == 4.0 and f(2.0) == 4.0
        assert field(f, "n_silent") > 0
        vars(variables["mine"])["rate"] = 3.0
        with pytest.raises(Stale):
            f(2.0)


def test_the_dict_of_an_object_that_is_a_table_of_globals_is_looked_at() -> None:
    class Table:
        """Its attributes are written where no watcher of its dict hears of it."""

    table: Any = Table()
    table.number = 2.0
    f = jax.jit(eval("lambda x: x * number", vars(table)))
    with jax.checks(stale=True):
        assert f(2.0) == 4.0 and f(2.0) == 4.0
        table.number = 3.0
        with pytest.raises(Stale):
            f(2.0)


def test_many_attributes_of_an_object_are_one_walk() -> None:
    _, variables = traced("number")
    mine = variables["mine"] = types.SimpleNamespace(a=1.0, b=2.0, c=3.0, d=4.0)
    f = jax.jit(eval("lambda x: x * (mine.a + mine.b + mine.c)", variables))
    with jax.checks(stale=True):
        assert f(2.0) == 12.0 and f(2.0) == 12.0
        assert field(f, "n_silent") == 3  # its type, its dict, the walk
        mine.d = 5.0
        assert f(2.0) == 12.0
        mine.e = 6.0
        assert f(2.0) == 12.0
        mine.b = 3.0
        with pytest.raises(Stale):
            f(2.0)


SCRIPT = """
import atexit, sys, os
import tapeless as jax
from tapeless.runtime import fastcall, watching
fastcall.install()
rate = 2.0
f = jax.jit(lambda x: x * rate)
def late():
    global rate
    assert f(2.0) == 4.0
    rate = 3.0
    try:
        f(2.0)
    except jax.errors.StaleCaptureError:
        print("late", flush=True)
atexit.register(late)  # runs after the watcher has been given back
with jax.checks(stale=True):
    f(2.0), f(2.0)
jax.config.update("tapeless_stale_captures", "raise")
f(2.0), f(2.0)
if {fork}:
    child = os.fork()
    if not child:
        rate = 2.5
        try:
            f(2.0)
        except jax.errors.StaleCaptureError:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


@pytest.mark.parametrize("fork", [False, True])
def test_the_end_of_the_interpreter_and_forks(fork: bool) -> None:
    code = SCRIPT.replace("{fork}", str(fork))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True, text=True, env=dict(os.environ), timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "late"), done.stderr


@needs_watchers
def test_without_a_watcher_left_all_rows_are_walked() -> None:
    (watcher,) = watching.watchers
    spare = watching.DictWatcher(watcher.wrote, 0, ctypes.addressof(ctypes.c_int64(-1)))
    add, clear = ctypes.pythonapi.PyDict_AddWatcher, ctypes.pythonapi.PyDict_ClearWatcher
    taken = []
    try:
        with pytest.raises(RuntimeError):
            for _ in range(9):
                taken.append(add(ctypes.c_void_p(watcher.wrote)))
        spare.start()
    finally:
        for number in taken:
            clear(number)
    assert spare.was_asked and spare.number is None
    assert not spare.watch(("telling dict", {}, "name", None))
