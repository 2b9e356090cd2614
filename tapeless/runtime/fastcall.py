"""Calls without Python code: routes, and the methods that the native call stub replaces.

`compiler/callstub.py` is the native side and has the vocabulary.  Python code that has just made a
call the slow way enters a route for it; the next call with the same tokens takes the route.  Where
a route cannot exist, as for donated arguments, nothing is entered: Python code may run the plan of
the last call, or else the call stays slow and right.

The stub is linked when calls have been made some dozens of times.  It is for CPython with the
interpreter lock; elsewhere, and while `switched_off`, the Python methods stay in place.
"""

from __future__ import annotations

import ctypes
import itertools
import platform
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tapeless import config
from tapeless.core.aval import ShapedArray
from tapeless.core.trace import Context, context
from tapeless.runtime import memory, watching
from tapeless.runtime.array import Array, array_of_numbers, small_types
from tapeless.runtime.callkeys import Steps, Token, containers, tokens_of
from tapeless.runtime.surroundings import Row
from tapeless.tree.treedef import PyTreeDef
from tapeless.util import lazy
from tapeless.util.cache import BoundedTable

__all__ = [
    "Plan", "accelerate", "install", "operations", "plan_for", "route", "route_operation",
    "switched_off",
]  # fmt: skip

callplan = lazy.load("tapeless.compiler.callplan")
callstub = lazy.load("tapeless.compiler.callstub")
callwalk = lazy.load("tapeless.compiler.callwalk")
emit = lazy.load("tapeless.compiler.emit")
engine = lazy.load("tapeless.compiler.engine")
target = lazy.load("tapeless.compiler.target")

# The functions of the stub, with METH_FASTCALL, and some with METH_KEYWORDS.
_DOORS = {"run": 0x80, "process": 0x80, "call": 0x82, "call_static": 0x82}
_OF_WATCHER = ("wrote", "mark", "writes")
_PATIENCE = 32  # calls before the stub is worth its linking
Route = tuple[int, Any]

operations = BoundedTable(4096)


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Replaced:
    """A method of a class that has a native form: `owner.name` is `fast` or `slow`."""

    def __init__(self, owner: type, name: str, door: str, slow: Callable) -> None:
        """door: which function of the stub."""
        self.owner, self.name, self.door = owner, name, door
        self.slow: Callable = slow
        self.fast: Callable | None = None

    def put(self, fast: bool) -> None:
        """Choose the form."""
        setattr(self.owner, self.name, self.fast if fast and self.fast else self.slow)


_asked = itertools.count(1)
_replaced: list[_Replaced] = []
_kept: list[Any] = []  # what native code refers to for the rest of the process
_run_def: list[_MethodDef] = []
_off: list[bool] = []  # an entry for each `switched_off` that is running


def accelerate(owner: type, name: str, door: str) -> None:
    """Let the stub stand in for a method of `owner`, which stays the way for what it declines."""
    _replaced.append(_Replaced(owner, name, door, getattr(owner, name)))


def install() -> None:
    """Link the stub, once, and put its methods in place."""
    if _kept or not _is_supported():
        return
    _kept.append(True)
    text = callstub.stub_text()
    emitted = emit.Emitted(text, (), {}, lambda _: [text])
    code = engine.link_emitted(emitted, target.host_target(), 1, {})
    names = (*_DOORS, *_OF_WATCHER)
    doors = (ctypes.c_void_p * len(names))()
    table = _objects()
    setup = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
        code.address("entry")
    )
    setup(ctypes.addressof(table), ctypes.addressof(doors))
    addresses = dict(zip(names, doors, strict=True))
    watching.watchers.append(watching.DictWatcher(*[addresses[name] for name in _OF_WATCHER]))
    _run_def.append(_MethodDef(b"run", addresses["run"], _DOORS["run"], None))
    new_method = ctypes.pythonapi.PyDescr_NewMethod
    new_method.restype = ctypes.py_object
    for method in _replaced:
        entry = _MethodDef(method.name.encode(), addresses[method.door], _DOORS[method.door], None)
        method.fast = new_method(ctypes.py_object(method.owner), ctypes.byref(entry))
        _kept.append(entry)
        method.put(not _off)
    _kept.extend((code, table))


def _is_ready() -> bool:
    """Tell whether the stub is linked; link it when it has been asked for often enough."""
    if not _run_def and next(_asked) >= _PATIENCE:
        install()
    return bool(_run_def)


def _is_supported() -> bool:
    """Tell whether this is CPython with its lock, on a machine with 64-bit pointers."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    return platform.python_implementation() == "CPython" and locked and sys.maxsize > 1 << 32


def _objects() -> ctypes.Array:
    """Return the table of the Python objects that the stub refers to."""
    slow = {method.door: method.slow for method in _replaced}
    objects = {
        "array_type": Array,
        "current": config.current,
        "values": type(config.current),
        "context": context,
        "base": Context.base,
        "allocate": memory.allocate,
        "operations": operations,
        "call_slowly": slow["call"],
        "process_slowly": slow["process"],
        "not_implemented": NotImplemented,
        "ndarray": np.ndarray,
        "small_types": small_types,
        "array_of_numbers": array_of_numbers,
        "none": None,
        "dict": dict,
        "tuple": tuple,
        "list": list,
        "str": str,
        "containers": containers,
        "expected_errors": (TypeError, AttributeError, IndexError),
    }
    listed = [objects.get(name, sys.intern(name)) for name in callstub.OBJECTS]
    _kept.append(listed)
    return (ctypes.py_object * len(listed))(*listed)


@contextmanager
def switched_off() -> Generator[None, None, None]:
    """Use the Python methods inside: for profiles, and for tests, which run both ways."""
    _off.append(True)
    for method in _replaced:
        method.put(False)
    try:
        yield
    finally:
        _off.pop()
        for method in _replaced:
            method.put(bool(_run_def) and not _off)


class Plan:
    """How to call an executable with arguments of given tokens; `run` is that call.

    run: a builtin function of the leaves that returns the tree of results, or NotImplemented.
    """

    __slots__ = ("_arrays", "_kept", "address", "run")

    def __init__(
        self,
        executable: Any,
        tokens: tuple[Token, ...],
        tree: PyTreeDef | None,
        order: Sequence[int],
        watched: Sequence[Row],
    ) -> None:
        """executable: see `runtime/executable.py`; tree: of results; order: see `callkeys.py`.

        watched: what has to be the same for the call, in the form of `surroundings.py`.
        """
        avals = executable.in_avals
        kinds = [
            0 if isinstance(token, ShapedArray) else callplan.SCALARS[aval.dtype.name]
            for token, aval in zip(tokens, avals, strict=True)
        ]
        results = [
            number
            for aval, place in zip(executable.out_avals, executable.results, strict=True)
            for number in (id(aval), place)
        ]
        steps = Steps(tree, len(executable.results))
        self._arrays = {
            "consts": _numbers(executable.const_addresses),
            "kinds": _numbers(kinds),
            "sizes": _numbers(executable.output_bytes),
            "results": _numbers(results),
            "sources": _numbers([id(x) for x in executable.consts]),
            "tokens": _numbers([id(token) for token in tokens]),
            "order": _numbers(order),
            "steps": _numbers(steps.numbers),
        }
        looks = watching.Looks(watched)
        failed = executable.failed
        numbers = {
            "entry": executable.native.address,
            "n_consts": len(executable.consts),
            "n_args": len(avals),
            "n_blocks": len(executable.output_bytes),
            "n_results": len(executable.results),
            "arena": executable.temp_bytes,
            "release": int(executable.is_long),
            "failed": id(failed),
            "n_steps": len(steps.kept),
            "n_stack": steps.n_stack,
            **looks.fields,
            **{name: ctypes.addressof(array) for name, array in self._arrays.items()},
        }
        if list(order) == sorted(order):
            numbers["order"] = 0
        self._arrays["plan"] = _numbers([numbers[name] for name in callplan.PLAN])
        self._kept = (executable, tokens, failed, steps, looks)
        self.address = ctypes.addressof(self._arrays["plan"])
        self.run = _builtin(self.address)


def _builtin(address: int) -> Callable:
    """Return the builtin function that runs the plan at `address`."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    return new(ctypes.byref(_run_def[0]), ctypes.py_object(address), None)


def _numbers(values: Sequence[int]) -> ctypes.Array:
    """Return an array of int64 in memory."""
    return (ctypes.c_int64 * len(values))(*values)


def plan_for(
    executable: Any,
    tokens: tuple[Token, ...],
    tree: PyTreeDef | None = None,
    order: Sequence[int] = (),
    watched: Sequence[Row] = (),
) -> Plan | None:
    """Return the plan of a call; None where only Python code is right.

    The caller deletes what is donated.
    """
    if not _is_ready() or executable.is_apart:
        return None
    n_values = len(executable.results) if tree is None else tree.node.num_nodes
    n_places = len(executable.consts) + len(executable.output_bytes) + n_values
    if len(tokens) > callwalk.MOST_LEAVES or n_places > callplan.MOST_PLACES:
        return None
    if any(place < 0 for place in executable.results):
        return None
    for token, aval in zip(tokens, executable.in_avals, strict=True):
        if isinstance(token, type) and aval.dtype.name not in callplan.SCALARS:
            return None
    return Plan(executable, tokens, tree, order, watched)


def route(executable: Any, tokens: tuple[Token, ...], *parts: Any) -> Route | None:
    """Return the route of a call that donates nothing; parts: what `plan_for` takes beside."""
    plan = None if executable.donated else plan_for(executable, tokens, *parts)
    return None if plan is None else (plan.address, plan)


def route_operation(prim: Any, args: Sequence[Any], params: Mapping, executable: Any) -> None:
    """Enter the route of an eager operation that has been done the slow way."""
    tokens = tokens_of(args)
    if tokens is None or type(args) is not tuple:
        return
    found = route(executable, tokens)
    if found is None:
        return
    named = [part for item in params.items() for part in item]
    operations.put((prim, config.trace_context(), *tokens, *named), found)
