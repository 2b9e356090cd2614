"""Histograms, covariances and sequences stage to the programs that JAX prints."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

import tapeless
import tapeless.numpy
from tests.parity.expressions import check_program

pytestmark = pytest.mark.oracle

PROGRAMS = [
    ("jnp.histogram_bin_edges(a)", "f32[5]"),
    ("jnp.histogram_bin_edges(a,bins=3,range=(0,1))", "f32[5]"),
    ("jnp.histogram_bin_edges(a,bins='auto')", "f32[5]"),
    ("jnp.histogram(a)", "f32[5]"),
    ("jnp.histogram(a,bins=b,weights=c,density=True)", "f32[5] f32[4] f32[5]"),
    ("jnp.bincount(a,length=3)", "i32[5]"),
    ("jnp.bincount(a,b,length=3)", "i32[5] f32[5]"),
    ("jnp.bincount(a)", "i32[5]"),
    ("jnp.bincount(a,length=3)", "f32[5]"),
    ("jnp.bincount(a,length=3,minlength=5)", "i32[5]"),
    ("jnp.cov(a)", "f32[3,5]"),
    ("jnp.cov(a)", "f32[5]"),
    ("jnp.cov(a,b,rowvar=False,bias=True)", "f32[5,3] f32[5,2]"),
    ("jnp.cov(a,fweights=b,aweights=c)", "f32[3,5] i32[5] f32[5]"),
    ("jnp.corrcoef(a)", "f32[5]"),
    ("jnp.cov(a)", "c64[3,5]"),
    ("jnp.convolve(a,b)", "f32[5] f32[3]"),
    ("jnp.convolve(a,b,mode='same')", "f32[5] f32[3]"),
    ("jnp.convolve(a,b,mode='valid')", "f32[3] f32[5]"),
    ("jnp.convolve(a,b,mode='valid')", "f32[5] f32[3]"),
    ("jnp.convolve(a,b,mode='x')", "f32[5] f32[3]"),
    ("jnp.correlate(a,b)", "f32[5] f32[3]"),
    ("jnp.correlate(a,b,mode='full')", "f32[3] c64[5]"),
    ("jnp.convolve(a,b)", "f32[5,2] f32[3]"),
    ("jnp.convolve(a,b)", "f32[0] f32[3]"),
    ("jnp.convolve(a,b)", "i32[4] i32[3]"),
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize(("text", "types"), PROGRAMS)
def test_program_is_jaxs(jax: ModuleType, text: str, types: str) -> None:
    """The printed programs agree."""
    check_program(tapeless, jax, text, types)
