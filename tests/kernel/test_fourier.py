"""Names, factors and tables of Fourier routines."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tapeless.kernel.fourier import (
    Fourier,
    bytes_of,
    factors_of,
    fourier_of,
    roots_of_one,
    table_of,
    work_of,
)

F32 = np.dtype(np.float32)


def test_a_symbol_names_its_routine():
    routine = Fourier(F32, 16, "8csw", -1)
    assert fourier_of(routine.symbol) == routine
    assert routine.factor == 8
    assert Fourier(F32, 16, "13ss").factor == 13
    assert Fourier(F32, 16, "gather").factor == 0
    assert Fourier(F32, 16, "real.64").factor == 0


@pytest.mark.parametrize("n", [2, 3, 4, 8, 16, 64, 1000, 1024, 2 * 3 * 5 * 7 * 11 * 13])
def test_factors_multiply_to_the_length(n):
    assert math.prod(factors_of(n)) == n


@pytest.mark.parametrize("n", [17, 19 * 4, 1 << 20 | 1])
def test_large_primes_have_no_passes(n):
    assert factors_of(n) is None


@pytest.mark.parametrize("n", [3, 8, 12, 1000, 1 << 20])
def test_roots_are_rounded_once(n):
    powers = np.arange(n) if n < 2000 else np.arange(0, 2 * n, 4567)
    found = roots_of_one(n, powers).astype(np.float64)
    angle = 2 * np.arccos(np.longdouble(-1)) * (powers % n) / n
    expected = np.stack([np.cos(angle), -np.sin(angle)], axis=-1)
    np.testing.assert_allclose(found, expected.astype(np.float64), rtol=0, atol=1.2e-16)
    assert set(roots_of_one(8, np.arange(0, 8, 2)).ravel().tolist()) == {0.0, 1.0, -1.0}


def test_tables_have_what_passes_read():
    assert table_of(Fourier(F32, 16, "line.24")).size == 2 * (2 * 8 + 7 * 1)
    assert table_of(Fourier(F32, 16, "real.64")).size == 2 * 17
    twist = table_of(Fourier(F32, 4, "twist.6.8"))
    assert twist.size == 2 * 2 * 8 + 2 * 8 * 4
    scalars = twist[: 2 * 2 * 8].reshape(2, 8, 2) @ [1, 1j]
    vectors = twist[2 * 2 * 8 :].reshape(8, 2, 4)
    vectors = vectors[:, 0] + 1j * vectors[:, 1]
    expected = np.exp(-2j * np.pi / 48 * 5 * np.arange(8))
    np.testing.assert_allclose(scalars[1] * vectors[:, 1], expected, atol=1e-6)


def test_work_and_bytes_of_calls():
    passing = [1, 1, 1, 4, 2, 32, 32, 16, 1.0]
    assert work_of(Fourier(F32, 16, "8ss"), passing) == 4 * 2 * 8 * 16 * 15
    assert bytes_of(Fourier(F32, 16, "8cc"), passing) == 2 * 2 * 8 * 4 * 2 * 16 * 4
    assert bytes_of(Fourier(F32, 16, "8ss"), passing) == 0
    assert bytes_of(Fourier(F32, 16, "gather"), [1, 1, 64, 64, 5]) == 64 * 5 * 4
    assert work_of(Fourier(F32, 16, "twist"), [1, 1, 1, 10]) == 4 * 16 * 10
