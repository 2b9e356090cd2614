"""Calls of every function with other dtypes, shapes, axes and special values have NumPy's values.

The calls are those of `calls/*.txt`, varied by `tests/support/variations.py`; the values are those
of the function of the same name in NumPy or SciPy, as `tests/support/counterparts.py` compares
them.  Calls that NumPy refuses are passed over.  Functions that have JAX's values where these are
other ones than NumPy's are listed in `values_of_jax.txt` with the reason, what is neither's here;
nothing is listed in vain.
"""

from __future__ import annotations

import functools
import importlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tapeless
import tapeless.numpy
from tests.parity.test_calls import function_of
from tests.support import calls, counterparts, variations

pytestmark = pytest.mark.oracle

SHARE = 50  # of so many variations, one is tried in the short tests
PARTS = {"numpy": 12}  # modules of many functions are tested in parts
# Variations with other values than NumPy's and JAX's: a function, a part of the label, and why.
OTHERWISE = [
    ("numpy.partition", "special", "which elements are on a side is defined, their order is not"),
    ("numpy.argpartition", "special", "the same of places"),
    ("numpy.intersect1d", "all:bool", "elements repeat that are said not to"),
    ("numpy.polyfit", "", "the covariance of an exact fit is rounding errors"),
    ("numpy.nanquantile", "shape", "of nothing there are as many NaN as fractions"),
    ("numpy.nanpercentile", "shape", "of nothing there are as many NaN as fractions"),
    ("numpy.searchsorted", "special", "what is not in order has no place"),
    ("numpy.spacing", "all:float16", "has the sign of x, as that of wider floats has"),
    ("numpy.histogram", "int", "an edge beside an integer is rounded"),
    ("numpy.vecdot", "special", "infinities have other NaN parts in a complex product"),
    ("numpy.linalg.lstsq", "", "residuals are there, as in JAX; they are rounding errors"),
    ("numpy.linalg.vecdot", "special", "infinities have other NaN parts in a complex product"),
    ("numpy.linalg.slogdet", "special", "where the logarithm is NaN, the sign is"),
    ("scipy.signal.detrend", "", "a line through two points leaves rounding errors"),
    ("scipy.signal.fftconvolve", "shape", "of nothing it has extents"),
    ("scipy.special.gammaincc", "special", "of 1e30 and 1e30 no digits are left"),
    ("scipy.special.hyp1f1", "special", "at infinity there are limits"),
    ("scipy.special.hyp2f1", "special", "of infinities and 1e30 it is NaN; JAX's does not end"),
    ("scipy.special.log_softmax", "all:uint", "unsigned differences do not wrap around"),
    ("scipy.special.softmax", "all:uint", "differences of unsigned integers do not wrap around"),
    ("scipy.special.spence", "special", "at infinity there is a limit"),
    ("scipy.special.comb", "special", "the products of the largest integers overflow"),
    ("scipy.stats.beta.logpdf", "special", "parameters beyond their range are not looked for"),
    ("scipy.stats.beta.pdf", "special", "parameters beyond their range are not looked for"),
    ("scipy.stats.gamma.logcdf", "special", "of 1e30 and 1e30 no digits are left"),
    ("scipy.stats.gamma.logpdf", "special", "of 1e30 and 1e30 no digits are left"),
    ("scipy.stats.gamma.logsf", "special", "of 1e30 and 1e30 no digits are left"),
    ("scipy.stats.gamma.pdf", "special", "parameters beyond their range are not looked for"),
    ("scipy.stats.gamma.sf", "special", "of 1e30 and 1e30 no digits are left"),
    ("scipy.stats.laplace.cdf", "complex", "probabilities are real"),
    ("scipy.linalg.eigh_tridiagonal", "", "values are within tol"),
    ("scipy.linalg.funm", "", "the estimate of the error is rounding errors"),
    ("scipy.linalg.lu", "special", "what is not finite spreads, from element to element"),
    ("scipy.linalg.lu_factor", "special", "what is not finite spreads, from element to element"),
]

# Functions that have the values of JAX where NumPy has others.
AS_JAX = Path(__file__).with_name("values_of_jax.txt")


@functools.cache
def reasons() -> dict[str, str]:
    """Return why functions have other values than NumPy's where JAX has them, too."""
    lines = AS_JAX.read_text().splitlines()
    return {name: why for name, _, why in (line.partition(" | ") for line in lines)}


def otherwise(key: str, label: str) -> list[tuple[str, str, str]]:
    """Return the rows that list a function with neither's values in variations of this label."""
    return [row for row in OTHERWISE if row[0] == key and row[1] in label]


def is_in(module: str, part: int, name: str) -> bool:
    """Tell whether a function belongs to a part of its module, and has a counterpart."""
    place = zlib.crc32(name.encode()) % PARTS.get(module, 1)
    return place == part and counterparts.counterpart_of(module, name) is not None


def varied(module: str, part: int, share: int) -> Iterator[tuple[str, variations.Variation]]:
    """Yield variations of the functions of a part, with their names; of `share`, one."""
    for (owner, name), cases in calls.grouped().items():
        if owner != module or not is_in(module, part, name):
            continue
        ours = function_of("tapeless", module, name)
        for variation in (v for case in cases for v in variations.variations_of(case, ours)):
            if zlib.crc32(f"{variation.text} {variation.label}".encode()) % share == 0:
                yield name, variation


def difference_of(
    module: str, name: str, variation: variations.Variation
) -> tuple[str | None, bool]:
    """Tell what a varied call has otherwise than NumPy, and whether JAX has it, too.

    None if it is the same, or if NumPy refuses the call or we do.  JAX is not asked, as it need not
    end, of what has neither's values.
    """
    key, counterpart = f"{module}.{name}", counterparts.counterpart_of(module, name)
    try:
        expected = counterparts.outcome(variation, np, counterpart)
        found = counterparts.outcome(variation, tapeless, function_of("tapeless", module, name))
    except Exception:
        return None, False
    coarse = variation.label.partition(":")[2]
    signs = isinstance(counterpart, np.ufunc)
    words = counterparts.difference(key, found, expected, signs, coarse)
    if words is None:
        return None, False
    if key not in reasons() and otherwise(key, variation.label):
        return words, False
    jax: ModuleType = importlib.import_module("jax")
    try:
        wanted = counterparts.outcome(variation, jax, function_of("jax", module, name))
    except Exception as error:
        return f"{words}; in JAX {type(error).__name__}", False
    return words, counterparts.difference(key, found, wanted, False, coarse) is None


def check(module: str, part: int, share: int) -> set[tuple[str, str, str] | str]:
    """Compare varied calls of a part, of `share` of them one; return what was found as listed."""
    different, needed, known = [], set(), reasons()
    for name, variation in varied(module, part, share):
        words, is_of_jax = difference_of(module, name, variation)
        if words is None:
            continue
        if is_of_jax and f"{module}.{name}" in known:
            needed.add(f"{module}.{name}")
            continue
        listed = otherwise(f"{module}.{name}", variation.label)
        needed.update(listed)
        if not listed:
            different.append((variation.text, variation.label, variation.wide, words))
    assert not different
    return needed


MODULES = {key[0] for key in calls.grouped() if counterparts.counterpart_of(*key) is not None}
ALL_PARTS = [(name, part) for name in sorted(MODULES) for part in range(PARTS.get(name, 1))]


@pytest.mark.parametrize(("module", "part"), ALL_PARTS)
def test_some_varied_calls_have_the_values_of_numpy(module, part):
    check(module, part, SHARE)


@pytest.mark.slow
@pytest.mark.parametrize(("module", "part"), ALL_PARTS)
def test_all_varied_calls_have_the_values_of_numpy(module, part):
    rows = [(row, row[0]) for row in OTHERWISE] + [(name, name) for name in reasons()]
    split = [(row, *key.rpartition(".")[::2]) for row, key in rows]
    listed = {row for row, home, name in split if home == module and is_in(module, part, name)}
    assert check(module, part, 1) == listed


def test_most_functions_have_a_counterpart():
    keys = [key for key in calls.grouped() if key[0].partition(".")[0] in ("numpy", "scipy")]
    found = [key for key in keys if counterparts.counterpart_of(*key) is not None]
    assert len(found) > 500 and len(found) > 0.9 * len(keys)


@pytest.mark.parametrize(
    ("found", "expected", "words"),
    [
        (np.float32([1, 2]), np.float64([1, 2.1]), "not"),
        (np.float32([1, np.nan]), np.float64([1, 2]), "nan"),
        (np.float32([np.inf]), np.float64([1e300]), None),
        (np.float32([1, 2]), np.float32([1, np.inf]), "inf"),
        (np.float32([np.inf, 2]), np.float32([-np.inf, 2]), "inf"),
        (np.complex64([1 + 2j]), np.complex64([complex(np.inf, 2)]), "inf"),
        (np.complex64([complex(np.inf, 3)]), np.complex64([complex(np.inf, 2)]), "inf"),
        (np.float32([-0.0]), np.float32([0.0]), "sign"),
        (np.int8([44]), np.int64([300]), None),
        (np.int8([45]), np.int64([300]), "not"),
        (np.ones(2), np.ones((2, 1)), "shape"),
        ((np.ones(2), np.ones(2)), np.ones(2), "results"),
    ],
)
def test_differences_are_found(found, expected, words):
    told = counterparts.difference("numpy.add", found, expected, True)
    assert told is None if words is None else words in told
