"""Calls of every function with other dtypes, shapes, axes and Python's numbers have JAX's types.

The calls are those of `calls/*.txt`, varied by `tests/support/variations.py`: some of them here,
all in the long tests.  They are staged, not run: what is compared is structure, shape, dtype,
weakness, and which calls are refused.  A call that JAX refuses may be taken here, and an error that
tells of the inside of JAX (an index into a list of axes) may be a TypeError or ValueError that
tells of the call.
"""

from __future__ import annotations

import contextlib
import importlib
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tapeless
import tapeless.numpy
from tests.parity.expressions import summary
from tests.parity.test_calls import DIFFERENT, function_of, plain
from tests.support import calls, variations

pytestmark = pytest.mark.oracle

# Variations that are tried in the short tests, whatever their number: they once were otherwise.
PINNED = Path(__file__).with_name("pinned_variations.txt")
SHARE = 150  # of so many variations, one is tried in the short tests
INSIDE = {"IndexError", "AssertionError", "ZeroDivisionError", "AttributeError", "KeyError"}
# Errors of values that only a call that runs has.
CONCRETE = ("Concretization", "TracerArray", "TracerBool", "TracerInteger", "NonConcrete")
# Variations with another outcome than JAX's: a part of the call, a part of the label, and why.
OTHERWISE = [
    ("vector_norm(", "", "norms of integers are floats, as NumPy's; JAX truncates roots"),
    ("fft(", "axis=None", "JAX transforms the last axis; NumPy and we refuse"),
    ("hfft(", "shape", "JAX fails as it runs"),
    ("irfft", "shape", "JAX fails as it runs"),
    ("argm", "complex", "JAX fails as it compares"),
    ("nanarg", "complex", "JAX fails as it compares"),
    ("cov(", "shape", "weights of another length than the samples; float16 of no samples"),
    ("cumulative_", ":", "narrow integers are widened, as the array API standard has it"),
    (".reduce(", "shape", "a user's function has no neutral element"),
    ("cumlogsumexp(", "int", "JAX has -inf as an integer, which is arbitrary"),
    ("in_dim(", "axis=1.5", "an axis is an integer"),
    ("custom_linear_solve(", "", "a solution has the dtype that the solver returns"),
    ("index_take(", "", "JAX takes bools for indices"),
    ("lax.reshape(", "", "sizes are checked"),
    ("reshape(", "", "sizes are checked; JAX does so when it runs"),
    ("cholesky(s", "", "JAX makes integers floats where it symmetrizes"),
    ("eigh(s", "", "JAX makes integers floats where it symmetrizes"),
    ("dot_product_attention(", "", "no elements have no scale; residuals are floats"),
    ("segment_", "", "ids are integers of the shape of the leading axes"),
    ("erfcx(", "complex", "real numbers only"),
    ("gamma(", "complex", "real numbers only"),
    ("owens_t(", "", "real numbers only; halves stay halves"),
    ("circulant(", "", "takes vectors"),
    ("fiedler_companion(", "", "takes vectors"),
    ("eigh_tridiagonal(", "shape", "has as many eigenvalues as the diagonal has elements"),
    ("random_gamma_grad(", "python", "is strong"),
    ("size=7, fill_value=-1", "shape", "has as many counts as values"),
    ("unravel_index(", "float", "JAX divides floating numbers"),
    ("unravel_index(", "bool", "JAX divides truth values"),
    ("pmf(j", "all:bool", "is weak of truth values and Python's parameters"),
    ("sf(x", "all:bool", "is weak of truth values and Python's parameters"),
    ("logcdf(", "all:bool", "is strong of truth values and Python's parameters"),
    ("cdf(j, 2.5", "", "is strong of scalars"),
    ("standardize(", "int", "integers become floats before the mean is subtracted"),
    ("sph_harm_y(", "32", "orders do not widen the angles"),
    ("var(", "dtype='int8'", "JAX wraps around; std refuses"),
    ("take(", "all:bool", "JAX takes bools for indices"),
    ("istft(", "shape", "is as long as SciPy's; JAX leaves out the last segment's end"),
    ("dctn(", "python", "is floating, of no axes too"),
    ("nanquantile(", "shape", "of no elements there are as many NaN as fractions"),
    ("nanpercentile(", "shape", "of no elements there are as many NaN as fractions"),
    ("take(x, j", "shape", "no indices into an empty axis keep their shape, as in NumPy"),
    ("pmean(", "int32", "JAX divides by a float32 in x64 mode too"),
    ("full_like(", "python", "an array with a sharding is strong"),
    ("hessenberg(", "shape", "JAX has a vector of -1 elements"),
    ("subset_by_index", "shape", "JAX has as many values as the matrix"),
    ("softmax(", "int32", "JAX's mean of integers is float64 in x64 mode"),
    ("sph_harm_y(", "int64", "orders do not widen the angles"),
    ("sf(x, loc=0.5", "int", "is weak of arrays of integers and Python's parameters"),
    ("logcdf(1 + u, 2.0", "int", "is strong of arrays of integers and Python's parameters"),
    ("logcdf(x, 2.0", "int", "is strong of arrays of integers and Python's parameters"),
]


def staged(system: ModuleType, variation: variations.Variation, function: Callable) -> Any:
    """Return structure and types of the result of a varied call, or its error."""
    names, found = calls.operands(system), []

    def run(operands: dict[str, Any]) -> int:
        """Note what the call gives."""
        text, own = variation.text, {variation.case.name: function}
        found.append(summary(plain(eval(text, {**names, **operands, **own}))))
        return 0

    with contextlib.ExitStack() as stack, np.errstate(all="ignore"):
        stack.enter_context(warnings.catch_warnings(action="ignore"))
        if variation.wide:
            stack.enter_context(system.enable_x64(True))
        try:
            system.eval_shape(run, variations.changed_operands(variation))
        except Exception as error:
            return error
    return found[0]


def agree(found: Any, expected: Any) -> bool:
    """Tell whether two outcomes are the same, or JAX refuses what is taken here."""
    if not isinstance(expected, Exception):
        return not isinstance(found, Exception) and found == expected
    names = [type(error).__name__ for error in (found, expected)]
    return (
        not isinstance(found, Exception)
        or names[0] == names[1]
        or names[1].startswith(CONCRETE)
        or isinstance(found, (TypeError, ValueError))
        and (names[1] in INSIDE or isinstance(expected, (TypeError, ValueError)))
    )


def is_listed(variation: variations.Variation) -> bool:
    """Tell whether a variation is known to have another outcome."""
    if any(text in variation.case.text for text in DIFFERENT):
        return True
    return any(call in variation.text and part in variation.label for call, part, _ in OTHERWISE)


def pinned() -> set[tuple[str, str]]:
    """Return calls and labels of the variations that are always tried."""
    lines = PINNED.read_text().splitlines()
    return {(call, label) for call, _, label in (line.partition(" | ") for line in lines)}


def check(module: str, share: int) -> None:
    """Compare the variations of the functions of a module; of `share` of them, one."""
    jax: ModuleType = importlib.import_module("jax")
    different, always = [], pinned()
    for (owner, name), cases in calls.grouped().items():
        if owner != module:
            continue
        ours, theirs = (function_of(system, module, name) for system in ("tapeless", "jax"))
        for variation in (v for case in cases for v in variations.variations_of(case, ours)):
            chosen = zlib.crc32(f"{variation.text} {variation.label}".encode()) % share == 0
            chosen = chosen or (variation.text, variation.label) in always
            if not chosen or is_listed(variation):
                continue
            outcomes = staged(tapeless, variation, ours), staged(jax, variation, theirs)
            if not agree(*outcomes):
                different.append((variation.text, variation.label, variation.wide, *outcomes))
    assert not different


MODULES = sorted({module for module, _ in calls.grouped()})


@pytest.mark.parametrize("module", MODULES)
def test_some_varied_calls_have_the_types_of_jax(module):
    check(module, SHARE)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_all_varied_calls_have_the_types_of_jax(module):
    check(module, 1)


def test_calls_are_varied():
    labels = {
        label
        for (module, name), cases in calls.grouped().items()
        if module == "numpy"
        for case in cases
        for label, _ in variations.labels_of(case, function_of("tapeless", module, name))
    }
    assert {"all:int8", "first:complex64", "shape:tail0", "python", "axis=-1"} <= labels
    assert len(labels) > 30
