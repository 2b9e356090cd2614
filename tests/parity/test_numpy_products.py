"""Products stage to the programs that JAX prints."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

import tapeless
import tapeless.numpy
from tests.parity.expressions import check_program

pytestmark = pytest.mark.oracle

PROGRAMS = [
    ("jnp.dot(a,b)", "f32[] f32[3]"),
    ("jnp.dot(a,2)", "f32[3]"),
    ("jnp.dot(a,b)", "f32[2,3,4] f32[5,4,6]"),
    ("jnp.dot(a,b)", "f32[2,3] f32[2,3]"),
    ("jnp.dot(a,b)", "bool[3] bool[3]"),
    ("jnp.dot(a,b)", "i8[3] i8[3]"),
    ("jnp.dot(a,b)", "i8[3] f32[3]"),
    ("jnp.dot(a,b,precision='highest')", "f32[3] f32[3]"),
    ("jnp.dot(a,b,preferred_element_type='float16')", "f32[3] f32[3]"),
    ("jnp.dot(a,b,preferred_element_type='float32')", "bf16[3] bf16[3]"),
    ("jnp.dot(a,b)", "c64[3] f32[3]"),
    ("jnp.matmul(a,b)", "f32[3] f32[3]"),
    ("jnp.matmul(a,b)", "f32[] f32[3]"),
    ("jnp.matmul(a,b)", "f32[3] f32[4]"),
    ("jnp.matmul(a,b)", "f32[2,3] f32[4,3]"),
    ("jnp.matmul(a,b)", "f32[7,1,2,3] f32[5,3,4]"),
    ("jnp.matmul(a,b)", "f32[1,2,3] f32[5,3,4]"),
    ("jnp.matmul(a,b)", "f32[5,2,3] f32[1,3,4]"),
    ("jnp.matmul(a,b)", "f32[3] f32[5,3,4]"),
    ("jnp.matmul(a,b)", "f32[5,2,3] f32[3]"),
    ("jnp.matmul(a,b)", "f32[2,2,3] f32[5,3,4]"),
    ("jnp.matmul(a,b)", "f32[1,2,3] f32[1,3,4]"),
    ("jnp.matmul(a,b)", "f32[2,3] f32[1,5,3,4]"),
    ("jnp.matmul(a,b)", "f32[6,1,2,3] f32[1,5,3,4]"),
    ("jnp.matmul(a,b)", "f32[6,5,2,3] f32[5,3,4]"),
    ("a@b", "f32[6,1,5,2,3] f32[5,3,4]"),
    ("jnp.vdot(a,b)", "c64[3] f32[3]"),
    ("jnp.vdot(a,b)", "f32[3] f32[4]"),
    ("jnp.vecdot(a,b)", "f32[2,3] f32[2,3]"),
    ("jnp.vecdot(a,b,axis=0)", "f32[3,2] f32[3,2]"),
    ("jnp.vecdot(a,b)", "c64[2,3] f32[3]"),
    ("jnp.vecdot(a,b)", "f32[2,3] f32[4]"),
    ("jnp.inner(a,b)", "f32[] f32[3]"),
    ("jnp.inner(a,b)", "f32[2,3] f32[4,3]"),
    ("jnp.inner(a,b)", "f32[2,3] f32[3]"),
    ("jnp.inner(a,b)", "f32[2,3] f32[4]"),
    ("jnp.outer(a,b)", "f32[2,3] f32[4]"),
    ("jnp.outer(a,b,1)", "f32[2,3] f32[4]"),
    ("jnp.outer(a,b)", "f32[2] i32[4]"),
    ("jnp.tensordot(a,b,axes=1)", "f32[2,3,4] f32[4,5]"),
    ("jnp.tensordot(a,b,axes=([1,0],[0,1]))", "f32[2,3,4] f32[3,2,5]"),
    ("jnp.tensordot(a,b,axes=(1,0))", "f32[2,3,4] f32[3,2,5]"),
    ("jnp.tensordot(a,b,axes=0)", "f32[2] f32[3,2,5]"),
    ("jnp.tensordot(a,b,axes=3)", "f32[2] f32[3,2,5]"),
    ("jnp.tensordot(a,b,axes=1.5)", "f32[2] f32[3,2,5]"),
    ("jnp.tensordot(a,b,axes=([1],[0,1]))", "f32[2,3,4] f32[3,2,5]"),
    ("jnp.tensordot(a,b,axes=([1],[0],[1]))", "f32[2,3,4] f32[3,2,5]"),
    ("jnp.tensordot(a,b,axes=1)", "f32[2,3,4] f32[3,2,5]"),
    ("jnp.tensordot(a,b,axes=([1],0))", "f32[2,3,4] f32[3,2,5]"),
    ("jnp.tensordot(a,b,axes='a')", "f32[2,3,4] f32[3,2,5]"),
    ("jnp.tensordot(a,b,axes=((-1,),(0,)))", "f32[2,3,4] f32[4,2,5]"),
    ("jnp.tensordot(a,b,axes=((5,),(0,)))", "f32[2,3,4] f32[4,2,5]"),
    ("jnp.matvec(a,b)", "f32[2,3,4] f32[4]"),
    ("jnp.matvec(a,b)", "f32[4] f32[4]"),
    ("jnp.vecmat(a,b)", "c64[2,3] f32[2,3,4]"),
    ("jnp.vecmat(a,b)", "f32[3] f32[3,4]"),
    ("jnp.matvec(a,b)", "f32[2,3] f32[4]"),
    ("jnp.kron(a,b)", "f32[2] f32[3,4]"),
    ("jnp.kron(a,b)", "i32[2] f32[3,4]"),
    ("jnp.kron(a,b)", "f32[] f32[3,4]"),
    ("jnp.cross(a,b)", "f32[2] f32[2]"),
    ("jnp.cross(a,b)", "f32[5,2] f32[3]"),
    ("jnp.cross(a,b)", "f32[4] f32[3]"),
    ("jnp.cross(a,b,axis=0)", "f32[3,5] f32[3,5]"),
    ("jnp.cross(a,b,axisc=0)", "f32[5,3] f32[3]"),
    ("jnp.cross(a,b)", "f32[3] f32[5,2]"),
    ("jnp.cross(a,b)", "i32[3] f32[3]"),
    ("jnp.dot(a,b)", "f32[3] f32[3]"),
    ("jnp.trace(a,1)", "f32[3,4]"),
    ("jnp.trace(a,b)", "f32[3,4] i32[]"),
    ("jnp.trace(a)", "bool[3,3]"),
    ("jnp.trace(a)", "i8[3,3]"),
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize(("text", "types"), PROGRAMS)
def test_program_is_jaxs(jax: ModuleType, text: str, types: str) -> None:
    """The printed programs agree."""
    check_program(tapeless, jax, text, types)
