"""Fourier transforms stage to the programs that JAX prints."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

import tapeless
import tapeless.numpy
from tests.parity.expressions import check_program

pytestmark = pytest.mark.oracle

PROGRAMS = [
    ("F.fft(a)", "f32[5]"),
    ("F.fft(a,n=8)", "f32[5]"),
    ("F.fft(a,n=3)", "f32[5]"),
    ("F.fft(a,axis=0,norm='ortho')", "c64[5,2]"),
    ("F.fft(a,norm='forward')", "f32[5]"),
    ("F.fft(a,norm='backward')", "f32[5]"),
    ("F.fft(a,norm='x')", "f32[5]"),
    ("F.ifft(a)", "f32[5]"),
    ("F.ifft(a,norm='ortho')", "f32[5]"),
    ("F.ifft(a,norm='forward')", "f32[5]"),
    ("F.rfft(a)", "f32[5]"),
    ("F.rfft(a)", "c64[5]"),
    ("F.rfft(a,n=4,norm='ortho')", "f32[5]"),
    ("F.irfft(a)", "f32[5]"),
    ("F.irfft(a,n=7)", "f32[5]"),
    ("F.irfft(a)", "f32[3,1]"),
    ("F.irfft(a)", "f32[0]"),
    ("F.irfft2(a)", "i8[0,0]"),
    ("F.hfft(a)", "f32[0,1]"),
    ("F.irfft(a,norm='forward')", "f32[5]"),
    ("F.hfft(a)", "f32[5]"),
    ("F.hfft(a,norm='ortho')", "f32[5]"),
    ("F.ihfft(a)", "f32[5]"),
    ("F.fft2(a)", "f32[4,5]"),
    ("F.fft2(a,s=(2,3))", "f32[4,5]"),
    ("F.ifft2(a)", "f32[4,5]"),
    ("F.rfft2(a)", "f32[4,5]"),
    ("F.irfft2(a)", "f32[4,5]"),
    ("F.fftn(a)", "f32[2,3,4]"),
    ("F.fftn(a,axes=(0,1))", "f32[2,3,4]"),
    ("F.fftn(a)", "f32[2,2,2,2,2]"),
    ("F.ifftn(a,s=(3,3),axes=(0,2),norm='ortho')", "f32[2,3,4]"),
    ("F.rfftn(a)", "f32[2,3,4]"),
    ("F.irfftn(a)", "f32[2,3,4]"),
    ("F.rfftn(a,axes=(1,0))", "f32[2,3,4]"),
    ("F.irfftn(a,axes=(1,0))", "f32[2,3,4]"),
    ("F.irfftn(a,s=(2,3,5))", "f32[2,3,4]"),
    ("F.fftn(a,s=(2,3),axes=(0,))", "f32[2,3]"),
    ("F.fft2(a,axes=(0,))", "f32[2,3]"),
    ("F.fft(a,axis=(0,1))", "f32[2,3]"),
    ("F.fft(a,axis=3)", "f32[2,3]"),
    ("F.fft(a,n=0)", "f32[5]"),
    ("F.fftn(a,axes=(0,0))", "f32[2,3]"),
    ("F.fftn(a,axes=())", "f32[2,3]"),
    ("F.rfftn(a,axes=())", "f32[2,3]"),
    ("F.fft(a,n=-1)", "f32[5]"),
    ("F.fft(a)", "i32[5]"),
    ("F.rfft(a)", "i32[5]"),
    ("F.fft(a)", "bf16[5]"),
    ("F.fftfreq(5)", ""),
    ("F.fftfreq(6,0.1)", ""),
    ("F.rfftfreq(5)", ""),
    ("F.rfftfreq(6,d=2)", ""),
    ("F.fftfreq(0)", ""),
    ("F.fftfreq(5.)", ""),
    ("F.fftfreq(5,d=a)", "f32[2]"),
    ("F.fftfreq(5,d=a)", "f32[]"),
    ("F.fftfreq(5,dtype='float16')", ""),
    ("F.fftshift(a)", "f32[5]"),
    ("F.fftshift(a,axes=0)", "f32[4,5]"),
    ("F.ifftshift(a)", "f32[4,5]"),
    ("F.ifftshift(a,axes=(1,))", "f32[4,5]"),
    ("F.fft(a)", "f32[]"),
    ("F.fft(a,5.0)", "f32[5]"),
    ("F.fftfreq('a')", ""),
    ("F.fftfreq([1])", ""),
]


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize(("text", "types"), PROGRAMS)
def test_program_is_jaxs(jax: ModuleType, text: str, types: str) -> None:
    """The printed programs agree."""
    check_program(tapeless, jax, text, types)
