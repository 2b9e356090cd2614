"""Promotion of every pair of dtypes, strong and weak, in every mode, compared with JAX."""

import functools
import importlib
import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest

from tapeless import config, dtypes

pytestmark = pytest.mark.oracle

NAMES = [
    "bool", "uint2", "uint4", "uint8", "uint16", "uint32", "uint64", "int2", "int4", "int8",
    "int16", "int32", "int64", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4",
    "float8_e4m3", "float8_e8m0fnu", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "bfloat16", "float16", "float32", "float64", "complex64",
    "complex128",
]  # fmt: skip
DTYPES = [np.dtype(getattr(ml_dtypes, name, name)) for name in NAMES]
MODES = list(itertools.product([False, True], ["standard", "strict"]))


class Typed:
    """Stands for an array in both systems: JAX asks the aval, tapeless the value."""

    shape = ()

    def __init__(self, dtype, weak_type, jax):
        self.dtype = dtype
        self.weak_type = weak_type
        self.aval = jax.core.ShapedArray((), dtype, weak_type=weak_type)

    def __repr__(self):
        return f"{self.dtype}{'*' if self.weak_type else ''}"


def answer(function, *args):
    """Return the result as text, or the error's class and message with names in order."""
    try:
        return str(function(*args))
    except ValueError as error:
        head, bracket, tail = str(error).partition(")")
        names = sorted(head.partition("(")[2].split(", "))
        return f"{type(error).__name__} {names}{bracket}{tail}"
    except KeyError:
        # JAX has no default dtype for narrow integers that are weak.
        return None


@pytest.fixture(scope="module")
def jax():
    """The oracle."""
    return importlib.import_module("jax")


def compare(jax, mode, theirs, ours, pairs):
    """Assert equal answers to all pairs in one mode of both systems."""
    x64, promotion = mode
    with (
        jax.enable_x64(x64), jax.numpy_dtype_promotion(promotion),
        config.enable_x64(x64), config.numpy_dtype_promotion(promotion),
        warnings.catch_warnings(action="ignore"),
    ):  # fmt: skip
        different = [
            (args, expected, found)
            for args in pairs
            if (expected := answer(theirs, *args)) is not None
            and expected != (found := answer(ours, *args))
        ]
    assert different == []


def flagged(module):
    """Return a system's `result_type` that also says whether the result is weak."""
    return functools.partial(module.result_type, return_weak_type_flag=True)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_result_types_of_all_pairs(jax, mode):
    values = [Typed(dtype, weak, jax) for dtype in DTYPES for weak in (False, True)]
    if not mode[0]:
        # A weak value is 64 bits wide only where x64 mode is on.
        values = [
            value for value in values if value.dtype == dtypes.canonicalize_dtype(value.dtype)
        ]
    values += [True, 1, 1.0, 1j]
    pairs = [*itertools.product(values, repeat=2), *((value,) for value in values)]
    compare(jax, mode, flagged(jax.dtypes), flagged(dtypes), pairs)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_promote_types_of_all_pairs(jax, mode):
    specs = [*DTYPES, int, float, complex]
    theirs = jax.numpy.promote_types
    compare(jax, mode, theirs, dtypes.promote_types, itertools.product(specs, repeat=2))


@pytest.mark.parametrize("seed", range(5))
def test_result_types_of_three(jax, seed):
    values = [Typed(dtype, weak, jax) for dtype in DTYPES for weak in (False, True)]
    values += [True, 1, 1.0, 1j]
    rng = np.random.default_rng(seed)
    triples = [[values[i] for i in rng.integers(len(values), size=3)] for _ in range(1000)]
    compare(jax, (True, "standard"), jax.dtypes.result_type, dtypes.result_type, triples)


def test_subtypes(jax):
    abstract = [
        np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact,
        np.floating, np.complexfloating, np.bool_, np.void, np.character, int, float, bool, complex,
    ]  # fmt: skip
    for a, b in itertools.product([*DTYPES, dtypes.float0], [*DTYPES, *abstract]):
        assert dtypes.issubdtype(a, b) == jax.dtypes.issubdtype(a, b), (a, b)


def test_public_names(jax):
    names = {name for name in dir(jax.dtypes) if not name.startswith("_")}
    assert names - set(dtypes.__all__) == set()
