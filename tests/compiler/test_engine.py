"""Compiling, linking and freeing programs, and code for every supported processor."""

from __future__ import annotations

import gc
import weakref

import llvmlite.binding as llvm
import numpy as np
import pytest

from tapeless.compiler.generate import generate_object, machine, optimised
from tapeless.compiler.target import host_target, named_target
from tapeless.kernel.ir import Call, Loop
from tests.compiler.native import F32, F64, I32, Work
from tests.compiler.test_emit import collatz, kitchen_sink, numbers
from tests.compiler.test_threads import long_program
from tests.safety.children import run_program

LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"]


def doubling(size: int) -> Work:
    """A program that doubles an array."""
    work = Work()
    x, i = work.input(numbers(size)), work.index("i", size)
    y = work.output((size,), F32)
    value = work.get(x, i)
    work.body.append(Loop(i, size, (work.put(y, (i,), work.add(value, value)),)))
    return work


def elementwise(name: str, dtype: np.dtype) -> Work:
    """A program that applies one operation to an array."""
    work = Work()
    x, i = work.input(numbers(100, dtype=dtype)), work.index("i", 100)
    value = work.op(name, *[work.get(x, i)] * (2 if name in ("pow", "div", "max") else 1))
    y = work.output((100,), value.dtype)
    work.body.append(Loop(i, 100, (work.put(y, (i,), value),)))
    return work


def many_programs() -> list[Work]:
    """Programs of every kind."""
    half = np.dtype(np.float16)
    works = [doubling(100), long_program(1 << 20)[0], Work(), Work()]
    kitchen_sink(works[2])
    collatz(works[3], 27)
    for name in ("exp", "log", "sin", "tanh", "pow", "div", "max", "sqrt", "floor"):
        works += [elementwise(name, dtype) for dtype in (F32, F64)]
    works += [elementwise(name, half) for name in ("exp", "max")]
    works += [elementwise(name, I32) for name in ("div", "max")]
    return works


@pytest.mark.parametrize("level", LEVELS)
def test_valid_code_for_every_processor(level: str) -> None:
    target = named_target(level)
    for work in many_programs():
        text = work.emit(target).text
        module = llvm.parse_assembly(text)
        module.verify()
        assert generate_object(text, target)[:4] == b"\x7fELF"


@pytest.mark.parametrize("level, register", [("x86-64-v3", "%ymm"), ("x86-64-v4", "%zmm")])
def test_vectors_fill_the_registers(level: str, register: str) -> None:
    target = named_target(level)
    aim = machine(target, 1)
    with optimised(doubling(1000).emit(target).text, target) as module:
        text = aim.emit_assembly(module)
    assert register in text


@pytest.mark.parametrize("effort", [0, 1])
def test_both_efforts_give_the_same_bits(effort: int) -> None:
    work = Work()
    expected = kitchen_sink(work)
    for result, wanted in zip(work.run(effort), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_programs_with_the_same_text_share_their_code() -> None:
    first, second = doubling(100).compile(), doubling(100).compile()
    assert first.address == second.address
    assert first.address != doubling(101).compile().address


def test_code_dies_with_its_last_program() -> None:
    native = doubling(103).compile()
    code = weakref.ref(native._code)
    del native
    gc.collect()
    assert code() is None
    np.testing.assert_array_equal(doubling(103).run()[0], 2 * numbers(103))


def test_text_does_not_depend_on_the_process() -> None:
    texts = {long_program(1 << 20)[0].emit(host_target()).text for _ in range(3)}
    assert len(texts) == 1


def test_an_unknown_symbol_is_an_error() -> None:
    for symbol in ("host:missing", "blas:missing"):
        work = Work()
        y = work.output((1,), F32)
        work.body.append(Call(symbol, (y,), (), (y,)))
        with pytest.raises(LookupError, match="missing"):
            work.compile()


def test_an_unknown_processor_is_an_error() -> None:
    with pytest.raises(ValueError, match="TAPELESS_CPU"):
        named_target("pentium")


INTERRUPTED = """
import gc

import llvmlite.binding as llvm

from tapeless.compiler import generate
from tapeless.compiler.target import host_target


def interrupted(*args):
    raise KeyboardInterrupt


llvm.create_pass_builder = interrupted
for _ in range(9):
    try:
        generate.generate_object("define void @f() { ret void }", host_target())
    except KeyboardInterrupt as error:
        error.cycle = error
    gc.collect()
print("fine")
"""


def test_garbage_of_an_interrupted_compilation_does_not_crash() -> None:
    assert run_program(INTERRUPTED) == "fine"


SIGNALLED = """
import gc, signal, time
from tapeless.compiler.generate import generate_object
from tapeless.compiler.target import host_target

class Alarm(Exception):
    pass

def ring(number, frame):
    if "llvmlite" in frame.f_code.co_filename:
        return  # the binding itself frees a string twice if it is interrupted as it frees it
    rings.append(number)
    raise Alarm

def compiled(number):
    body = "\\n".join(f"%x{i + 1} = mul i64 %x{i}, {i % 7 + 3}" for i in range(60))
    text = f"define i64 @f{number}(i64 %x0) {{\\n{body}\\nret i64 %x60\\n}}"
    begin = time.monotonic()
    generate_object(text, host_target())
    return time.monotonic() - begin

rings, caught = [], 0
compiled(0)
usual = compiled(1)
signal.signal(signal.SIGALRM, ring)
for number in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, usual * (number % 97 + 1) / 97)
        compiled(number)
        signal.setitimer(signal.ITIMER_REAL, 0)
        time.sleep(0)  # what has come by now is raised here
    except Alarm as error:
        error.cycle = error
        caught += 1
    if number % 5 == 0:
        gc.collect()
print(caught, len(rings))
"""


def test_signals_that_end_compilations_are_neither_lost_nor_crash() -> None:
    caught, raised = map(int, run_program(SIGNALLED).split())
    assert caught == raised > 0
