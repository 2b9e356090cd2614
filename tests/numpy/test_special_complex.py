"""Special cases of the array API standard for complex numbers by parts, and for Python's numbers.

Sums, differences, signs and roundings of complex numbers are those of their parts; predicates look
at both parts; logarithms to other bases are quotients of the natural one.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.numpy import special_cases
from tests.numpy.test_special_cases import TOLERANCE, complex_agrees, evaluated, with_conjugates

DTYPES = ("complex64", "complex128")
PARTS = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan])


def numbers(dtype: str) -> np.ndarray:
    """Return complex numbers with every pair of special parts."""
    x, y = np.meshgrid(PARTS, PARTS)
    z = np.empty(x.size, dtype)
    z.real, z.imag = x.ravel(), y.ravel()
    return z


def pairs(dtype: str) -> list[np.ndarray]:
    """Return two columns with every pair of such numbers."""
    z = numbers(dtype)
    return [np.repeat(z, z.size), np.tile(z, z.size)]


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    """Assert that real numbers are equal, zeros in their signs too."""
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "subtract", "negative", "positive", "round"])
def test_parts_are_computed_apart(name, dtype):
    operands = pairs(dtype) if name in ("add", "subtract") else [numbers(dtype)]
    with jax.enable_x64(True), np.errstate(all="ignore"):
        results = evaluated(getattr(jnp, name), operands)
        for part in (np.real, np.imag):
            expected = getattr(np, name)(*map(part, operands))
            for result in results:
                assert_same_bits(part(result), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["conj", "real", "imag"])
def test_parts_are_kept(name, dtype):
    z = numbers(dtype)
    with jax.enable_x64(True):
        for result in evaluated(getattr(jnp, name), [z]):
            expected = getattr(np, name)(z)
            assert_same_bits(result.real, expected.real)
            assert_same_bits(result.imag, expected.imag)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan", "equal", "not_equal"])
def test_predicates_look_at_both_parts(name, dtype):
    operands = pairs(dtype) if "equal" in name else [numbers(dtype)]
    parts = [getattr(np, name)(*map(part, operands)) for part in (np.real, np.imag)]
    expected = parts[0] & parts[1] if name in ("isfinite", "equal") else parts[0] | parts[1]
    with jax.enable_x64(True):
        for result in evaluated(getattr(jnp, name), operands):
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "base"), [("log2", 2), ("log10", 10)])
def test_logarithms_to_other_bases_are_quotients(name, base, dtype):
    rows = with_conjugates(list(special_cases.pairs(special_cases.COMPLEX["log"])))
    with jax.enable_x64(True):
        z = np.array([row[0] for row in rows]).astype(dtype)
        results = evaluated(getattr(jnp, name), [z])
    wrong = set()
    for result in results:
        for (operand, conjugated, text), value in zip(rows, result, strict=True):
            found = complex(value.real * math.log(base), value.imag * math.log(base))
            found = found.conjugate() if conjugated else found
            if not complex_agrees(found, text, TOLERANCE[dtype]):
                wrong.add((str(operand), text, str(complex(value))))
    assert not wrong


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_two_are_numpys(dtype):
    parts = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0]
    z = np.array([complex(x, y) for x in parts for y in parts], dtype)
    with np.errstate(all="ignore"):
        expected = np.exp2(z)
    found = np.asarray(jnp.exp2(z))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    flat = z.imag == 0
    signs = np.signbit(found.imag[flat])
    np.testing.assert_array_equal(signs, np.signbit(z.imag[flat]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", *DTYPES])
def test_truth_values_and_counts_of_special_numbers(dtype):
    values = [0.0, -0.0, np.nan, np.inf, -np.inf, -1e-3]
    with jax.enable_x64(True):
        x = jnp.array(values, dtype)
        assert [bool(each) for each in x] == [False, False, True, True, True, True]
        np.testing.assert_array_equal(x.astype(bool), np.array(values) != 0)
        assert int(jnp.count_nonzero(x)) == 4
        assert list(jnp.nonzero(x)[0]) == [2, 3, 4, 5]
        if dtype in DTYPES:
            assert bool(jnp.array(complex(0, np.nan), dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_python_numbers_of_special_numbers(dtype):
    with jax.enable_x64(True):
        nan, inf, zero = (jnp.array(value, dtype) for value in (np.nan, np.inf, -0.0))
        assert math.isnan(float(nan))
        assert float(inf) == math.inf
        assert float(-inf) == -math.inf
        assert math.copysign(1, float(zero)) == -1
        assert complex(inf) == complex(math.inf, 0)
        assert math.isnan(complex(nan).real)
        assert int(zero) == 0
        assert int(jnp.array(-2.5, dtype)) == -2
        with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
            int(nan)
        with pytest.raises(OverflowError, match="cannot convert float infinity to integer"):
            int(inf)
        with pytest.raises(TypeError):
            inf.__index__()


def test_python_numbers_of_truth_values_and_complex_numbers():
    for value in (True, False):
        x = jnp.array(value)
        assert (int(x), float(x), complex(x)) == (int(value), float(value), complex(value))
    for kind in (int, float):
        with pytest.raises(TypeError):
            kind(jnp.array(1 + 0j))


@pytest.mark.parametrize("args", [(3, 0), (0, 3, -1), (0, 0), (0.5, 0.5)])
def test_ranges_that_go_nowhere_are_empty(args):
    assert jnp.arange(*args).shape == (0,)
