"""Products in matrix registers: the text is what LLVM accepts, on any level."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from tapeless.compiler.generate import machine
from tapeless.compiler.matrixtiles import PRODUCT, product_text
from tapeless.compiler.target import host_target, named_target


@pytest.mark.skipif(not host_target().triple.startswith("x86_64"), reason="instructions of x86-64")
def test_the_function_uses_the_registers_on_any_level() -> None:
    target = named_target("x86-64-v4")
    module = llvm.parse_assembly(product_text(), llvm.create_context())
    module.verify()
    module.triple = target.triple
    text = machine(target, 1).emit_assembly(module)
    assert f'"{PRODUCT}":' in text
    assert text.count("tdpbf16ps\t") == 4
    assert text.count("tilerelease") == 1


def test_lower_levels_have_no_matrix_registers() -> None:
    assert not named_target("x86-64-v3").matrices
