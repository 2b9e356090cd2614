"""Short recipes: every argument of 16 bits, compared with doubles."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special

from tapeless.kernel.halves import HALVES
from tests.kernel.accuracy import run_native, run_recipe

BRAIN = np.dtype(ml_dtypes.bfloat16)
EXACT = {
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "logistic": scipy.special.expit,
    "tanh": np.tanh,
}
every_format = pytest.mark.parametrize("dtype", [np.dtype(np.float16), BRAIN], ids=str)


def everything(dtype: np.dtype) -> np.ndarray:
    """All numbers of a format of 16 bits, NaN and infinities included."""
    return np.arange(1 << 16, dtype=np.uint16).view(dtype)


@pytest.mark.parametrize("name", HALVES)
@every_format
def test_every_argument_is_within_054_ulp(name: str, dtype: np.dtype) -> None:
    x = everything(dtype)
    result = run_native(name, x)
    with np.errstate(invalid="ignore"):  # NaNs that signal
        exact = EXACT[name](x.astype(np.float64))
    info = ml_dtypes.finfo(dtype)
    exponent = np.maximum(np.frexp(exact)[1] - 1, info.minexp)
    unit = np.ldexp(1.0, exponent - info.nmant)
    usual = np.isfinite(exact)
    found = np.abs(result[usual].astype(np.float64) - exact[usual]) / unit[usual]
    worst = found.argmax()
    assert found[worst] <= 0.54, f"{name}({x[usual][worst]}) is {found[worst]:.3f} ulp off"
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    zero = (exact == 0) & (x == 0)
    np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(exact[zero]))


@pytest.mark.parametrize("name", HALVES)
@every_format
def test_compiled_code_and_the_recipe_agree(name: str, dtype: np.dtype) -> None:
    x = everything(dtype)
    with np.errstate(all="ignore"):
        expected = run_recipe(name, x)
    with np.errstate(invalid="ignore"):
        actual, expected = (y.astype(np.float32) for y in (run_native(name, x), expected))
    np.testing.assert_array_equal(actual, expected)
