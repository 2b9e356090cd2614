"""LLVM text to object files: parsing, passes, machine code, on several threads.

LLVM itself is safe where every thread has a context and a code generator of its own; its binding
lets one thread in at a time.  So the calls that take long, running passes and writing an object,
are made by handles of ours on the same functions, which hold neither the binding's lock nor the
interpreter's.  All others go through the binding.

A *job* is the text of a module with its effort. Jobs come from programs and the routines that they
need, and long programs are cut into some modules (`Module.cut`). The longest are begun first. Each
function is compiled from its own text alone, so that results depend neither on the cut nor on the
threads.

Whoever compiles holds `LLVM_LOCK` until all threads have ended: a fork waits for it.  LLVM does not
stop for signals.  Modules are therefore compiled apart from the main thread, which waits
(`util/apart.py`); after Ctrl-C they go on to their end, unseen.  Small ones, too: llvmlite's Python
code loses an exception that a signal's handler raises while it frees what LLVM made, or frees it
twice.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from tapeless.compiler.ondemand import LLVM_LOCK
from tapeless.compiler.target import Target
from tapeless.util.apart import apart
from tapeless.util.processors import thread_count

__all__ = [
    "assembly",
    "generate_object",
    "generate_objects",
    "machine",
    "most_threads",
    "optimised",
    "parsed",
]

_MOST_THREADS = 4
_machines: dict[tuple[Target, int, int], llvm.TargetMachine] = {}
_contexts: dict[int, llvm.ContextRef] = {}


@contextmanager
def parsed(text: str) -> Generator[llvm.ModuleRef, None, None]:
    """Parse a module, which ends with the block, and then its context.

    An exception of a signal's handler keeps what its frames hold in a cycle, of which the garbage
    collector may end the context first; LLVM ends a module without its context by a crash. So a
    context is held here until its module is closed, and for ever where that is interrupted. It ends
    here, not with the caller's last reference: whoever forks holds the lock, and waits for this.
    """
    context = llvm.create_context()
    _contexts[id(context)] = context
    module = llvm.parse_assembly(text, context)
    try:
        yield module
    finally:
        module.close()
        context.close()
        del _contexts[id(context)]


def machine(target: Target, level: int, thread: int = 0) -> llvm.TargetMachine:
    """Return LLVM's code generator for a target at optimisation level 0 to 3.

    thread: the number of the thread that uses it, from 0 on.
    """
    found = _machines.get((target, level, thread))
    if found is None:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        found = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu,
            features=target.features,
            opt=level,
            reloc="pic",
            codemodel="small",
            jit=True,
        )
        _machines[target, level, thread] = found
    return found


@cache
def _unlocked(name: str) -> Any:
    """Return a function of LLVM's library that is called without the lock of its binding."""
    bound = getattr(llvm.ffi.lib, name)
    function = ctypes.CDLL(llvm.ffi.lib._name)[name]
    function.argtypes, function.restype = bound.argtypes, bound.restype
    return function


@contextmanager
def optimised(
    text: str, target: Target, effort: int = 1, thread: int = 0
) -> Generator[llvm.ModuleRef, None, None]:
    """Parse a module, which ends with the block, and run the passes on it.

    effort: 0 for what is needed, 1 for the short list, 2 for LLVM's own list instead, which finds
    the trip counts of loops over registers and turns them into vector code or formulas, and puts
    neighbouring scalars into lanes.
    """
    aim = machine(target, effort, thread)
    with parsed(text) as module:
        module.triple = target.triple
        module.data_layout = str(aim.target_data)
        if effort or "alwaysinline" in text:  # else there is nothing for them to do
            _run_passes(module, aim, effort)
        yield module


def _run_passes(module: llvm.ModuleRef, aim: llvm.TargetMachine, effort: int) -> None:
    """Run the passes of an effort; LLVM's binding keeps 1.5 kB each time, for ever."""
    options = llvm.create_pipeline_tuning_options(1)
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(aim, options)
    if effort > 1:
        passes = builder.getModulePassManager()
    else:
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
    if effort == 1:
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    _unlocked("LLVMPY_RunNewModulePassManager")(passes, module, builder)


def _object_of(module: llvm.ModuleRef, aim: llvm.TargetMachine) -> bytes:
    """Generate the object file of a module."""
    with llvm.ffi.OutputString() as problem:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(aim, module, 1, problem)
        if not buffer:
            raise RuntimeError(f"LLVM: {problem}; this is a bug in tapeless")
    try:
        start = llvm.ffi.lib.LLVMPY_GetBufferStart(buffer)
        return ctypes.string_at(start, llvm.ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        llvm.ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


@contextmanager
def _as_written(target: Target) -> Generator[None, None, None]:
    """Leave out LLVM's reduction of strengths on x86 in the block, for a quarter of the time.

    The emitter has stepped the addresses already, and an instruction adds a multiple of an index
    for nothing. The option is one of the process, where others may compile, too.
    """
    if not target.triple.startswith("x86"):
        yield
        return
    llvm.set_option("llvm", "-disable-lsr=true")
    try:
        yield
    finally:
        llvm.set_option("llvm", "-disable-lsr=false")


class _Work:
    """Jobs that threads take, the longest first.

    codes: the objects, by the places of their jobs; errors: of the threads.
    """

    def __init__(self, jobs: Sequence[tuple[str, int]], target: Target) -> None:
        """Begin with all jobs to do."""
        self.jobs, self.target = jobs, target
        self.left = sorted(range(len(jobs)), key=lambda place: len(jobs[place][0]))
        self.codes: dict[int, bytes] = {}
        self.errors: list[BaseException] = []

    def take(self, thread: int) -> None:
        """Do jobs until there are none, as one of several threads."""
        try:
            while self.left and not self.errors:
                try:
                    place = self.left.pop()
                except IndexError:  # another thread was faster
                    return
                text, effort = self.jobs[place]
                with optimised(text, self.target, effort, thread) as module:
                    self.codes[place] = _object_of(module, machine(self.target, effort, thread))
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            self.errors.append(error)

    def do(self) -> list[bytes]:
        """Do all jobs, also in other threads; the lock is held."""
        others = []
        with _as_written(self.target):
            for number in range(1, min(len(self.jobs), most_threads())):
                other = threading.Thread(target=self.take, args=(number,))
                try:
                    other.start()
                except RuntimeError:  # the interpreter ends, or the system has no more threads
                    break
                others.append(other)
            self.take(0)
            for other in others:
                other.join()
        if self.errors:
            raise self.errors.pop()
        return [self.codes[place] for place in range(len(self.jobs))]


def most_threads() -> int:
    """Return how many modules may be compiled at once."""
    return min(thread_count(), _MOST_THREADS)


def generate_objects(jobs: Sequence[tuple[str, int]], target: Target) -> list[bytes]:
    """Compile modules, each with its effort, to object files; meanwhile signals are handled."""

    def generate() -> list[bytes]:
        """Let LLVM compile."""
        with LLVM_LOCK:
            return _Work(jobs, target).do()

    return apart(generate, _note_left)


def generate_object(text: str, target: Target, effort: int = 1) -> bytes:
    """Compile a module to an object file."""
    return generate_objects(((text, effort),), target)[0]


def _note_left(thread: int, is_left: bool) -> None:
    """Let the process end only after a compilation that nobody waits for any more."""
    if is_left:
        atexit.register(_wait_for_llvm)
    else:
        atexit.unregister(_wait_for_llvm)


def _wait_for_llvm() -> None:
    """Wait until LLVM is not at work."""
    with LLVM_LOCK:
        pass


def assembly(text: str, target: Target, effort: int) -> str:
    """Return the machine code of a module as assembler text."""
    with LLVM_LOCK, optimised(text, target, effort) as module:
        return machine(target, effort).emit_assembly(module)
