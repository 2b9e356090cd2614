"""Calls of every function that NumPy and SciPy lack, or refuse, have JAX's values.

The calls are those of `calls/*.txt`, varied by `tests/support/variations.py`: other dtypes, extents
of 0 and 1, special values, axes, numbers of Python.  `test_values.py` compares what NumPy or SciPy
can be asked for; here is the rest: `lax`, `nn`, `ops` and `image`, and calls such as those of
bfloat16.  They run on both sides, some of them in the short tests, all in the long ones.  A call
that JAX refuses is passed over, as `test_variations.py` compares the classes of errors; one that is
refused here only is a difference.  What is otherwise is listed with the reason.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

import tapeless
import tapeless.numpy
from tests.parity.test_calls import function_of
from tests.parity.test_variations import is_listed
from tests.support import calls, counterparts, variations

pytestmark = pytest.mark.oracle

SHARE = 100  # of so many variations, one is tried in the short tests
PARTS = {"lax": 12, "numpy": 8, "nn": 2}  # modules of many functions are tested in parts
# Variations with other values than JAX's: a function, a part of the label, and why.
OTHERWISE = [
    ("image.scale_and_translate", "64", "JAX and we have weights of the width of the scale"),
    ("image.scale_and_translate", "128", "JAX and we have weights of the width of the scale"),
    ("nn.dot_product_attention", "complex", "JAX drops the imaginary parts of the scores"),
    ("nn.dot_product_attention", "", "scores are float32; no elements have no scale"),
    ("nn.softmax", "uint", "differences of unsigned integers do not wrap around"),
    ("nn.log_softmax", "uint", "differences of unsigned integers do not wrap around"),
    ("nn.standardize", "uint", "the negative of an unsigned integer does not wrap around"),
    ("nn.standardize", "first:", "the mean that is given is float32"),
    ("linalg.", "special", "what is not finite spreads, from element to element"),
    ("linalg.cholesky", "complex", "what is no factor is NaN in its real parts"),
    ("linalg.lstsq", "", "residuals of exact solutions are rounding errors"),
    ("lax.conv_transpose", "special", "holes between elements are zeros: with infinities, NaN"),
    ("lax.convert_element_type", "special", "JAX leaves numbers of NumPy to NumPy"),
    ("lax.digamma", "special", "of -0.0 it is inf, as SciPy's"),
    ("lax.gather", "uint", "-1 is no unsigned number"),
    ("numpy.take", "uint", "-1 is no unsigned number"),
    ("lax.igamma", "special", "of 1e30 and 1e30 no digits are left"),
    ("lax.polynomial", "uint", "negative numbers become unsigned ones by NumPy in JAX"),
    ("lax.zeta", "special", "at infinity there is a limit"),
    ("numpy.histogram", "int", "an edge beside an integer is rounded"),
    ("numpy.cov", "shape", "there are more weights than samples"),
    ("numpy.put", "all:bool", "as an index of booleans"),
    ("numpy.searchsorted", "", "what is not in order has no place"),
    ("numpy.unique", "shape", "as many as are asked for, of no elements too"),
    ("scipy.linalg.eigh_tridiagonal", "", "values are within tol"),
    ("scipy.signal.detrend", "", "a line through two points leaves rounding errors"),
    ("scipy.ndimage.map_coordinates", "bool", "open: sums of weighted booleans are not JAX's"),
    ("scipy.ndimage.map_coordinates", "special", "open: a NaN that has no weight does not count"),
    ("scipy.sparse.linalg.cg", "complex", "open: with a preconditioner other steps end it"),
    ("scipy.stats.cauchy", "complex", "quantiles are real"),
    ("scipy.special.bessel_jn", "", "JAX's recurrence overflows to NaN"),
]
# Functions that fill as is asked for where there are no elements; JAX fills with zeros.
FILLED = ("nonzero(", "where(")


def is_for_numpy(module: str, name: str, variation: variations.Variation) -> bool:
    """Tell whether NumPy or SciPy takes a varied call."""
    counterpart = counterparts.counterpart_of(module, name)
    if counterpart is None:
        return False
    try:
        counterparts.outcome(variation, np, counterpart)
    except Exception:
        return False
    return True


def is_in(module: str, part: int, name: str) -> bool:
    """Tell whether a function belongs to a part of its module."""
    return zlib.crc32(name.encode()) % PARTS.get(module, 1) == part


def varied(module: str, part: int, share: int) -> Iterator[tuple[str, variations.Variation]]:
    """Yield variations of the functions of a part, with their names; of `share`, one."""
    for (owner, name), cases in calls.grouped().items():
        if owner != module or not is_in(module, part, name):
            continue
        ours = function_of("tapeless", module, name)
        for variation in (v for case in cases for v in variations.variations_of(case, ours)):
            text = f"{variation.text} {variation.label} {variation.wide}"
            if zlib.crc32(text.encode()) % share == 0 and not is_for_numpy(module, name, variation):
                yield name, variation


def difference_of(module: str, name: str, variation: variations.Variation) -> str | None:
    """Tell what a varied call has otherwise than JAX; None of what JAX refuses.

    Numbers of 64 bits need only be near: many of the tables are of 32 bits.
    """
    jax: ModuleType = importlib.import_module("jax")
    try:
        expected = counterparts.outcome(variation, jax, function_of("jax", module, name))
        counterparts.arrays_of(expected)
    except Exception:
        return None
    try:
        found = counterparts.outcome(variation, tapeless, function_of("tapeless", module, name))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    coarse = "float32" if variation.wide else variation.label.partition(":")[2]
    return counterparts.difference(f"{module}.{name}", found, expected, False, coarse)


def is_otherwise(module: str, name: str, variation: variations.Variation) -> bool:
    """Tell whether a variation is listed, here or with its types."""
    key = f"{module}.{name}"
    return (
        any(row[0] in key and row[1] in variation.label for row in OTHERWISE)
        or any(text in variation.text for text in FILLED)
        and "fill_value" in variation.text
        or is_listed(variation)
    )


def check(module: str, part: int, share: int) -> None:
    """Compare varied calls of a part of a module; of `share` of them, one."""
    different = []
    for name, variation in varied(module, part, share):
        if is_otherwise(module, name, variation):
            continue
        if words := difference_of(module, name, variation):
            different.append((variation.text, variation.label, variation.wide, words))
    assert not different


MODULES = sorted({module for module, _ in calls.grouped()})
ALL_PARTS = [(name, part) for name in MODULES for part in range(PARTS.get(name, 1))]


@pytest.mark.parametrize("module", MODULES)
def test_some_varied_calls_have_the_values_of_jax(module):
    for part in range(PARTS.get(module, 1)):
        check(module, part, SHARE)


@pytest.mark.slow
@pytest.mark.parametrize(("module", "part"), ALL_PARTS)
def test_all_varied_calls_have_the_values_of_jax(module, part):
    check(module, part, 1)
