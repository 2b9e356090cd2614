"""LLVM text to a native function, and how it is called.

The steps of one compilation: emit text, look for its object in the cache, else parse the text, run
a short list of passes and generate an object (`generate.py`); then link the object and look up the
entry. Fresh and cached objects are linked by the same code, and programs with the same text share
one copy of the code. What a program lacks, its own object and those of routines, is made together.

The list of passes is short because the emitter leaves little to do: it has hoisted invariants,
removed common parts and made vectors. What is left for LLVM is to turn stack slots into registers,
to inline recipes and to clean up. `effort` 0 skips even that: for a program that runs once on
little data, the time to compile is all that matters.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from tapeless.compiler.generate import assembly, generate_object, generate_objects, most_threads
from tapeless.compiler.host import take_exception
from tapeless.compiler.interrupts import mark_left, raise_interruption
from tapeless.compiler.linker import Linked, link, refuse_if_full, runtime
from tapeless.compiler.objects import joined, object_key, objects
from tapeless.compiler.ondemand import cell_address
from tapeless.compiler.program import INTERRUPTED, Program
from tapeless.compiler.target import Target, host_target
from tapeless.core.forms import show
from tapeless.util import lazy
from tapeless.util.records import record
from tapeless.util.unfinished import close_all
from tapeless.util.weak import WeakValues

__all__ = [
    "NativeProgram",
    "Parts",
    "compile_program",
    "link_emitted",
    "link_parts",
]

# A program whose objects are known is not emitted.
emit = lazy.load("tapeless.compiler.emit")
recipes = lazy.load("tapeless.compiler.recipes")

_LONG_TEXT = 100_000  # characters, about 50 milliseconds
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_known_extras: dict[tuple[str, Target], str] = {}
_extras: dict[str, Linked] = {}
_linked: WeakValues[Linked] = WeakValues()


@record
class Parts:
    """What a program is linked of.

    key: of its object; needs: the foreign symbols; extras: pairs of a symbol, which is a module of
    ours, and the key of its object.
    """

    key: str
    needs: tuple[str, ...]
    extras: tuple[tuple[str, str], ...]


def _make(modules: Mapping[str, tuple[Sequence[str], int]], target: Target) -> None:
    """Make the objects that the cache lacks, together; modules: their texts and effort, by key."""
    missing = {key: made for key, made in modules.items() if objects().load(key) is None}
    jobs = [(text, effort) for texts, effort in missing.values() for text in texts]
    images = iter(generate_objects(jobs, target) if jobs else ())
    for key, (texts, _) in missing.items():
        objects().save(key, joined([next(images) for _ in texts]))


def link_emitted(
    emitted: Any, target: Target, effort: int, given: Mapping[str, int], name: str = ""
) -> Linked:
    """Compile and link an `Emitted` program, and the extras that this process lacks.

    name: the program's, for those who ask to see its text.
    """
    if effort and emitted.rewards_effort and len(emitted.text) < _LONG_TEXT:
        effort = 2
    key = object_key(emitted.text, target, effort)
    found = _linked.get(key) if not given else None
    if found is not None:
        return found
    show("llvm", name, lambda: emitted.text)
    show("asm", name, lambda: assembly(emitted.text, target, effort))
    modules = {key: (emitted.cut(most_threads() if effort < 2 else 1), effort)}
    extras = _extra_keys(emitted, target, modules)
    _make(modules, target)
    _known_extras.update(extras)  # other threads expect the objects from now on
    parts = Parts(key, emitted.needs, tuple((symbol, key) for (symbol, _), key in extras.items()))
    found = link_parts(parts, given)
    if found is None:
        raise RuntimeError(f"{name}: an object was lost at once; this is a bug in tapeless")
    return found


def _extra_keys(
    emitted: Any, target: Target, modules: dict[str, tuple[Sequence[str], int]]
) -> dict[tuple[str, Target], str]:
    """Return the keys of the extras' objects; add to `modules` those that may have to be made.

    All programs share them, and most of their time is spent there, so they are always made to run
    fast.
    """
    keys = {}
    for symbol, text in emitted.extras.items():
        key = _known_extras.get((symbol, target))
        if key is None:
            written = text()
            key = object_key(written, target, 1)
            modules[key] = ((written,), 1)
        keys[symbol, target] = key
    return keys


def _slow_way(symbol: str) -> int:
    """Return the address of a recipe's slow way, which is compiled if need be."""
    target = host_target()
    text = recipes.slow_text(symbol, target)
    key = object_key(text, target, 1)
    code = objects().load(key)
    if code is None:
        code = generate_object(text, target, 1)
        objects().save(key, code)
    extra = _extras[key] = link(code, symbol, (), {})
    return extra.address(symbol)


def link_parts(parts: Parts, given: Mapping[str, int]) -> Linked | None:
    """Link a program whose objects are in the cache; None if one is missing.

    given: the addresses of what the program brings. Without any, copies of the code are shared.
    """
    found = _linked.get(parts.key) if not given else None
    if found is not None:
        return found
    refuse_if_full()
    known = {
        **given,
        **{name: cell_address(name, _slow_way) for name in parts.needs if name.startswith("slow:")},
    }
    for symbol, key in parts.extras:
        extra = _extras.get(key)
        if extra is None:
            code = objects().load(key)
            if code is None:
                return None
            extra = _extras[key] = link(code, symbol, (), {})
        known[symbol] = extra.address(symbol)
    code = objects().load(parts.key)
    if code is None:
        return None
    found = link(code, "entry", parts.needs, known)
    found.parts = parts
    if not given:
        found = _linked.setdefault(parts.key, found)
    return found


class NativeProgram:
    """A compiled program; its code lives as long as it does.

    address: where the C function `int32_t entry(void **buffers, void *arena)` is.
    arena_size: the bytes of scratch memory, aligned to 64, that a call needs.
    """

    __slots__ = ("__weakref__", "_call", "_code", "_kept", "address", "arena_size", "name")

    def __init__(
        self, code: Linked, name: str, arena_size: int, kept: tuple[object, ...] = ()
    ) -> None:
        """Wrap linked code; kept: what must live as long."""
        self.name = name
        self.arena_size = arena_size
        self.address = code.address("entry")
        self._code = code
        self._kept = kept
        self._call = _ENTRY(self.address)

    def run(self, pointers: Sequence[int]) -> None:
        """Run with the addresses of the inputs, then of the outputs; the GIL is released."""
        buffers = (ctypes.c_void_p * len(pointers))(*pointers)
        place, arena = 0, None
        if self.arena_size:
            arena = ctypes.create_string_buffer(self.arena_size + 64)
            place = -(-ctypes.addressof(arena) // 64) * 64
        self.enter(ctypes.addressof(buffers), place)

    @property
    def parts(self) -> Parts:
        """What the program is linked of."""
        return self._code.parts

    @property
    def code_bytes(self) -> int:
        """The bytes of the program's object file."""
        return self._code.size

    def enter(self, buffers: int, arena: int) -> None:
        """Run with the address of the table of buffers and that of the arena."""
        status = self._call(buffers, arena)
        if status:
            self.check(status)

    def leave(self, thread: int, is_left: bool) -> None:
        """Let the program that runs in a thread end at its next poll; False when it has ended."""
        mark_left(runtime().left, thread, is_left)

    def check(self, status: int) -> None:
        """Raise what ended the program early, unless `status` is 0."""
        if status == 0:
            return
        close_all()
        if status == INTERRUPTED:
            raise_interruption(runtime().exception)
        told = f"{self.name}: a signal's handler raised as a callback began"
        raise take_exception() or KeyboardInterrupt(told)


def compile_program(program: Program, effort: int = 1) -> NativeProgram:
    """Emit, compile and link a program for this machine.

    effort: 0 to compile fast, 1 to run fast.
    """
    target = host_target()
    emitted = emit.emit_program(program, target)
    code = link_emitted(emitted, target, effort, program.symbols, program.name)
    return NativeProgram(code, program.name, program.arena_size, program.kept)
