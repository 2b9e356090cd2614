"""Linear algebra stage to the programs that JAX prints."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

import tapeless
import tapeless.numpy
from tests.parity.expressions import check_program

pytestmark = pytest.mark.oracle

PROGRAMS = [
    ("jnp.linalg.norm(a)", "f32[5]"),
    ("jnp.linalg.norm(a,axis=1,keepdims=True)", "f32[3,4]"),
    ("jnp.linalg.norm(a,2)", "f32[5]"),
    ("jnp.linalg.norm(a,1)", "f32[5]"),
    ("jnp.linalg.norm(a,jnp.inf)", "f32[5]"),
    ("jnp.linalg.norm(a,-jnp.inf)", "f32[5]"),
    ("jnp.linalg.norm(a,0)", "f32[5]"),
    ("jnp.linalg.norm(a,3)", "f32[5]"),
    ("jnp.linalg.norm(a,'foo')", "f32[5]"),
    ("jnp.linalg.norm(a,'fro')", "f32[3,4]"),
    ("jnp.linalg.norm(a,'nuc')", "f32[3,4]"),
    ("jnp.linalg.norm(a,2)", "f32[3,4]"),
    ("jnp.linalg.norm(a,-2)", "f32[3,4]"),
    ("jnp.linalg.norm(a,1,axis=(0,1))", "f32[3,4]"),
    ("jnp.linalg.norm(a,-1)", "f32[3,4]"),
    ("jnp.linalg.norm(a,jnp.inf)", "f32[3,4]"),
    ("jnp.linalg.norm(a,3)", "f32[3,4]"),
    ("jnp.linalg.norm(a)", "c64[3,4]"),
    ("jnp.linalg.norm(a)", "i32[3]"),
    ("jnp.linalg.norm(a,axis=(0,1,2))", "f32[2,3,4]"),
    ("jnp.linalg.norm(a,1)", "f32[2,3,4]"),
    ("jnp.linalg.norm(a,2,axis=(0,2),keepdims=True)", "f32[2,3,4]"),
    ("jnp.linalg.norm(a,'fro',axis=0)", "f32[3,4]"),
    ("jnp.linalg.norm(a,'fro',axis=(0,1),keepdims=True)", "f32[2,3,4]"),
    ("jnp.linalg.norm(a)", "f32[2,3,4]"),
    ("jnp.linalg.norm(a,axis=())", "f32[3]"),
    ("jnp.linalg.vector_norm(a)", "f32[3,4]"),
    ("jnp.linalg.vector_norm(a,axis=1,ord=1)", "f32[3,4]"),
    ("jnp.linalg.vector_norm(a,axis=(0,1),keepdims=True)", "f32[3,4,2]"),
    ("jnp.linalg.vector_norm(a,keepdims=True)", "f32[3,4]"),
    ("jnp.linalg.matrix_norm(a)", "f32[3,4]"),
    ("jnp.linalg.matrix_norm(a,ord='nuc',keepdims=True)", "f32[2,3,4]"),
    ("jnp.linalg.matrix_norm(a)", "f32[3]"),
    ("jnp.linalg.cholesky(a)", "f32[3,3]"),
    ("jnp.linalg.cholesky(a,upper=True)", "f32[3,3]"),
    ("jnp.linalg.cholesky(a,symmetrize_input=False)", "c64[3,3]"),
    ("jnp.linalg.cholesky(a)", "i32[3,3]"),
    ("jnp.linalg.cholesky(a)", "f32[3,4]"),
    ("jnp.linalg.svd(a)", "f32[3,4]"),
    ("jnp.linalg.svd(a,full_matrices=False)", "f32[3,4]"),
    ("jnp.linalg.svd(a,compute_uv=False)", "f32[3,4]"),
    ("jnp.linalg.svd(a,hermitian=True,compute_uv=False)", "f32[3,3]"),
    ("jnp.linalg.svdvals(a)", "f32[3,4]"),
    ("jnp.linalg.svd(a,subset_by_index=(0,2),full_matrices=False)", "f32[3,4]"),
    ("jnp.linalg.qr(a)", "f32[3,4]"),
    ("jnp.linalg.qr(a,mode='r')", "f32[3,4]"),
    ("jnp.linalg.qr(a,mode='complete')", "f32[4,3]"),
    ("jnp.linalg.qr(a,mode='raw')", "f32[4,3]"),
    ("jnp.linalg.qr(a,mode='foo')", "f32[4,3]"),
    ("jnp.linalg.qr(a)", "f32[3]"),
    ("jnp.linalg.eigh(a)", "f32[3,3]"),
    ("jnp.linalg.eigh(a,UPLO='U')", "f32[3,3]"),
    ("jnp.linalg.eigh(a,UPLO='X')", "f32[3,3]"),
    ("jnp.linalg.eigh(a,symmetrize_input=False)", "f32[3,3]"),
    ("jnp.linalg.eigvalsh(a)", "f32[3,3]"),
    ("jnp.linalg.eig(a)", "f32[3,3]"),
    ("jnp.linalg.eigvals(a)", "f32[3,3]"),
    ("jnp.linalg.eigvals(a)", "f32[3,4]"),
    ("jnp.linalg.eigh(a)", "f32[3,4]"),
    ("jnp.linalg.slogdet(a,method='x')", "f32[3,3]"),
    ("jnp.linalg.det(a)", "f32[3,4]"),
    ("jnp.linalg.inv(a)", "f32[3,4]"),
    ("jnp.linalg.solve(a,b)", "f32[5,3,3] f32[5,3]"),
    ("jnp.linalg.solve(a,b)", "f32[3,4] f32[3]"),
    ("jnp.linalg.solve(a,b)", "f32[3,3] f32[4]"),
    ("jnp.linalg.solve(a,b)", "f32[3,3] f32[]"),
    ("jnp.linalg.pinv(a)", "f32[3,4]"),
    ("jnp.linalg.pinv(a,1e-3)", "f32[4,3]"),
    ("jnp.linalg.pinv(a,rcond=1e-3)", "f32[4,3]"),
    ("jnp.linalg.lstsq(a,b)", "f32[4,3] f32[4]"),
    ("jnp.linalg.lstsq(a,b)", "f32[4,3] f32[5]"),
    ("jnp.linalg.matrix_power(a,3)", "f32[3,3]"),
    ("jnp.linalg.matrix_power(a,0)", "f32[3,3]"),
    ("jnp.linalg.matrix_power(a,7)", "f32[3,3]"),
    ("jnp.linalg.matrix_power(a,1.5)", "f32[3,3]"),
    ("jnp.linalg.matrix_power(a,2)", "f32[3,4]"),
    ("jnp.linalg.matrix_rank(a)", "f32[3,4]"),
    ("jnp.linalg.matrix_rank(a,rtol=.1)", "f32[3,4]"),
    ("jnp.linalg.matrix_rank(a)", "f32[3]"),
    ("jnp.linalg.matrix_rank(a,hermitian=True)", "f32[3,3]"),
    ("jnp.linalg.matrix_rank(a,tol=.1)", "f32[3,4]"),
    ("jnp.linalg.cond(a)", "f32[3,3]"),
    ("jnp.linalg.cond(a,2)", "f32[3,4]"),
    ("jnp.linalg.cond(a,1)", "f32[3,4]"),
    ("jnp.linalg.cond(a)", "f32[3]"),
    ("jnp.linalg.multi_dot([a,b,c])", "f32[2,3] f32[3,4] f32[4,5]"),
    ("jnp.linalg.multi_dot([a,b,c])", "f32[3] f32[3,4] f32[4]"),
    ("jnp.linalg.multi_dot([a,b])", "f32[3,4] f32[4,2]"),
    ("jnp.linalg.tensorinv(a,0)", "f32[6,2,3]"),
    ("jnp.linalg.tensorinv(a)", "f32[2,3,5]"),
    ("jnp.linalg.cross(a,b)", "f32[3] f32[3]"),
    ("jnp.linalg.cross(a,b)", "f32[2] f32[2]"),
    ("jnp.linalg.diagonal(a)", "f32[2,3,3]"),
    ("jnp.linalg.outer(a,b)", "f32[2] f32[3]"),
    ("jnp.linalg.outer(a,b)", "f32[2,2] f32[3]"),
    ("jnp.linalg.matmul(a,b)", "f32[2,3] f32[3,2]"),
    ("jnp.linalg.matrix_transpose(a)", "f32[2,3,4]"),
    ("jnp.linalg.matrix_transpose(a)", "f32[2]"),
    ("jnp.linalg.tensordot(a,b)", "f32[2,3] f32[2,3]"),
    ("jnp.linalg.vecdot(a,b)", "f32[2,3] f32[2,3]"),
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize(("text", "types"), PROGRAMS)
def test_program_is_jaxs(jax: ModuleType, text: str, types: str) -> None:
    """The printed programs agree."""
    check_program(tapeless, jax, text, types)
