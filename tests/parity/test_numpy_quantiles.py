"""Quantiles stage to the programs that JAX prints."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

import tapeless
import tapeless.numpy
from tests.parity.expressions import check_program

pytestmark = pytest.mark.oracle

PROGRAMS = [
    ("jnp.median(a)", "f32[3,4]"),
    ("jnp.median(a,axis=0,keepdims=True)", "f32[3,4]"),
    ("jnp.quantile(a,0.3)", "f32[5]"),
    ("jnp.quantile(a,b,axis=1)", "f32[3,4] f32[2]"),
    ("jnp.quantile(a,0.3,method='nearest')", "f32[5]"),
    ("jnp.quantile(a,0.3,method='lower')", "f32[5]"),
    ("jnp.quantile(a,0.3,method='foo')", "f32[5]"),
    ("jnp.nanquantile(a,0.3)", "f32[5]"),
    ("jnp.percentile(a,30,method='midpoint')", "f32[5]"),
    ("jnp.nanmedian(a)", "f32[5]"),
    ("jnp.nanpercentile(a,3)", "f32[5]"),
    ("jnp.percentile(a,30,method='higher')", "i32[5]"),
    ("jnp.quantile(a,0.3,axis=(0,2))", "f32[2,3,4]"),
    ("jnp.quantile(a,b,keepdims=True)", "f32[3,4] f32[2]"),
    ("jnp.quantile(a,b)", "f32[3,4] f32[2,2]"),
    ("jnp.quantile(a,.3,overwrite_input=True)", "f32[3]"),
    ("jnp.quantile(a,.3)", "c64[3]"),
    ("jnp.quantile(a,b,weights=c)", "f32[3] f32[2] f32[3]"),
    ("jnp.nanquantile(a,b,axis=1)", "f32[3,4] f32[2]"),
    ("jnp.quantile(a,b,axis=1,keepdims=True)", "f32[3,4] f32[2]"),
    ("jnp.quantile(a,b,axis=(0,1),keepdims=True)", "f32[3,4,2] f32[2]"),
    ("jnp.quantile(a,.3,weights=b,method='inverted_cdf')", "f32[3,2] f32[3]"),
    ("jnp.quantile(a,.3)", "bf16[3]"),
    ("jnp.quantile(a,.3,axis=())", "f32[3]"),
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize(("text", "types"), PROGRAMS)
def test_program_is_jaxs(jax: ModuleType, text: str, types: str) -> None:
    """The printed programs agree."""
    check_program(tapeless, jax, text, types)
