"""Calls of every function of the libraries give what JAX gives.

The calls stand in `calls/*.txt`; `tests/meta/test_calls.py` says that they are complete.
Structure, shape, dtype, weakness and values are compared, and the class of errors.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tapeless
import tapeless.numpy
from tests.parity.expressions import numbers, summary
from tests.support import calls

# Calls whose results differ, by the reason.
DIFFERENT = {
    "group_offset=": "JAX fails as it hashes the array, we say that groups have no offset",
    '_to_all(x, "i", 0, 0, axis_index_groups=': "JAX refuses groups under vmap; here sizes, first",
    'psum_scatter(x, "i", axis_index_groups=': "JAX refuses groups under vmap; here sizes, first",
    'pswapaxes(x, "i", 0, axis_index_groups=': "JAX refuses groups under vmap; here sizes, first",
    "pcast(": "JAX refuses an axis of vmap; here nothing varies, and the operand is returned",
    "conv_general_dilated_patches(image, (2, 2), (1, 1), ((0, 1)": "JAX fails with a precision",
    "np.int32([1, 2]), out_sharding=sharding2": "ragged products have no sharding here",
    "glu(t, axis=1)": "JAX asserts; here ValueError says which size is odd",
    "array_repr(": "JAX writes the name of its own class, ArrayImpl",
    "subset_by_index=(0, 2)": "JAX has subsets on TPUs only",
    "polar(g, eps=": "JAX fails as it hashes a traced eps",
    "qdwh(": "a polar form comes from singular values here: there are no iterations to count",
    "bessel_jn(w, v=3)": "JAX's recurrence overflows to NaN",
}
# Those of SciPy's functions go to the long tests: most of their time is XLA's, compiling.
BY_NAME = [
    pytest.param(*key, id=".".join(key), marks=[pytest.mark.slow] * key[0].startswith("scipy"))
    for key in calls.grouped()
]


def function_of(system: str, module: str, name: str) -> Callable:
    """Return the function of a system."""
    return getattr(importlib.import_module(f"{system}.{module}"), name)


def outcome(case: calls.Case, names: dict[str, Any], function: Callable) -> Any:
    """Return the result of a call, or its error."""
    try:
        return calls.evaluate(case, names, function)
    except Exception as error:
        return error


def plain(value: Any) -> Any:
    """Return a result with NumPy's integers as Python's."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(plain(each) for each in value)
    return value


def assert_close(found: Any, expected: Any, tolerance: float) -> None:
    """Assert that the arrays of two results are near each other."""
    for x, y in zip(numbers(found), numbers(expected), strict=True):
        assert x.shape == y.shape
        if tapeless.numpy.issubdtype(x.dtype, np.number):
            bits = tapeless.numpy.finfo(x.dtype) if x.dtype.kind in "fcV" else None
            room = max(tolerance, 2 * float(bits.eps)) if bits else 0
            x, y = x.astype(complex), y.astype(complex)
            np.testing.assert_allclose(x, y, rtol=room, atol=room / 10)
        else:
            np.testing.assert_array_equal(x, y)


@pytest.mark.oracle
@pytest.mark.parametrize(("module", "name"), BY_NAME)
def test_calls_are_jaxs(module, name):
    jax: ModuleType = importlib.import_module("jax")
    ours, theirs = (function_of(system, module, name) for system in ("tapeless", "jax"))
    for case in calls.grouped()[module, name]:
        if any(text in case.text for text in DIFFERENT):
            continue
        expected = outcome(case, calls.operands(jax), theirs)
        found = outcome(case, calls.operands(tapeless), ours)
        assert isinstance(expected, Exception) == case.fails, f"in JAX: {expected!r}"
        if case.fails:
            assert type(found).__name__ == type(expected).__name__, found
            assert str(found)
        else:
            assert summary(plain(found)) == summary(plain(expected)), case.text
            assert_close(found, expected, 1e-4)
