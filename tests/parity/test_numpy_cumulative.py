"""Running sums, sorting and searching stage to the programs that JAX prints."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest

import tapeless
import tapeless.numpy
from tests.parity.expressions import check_program

pytestmark = pytest.mark.oracle

PROGRAMS = [
    ("jnp.cumsum(a)", "f32[3,4]"),
    ("jnp.cumsum(a,1)", "i8[3,4]"),
    ("jnp.cumsum(a,axis=-1,dtype='bfloat16')", "f32[3,4]"),
    ("jnp.cumsum(a)", "bf16[3]"),
    ("jnp.cumsum(a)", "bool[3]"),
    ("jnp.cumprod(a,0)", "f32[3,4]"),
    ("jnp.nancumsum(a)", "f32[3,4]"),
    ("jnp.nancumprod(a,1)", "f32[3,4]"),
    ("jnp.nancumsum(a)", "i32[3]"),
    ("jnp.cumsum(a,2)", "f32[3,4]"),
    ("jnp.cumsum(a,out=1)", "f32[3,4]"),
    ("jnp.cumsum(a)", "f32[]"),
    ("jnp.cumulative_sum(a)", "f32[3]"),
    ("jnp.cumulative_sum(a,axis=1,include_initial=True)", "f32[3,4]"),
    ("jnp.cumulative_sum(a)", "f32[3,4]"),
    ("jnp.cumulative_prod(a,axis=0,include_initial=True)", "f32[3,4]"),
    ("jnp.cumulative_sum(a)", "f32[]"),
    ("jnp.cumulative_sum(a,dtype='int32')", "f32[3]"),
    ("jnp.diff(a)", "f32[5]"),
    ("jnp.diff(a,n=2,axis=0)", "f32[5,3]"),
    ("jnp.diff(a,prepend=0)", "f32[5]"),
    ("jnp.diff(a,append=b)", "f32[5] f32[2]"),
    ("jnp.diff(a)", "bool[5]"),
    ("jnp.diff(a,n=0)", "f32[5]"),
    ("jnp.diff(a,n=-1)", "f32[5]"),
    ("jnp.diff(a)", "f32[]"),
    ("jnp.ediff1d(a)", "f32[5]"),
    ("jnp.ediff1d(a,to_begin=b,to_end=0)", "f32[5] f32[2]"),
    ("jnp.gradient(a)", "f32[5]"),
    ("jnp.gradient(a)", "f32[5,4]"),
    ("jnp.gradient(a,2.0)", "f32[5]"),
    ("jnp.gradient(a,b)", "f32[5] f32[5]"),
    ("jnp.gradient(a,b,axis=0)", "f32[5,4] f32[5]"),
    ("jnp.gradient(a,edge_order=2)", "f32[5]"),
    ("jnp.gradient(a)", "f32[1]"),
    ("jnp.gradient(a,1,2,3)", "f32[5,4]"),
    ("jnp.gradient(a)", "i32[5]"),
    ("jnp.trapezoid(a)", "f32[5]"),
    ("jnp.trapezoid(a,b)", "f32[5] f32[5]"),
    ("jnp.trapezoid(a,dx=2,axis=0)", "f32[5,3]"),
    ("jnp.trapezoid(a,b,axis=0)", "f32[5,3] f32[5]"),
    ("jnp.unwrap(a,axis=0,period=3)", "i32[5,2]"),
    ("jnp.interp(a,b,c)", "f32[5] f32[4] f32[4]"),
    ("jnp.interp(a,b,c,left=1,right='extrapolate')", "f32[5] f32[4] f32[4]"),
    ("jnp.interp(a,b,c)", "f32[5] f32[4] f32[3]"),
    ("jnp.interp(a,b,c,left='foo')", "f32[5] f32[4] f32[4]"),
    ("jnp.interp(a,b,c)", "f32[5] f32[4] c64[4]"),
    ("jnp.sort(a)", "f32[5,3]"),
    ("jnp.sort(a,axis=None)", "f32[5,3]"),
    ("jnp.sort(a,descending=True)", "f32[5,3]"),
    ("jnp.sort(a,stable=False)", "f32[5]"),
    ("jnp.sort(a,kind='foo')", "f32[5]"),
    ("jnp.sort(a,order=1)", "f32[5]"),
    ("jnp.sort(a,axis=3)", "f32[5]"),
    ("jnp.argsort(a)", "f32[5,3]"),
    ("jnp.argsort(a,descending=True,stable=False)", "f32[5,3]"),
    ("jnp.argsort(a,axis=None)", "f32[5,3]"),
    ("jnp.argsort(a,descending=True)", "f32[5,3]"),
    ("jnp.argsort(a)", "f32[]"),
    ("jnp.lexsort((a,b))", "f32[5] f32[5]"),
    ("jnp.lexsort(a)", "f32[3,5]"),
    ("jnp.lexsort(())", ""),
    ("jnp.lexsort((a,b))", "f32[5] f32[4]"),
    ("jnp.sort_complex(a)", "f32[5]"),
    ("jnp.sort_complex(a)", "i32[5]"),
    ("jnp.partition(a,2)", "f32[5]"),
    ("jnp.partition(a,2,axis=0)", "f32[5,4]"),
    ("jnp.partition(a,-1)", "u32[5]"),
    ("jnp.argpartition(a,2)", "i32[5]"),
    ("jnp.partition(a,2)", "c64[5]"),
    ("jnp.argpartition(a,2,axis=0)", "f32[5,4]"),
    ("jnp.partition(a,7)", "f32[5]"),
    ("jnp.searchsorted(a,b)", "f32[5] f32[3]"),
    ("jnp.searchsorted(a,b,side='right')", "f32[5] f32[3]"),
    ("jnp.searchsorted(a,b,method='sort')", "f32[5] f32[3]"),
    ("jnp.searchsorted(a,b,method='compare_all')", "f32[5] f32[3]"),
    ("jnp.searchsorted(a,b,method='scan_unrolled')", "f32[5] f32[3]"),
    ("jnp.searchsorted(a,b,side='foo')", "f32[5] f32[3]"),
    ("jnp.searchsorted(a,b,sorter=c)", "f32[5] f32[3] i32[5]"),
    ("jnp.searchsorted(a,2)", "f32[5]"),
    ("jnp.searchsorted(a,b)", "i32[5] f32[2,3]"),
    ("jnp.searchsorted(a,b,method='foo')", "f32[5] f32[3]"),
    ("jnp.searchsorted(a,b)", "f32[5,2] f32[3]"),
    ("jnp.searchsorted(a,b)", "f32[0] f32[3]"),
    ("jnp.searchsorted(a,b,method='compare_all',side='right')", "f32[5] f32[3]"),
    ("jnp.searchsorted(a,b,method='sort',side='right')", "f32[5] f32[3]"),
    ("jnp.digitize(a,b)", "f32[5] f32[3]"),
    ("jnp.digitize(a,b,right=True)", "f32[5] f32[3]"),
    ("jnp.digitize(a,b,method='sort')", "f32[5] f32[3]"),
    ("jnp.digitize(a,b)", "f32[5] f32[0]"),
    ("jnp.digitize(a,b)", "f32[5] f32[3,2]"),
    ("jnp.top_k(a,2)", "f32[3,5]"),
    ("jnp.top_k(a,2,axis=0)", "f32[3,5]"),
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize(("text", "types"), PROGRAMS)
def test_program_is_jaxs(jax: ModuleType, text: str, types: str) -> None:
    """The printed programs agree."""
    check_program(tapeless, jax, text, types)


def test_what_stands_on_remainders_has_jaxs_values(jax: ModuleType) -> None:
    """Their programs differ: docs/differences.md, `signs-of-quotients`."""
    angles = np.array([0.1, 3.0, 6.5, -2.0, 9.0], np.float32)
    points = np.array([0.0, 0.4, 1.1, 1.9], np.float32)
    for function in (
        lambda jnp: jnp.unwrap(angles),
        lambda jnp: jnp.unwrap(angles, discont=1.0),
        lambda jnp: jnp.interp(angles, points, points**2, period=2.0),
    ):
        np.testing.assert_allclose(function(tapeless.numpy), function(jax.numpy), rtol=1e-5)
