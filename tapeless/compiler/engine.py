"""LLVM text to a native function, and how it is called.

The steps of one compilation: parse the text, run a short list of passes, emit an object, link it into the
process, look up the entry. Fresh and cached objects are linked by the same code.

The pass list is short because the emitter leaves little to do: it has hoisted invariants, removed common
parts and made vectors. What is left for LLVM is to turn stack slots into registers, to inline recipes
and to clean up.
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Sequence
from functools import cache

import llvmlite.binding as llvm

from tapeless.compiler.emit import emit_program
from tapeless.compiler.program import Program
from tapeless.compiler.target import Target, host_target

__all__ = ["NativeProgram", "compile_program", "object_from_text", "optimised"]

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_serial = itertools.count()


@cache
def machine(target: Target, level: int = 1) -> llvm.TargetMachine:
    """Return LLVM's description of a target."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    found = llvm.Target.from_triple(target.triple)
    return found.create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=level,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def optimised(text: str, target: Target) -> llvm.ModuleRef:
    """Parse a module and run the passes on it."""
    aim = machine(target)
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(aim.target_data)
    builder = llvm.create_pass_builder(aim, llvm.create_pipeline_tuning_options(1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    return module


def object_from_text(text: str, target: Target) -> bytes:
    """Compile a module to an object file."""
    return machine(target).emit_object(optimised(text, target))


@cache
def _linker() -> llvm.LLJIT:
    """Return the process's linker."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler(machine(host_target()), use_jit_link=False)


class NativeProgram:
    """A compiled program; its code lives as long as it does.

    address: where the C function `int32_t entry(void **buffers, void *arena)` is.
    """

    def __init__(self, program: Program, code: bytes) -> None:
        """Link `code`, the object file of `program`."""
        self.arena_size = program.arena_size
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name, address in program.symbols.items():
            library.import_symbol(name, address)
        library.export_symbol("entry")
        self._tracker = library.link(_linker(), f"program{next(_serial)}")
        self.address: int = self._tracker["entry"]
        self._call = _ENTRY(self.address)

    def run(self, pointers: Sequence[int]) -> int:
        """Run with the addresses of inputs, then outputs; return the status."""
        buffers = (ctypes.c_void_p * len(pointers))(*pointers)
        arena = ctypes.create_string_buffer(self.arena_size + 64) if self.arena_size else None
        place = 0
        if arena is not None:
            place = -(-ctypes.addressof(arena) // 64) * 64
        return self._call(ctypes.addressof(buffers), place)


def compile_program(program: Program, effort: int = 1) -> NativeProgram:
    """Emit, compile and link a program for this machine."""
    target = host_target()
    return NativeProgram(program, object_from_text(emit_program(program, target), target))
