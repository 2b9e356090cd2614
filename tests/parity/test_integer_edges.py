"""Integers at the ends of their dtypes are JAX's: eagerly, compiled, in loops, vectors and tails.

Every operation meets every pair of a dtype's ends, their neighbours, zero and small numbers:
divisors that are 0 or -1, shifts past the width, sums and products that wrap around, powers of
negative exponents.  Conversions meet numbers that the target does not have, NaN and infinities
among them.  JAX's values are those of one compiled call; ours are compared in a vector with its
tail, by one element, in the steps of a scan, and outside of `jit`.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tapeless
import tapeless.numpy as jnp
from tapeless import lax

pytestmark = pytest.mark.oracle

SIGNED = ("int4", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint4", "uint8", "uint16", "uint32", "uint64")
BINARY = (
    "lax.div lax.rem lax.add lax.sub lax.mul lax.max lax.min lax.shift_left "
    "lax.shift_right_arithmetic lax.shift_right_logical numpy.floor_divide numpy.remainder "
    "numpy.fmod numpy.left_shift numpy.right_shift numpy.power numpy.subtract numpy.true_divide "
    "numpy.bitwise_xor numpy.less lax.mulhi"
).split()
UNARY = (
    "lax.neg lax.abs lax.sign lax.clz lax.population_count lax.bitwise_not numpy.square "
    "numpy.negative numpy.absolute numpy.bitwise_count"
).split()
# What JAX refuses, or has otherwise: names, dtypes and why.
OTHERWISE = {
    "lax.mulhi": ("int4 uint4", "JAX has no wider integers of these"),
    "lax.abs": (f"int4 {' '.join(UNSIGNED)}", "JAX refuses them"),
    "numpy.absolute": ("int4", "JAX refuses them"),
    "numpy.power": ("int4 uint4", "JAX fails as it looks for the ends of the dtype"),
    "numpy.right_shift": ("uint4", "JAX shifts them as signed bytes: 14 >> 1 is 15 there"),
    "lax.population_count": ("int4", "JAX counts the bits of a byte: -8 has five there"),
    "numpy.bitwise_count": ("int4", "JAX counts the bits of a byte: -8 has five there"),
}
FLOATS = (0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 100.7, -129.0, 255.9, 256.0, 4e4, -4e4, np.nan)
FLOATS += (2147483520.0, 2147483648.0, 3e9, -3e9, 4294967040.0, 5e9, 1e19, -1e19, np.inf, -np.inf)


def dtype_of(name: str) -> np.dtype:
    """Return a dtype by its name."""
    return np.dtype(getattr(ml_dtypes, name, name))


def ends(name: str) -> list[int]:
    """Return the ends of a dtype, their neighbours, and small numbers."""
    info = ml_dtypes.iinfo(dtype_of(name))
    numbers = {0, 1, 2, 3, info.bits - 1, info.bits, info.max, info.max - 1, info.min, info.min + 1}
    numbers |= {-1, -2, -3} if info.min else set()
    return sorted(number for number in numbers if info.min <= number <= info.max)


def pairs(name: str) -> list[np.ndarray]:
    """Return two columns with every pair of the ends of a dtype."""
    both = list(itertools.product(ends(name), repeat=2))
    return [np.array(column, object).astype(dtype_of(name)) for column in zip(*both, strict=True)]


def named(system: ModuleType, name: str) -> Callable:
    """Return a function of a library by its dotted name."""
    home, _, last = name.partition(".")
    return getattr(importlib.import_module(f"{system.__name__}.{home}"), last)


def stepwise(function: Callable, columns: list[np.ndarray]) -> Any:
    """Return what a function gives for each row, as the results of a scan's steps."""

    def step(carry: None, row: tuple) -> tuple:
        return carry, function(*row)

    return tapeless.jit(lambda *xs: tapeless.lax.scan(step, None, xs)[1])(*columns)


def check(name: str, columns: list[np.ndarray], **options: Any) -> None:
    """Compare a function with JAX's, in all ways to evaluate it."""
    jax: ModuleType = importlib.import_module("jax")
    ours, theirs = (partial(named(system, name), **options) for system in (tapeless, jax))
    with jax.enable_x64(True), tapeless.enable_x64(True):
        expected = np.asarray(jax.jit(theirs)(*columns))
        last = [column[-1:] for column in columns]
        ways = {
            "compiled": (tapeless.jit(ours)(*columns), expected),
            "eager": (ours(*map(jnp.asarray, columns)), expected),
            "in a scan": (stepwise(ours, columns), expected),
            "alone": (tapeless.jit(ours)(*last), expected[-1:]),
        }
    for way, (found, wanted) in ways.items():
        assert found.dtype == wanted.dtype, way
        same = (np.asarray(found) == wanted) | ((wanted != wanted) & (np.asarray(found) != found))
        rows = [tuple(column[~same][:3].tolist() for column in columns)] if not same.all() else []
        assert same.all(), (way, rows, np.asarray(found)[~same][:3], wanted[~same][:3])


def cases_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the names with the dtypes that both sides take."""
    product = itertools.product(names, (*SIGNED, *UNSIGNED))
    return [(n, dtype) for n, dtype in product if dtype not in OTHERWISE.get(n, ("",))[0].split()]


def test_what_has_four_bits_is_counted_and_shifted_in_these():
    x = jnp.array([-8, -7, -3, 7], "int4")
    assert lax.population_count(x).tolist() == [1, 2, 3, 3]
    assert jnp.bitwise_count(x).tolist() == [1, 3, 2, 3]  # of magnitudes, as in NumPy
    assert (jnp.array([14, 15], "uint4") >> jnp.array([1, 3], "uint4")).tolist() == [7, 1]


@pytest.mark.parametrize(("name", "dtype"), cases_of(BINARY))
def test_pairs_of_ends(name, dtype):
    check(name, pairs(dtype))


@pytest.mark.parametrize(("name", "dtype"), cases_of(UNARY))
def test_ends(name, dtype):
    check(name, [np.tile(pairs(dtype)[0][:: len(ends(dtype))], 3)])


@pytest.mark.parametrize("exponent", [2, 3, 7])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64"])
def test_powers_of_ends(dtype, exponent):
    check("lax.integer_pow", [pairs(dtype)[0]], y=exponent)


@pytest.mark.parametrize("target", [*SIGNED, *UNSIGNED, "bool"])
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_conversions_of_numbers_that_are_not_there(source, target):
    with np.errstate(all="ignore"):
        numbers = np.array(FLOATS).astype(dtype_of(source))
    check("lax.convert_element_type", [np.tile(numbers, 2)], new_dtype=dtype_of(target))


@pytest.mark.parametrize("target", [*SIGNED, *UNSIGNED, "float16", "float32", "bool"])
@pytest.mark.parametrize("source", ["int8", "uint8", "int32", "uint32", "int64", "uint64", "int4"])
def test_conversions_of_ends(source, target):
    check("lax.convert_element_type", [pairs(source)[0]], new_dtype=dtype_of(target))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32"])
def test_sums_and_products_wrap_around(dtype):
    x = np.tile(pairs(dtype)[0], 5)
    jax: ModuleType = importlib.import_module("jax")
    for name in ("sum", "prod", "cumsum", "cumprod", "dot"):
        operands = [x, x[::-1].copy()] if name == "dot" else [x]
        options = {} if name == "dot" else {"dtype": dtype}
        expected = getattr(jax.numpy, name)(*operands, **options)
        np.testing.assert_array_equal(getattr(jnp, name)(*operands, **options), expected)
