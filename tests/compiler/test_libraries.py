"""Foreign routines: both ways to find them lead to the same results, and neither imports SciPy."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from tapeless.compiler import libraries

PROGRAM = """
import sys
import numpy as np
import tapeless as jax
x = np.ones((200, 200), np.float32)
assert float(jax.jit(lambda x: x @ x)(x)[3, 4]) == 200
print("scipy" in sys.modules)
import scipy.linalg
print(scipy.linalg.inv(2 * np.eye(2))[0, 0])
"""


def product(address: int) -> np.ndarray:
    """Multiply two matrices of float64 by the routine at an address."""
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    c = np.zeros((2, 4))
    numbers = [ctypes.byref(ctypes.c_int(n)) for n in (4, 2, 3)]
    one, zero = ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0))
    columns, depth = ctypes.c_int(4), ctypes.c_int(3)
    routine = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(address)
    places = [ctypes.c_void_p(x.ctypes.data) for x in (b, a, c)]
    letter = ctypes.c_char_p(b"N")
    given = [letter, letter, *numbers, one, places[0], ctypes.byref(columns)]
    given += [places[1], ctypes.byref(depth), zero, places[2], ctypes.byref(columns)]
    routine(*[ctypes.cast(x, ctypes.c_void_p) for x in given])
    np.testing.assert_array_equal(a @ b, c)
    return c


def test_the_file_that_scipy_brings_and_the_modules_that_it_exports_agree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = product(libraries.routine_address("blas", "dgemm"))
    monkeypatch.setattr(libraries, "_shipped", lambda: None)
    np.testing.assert_array_equal(usual, product(libraries.routine_address("blas", "dgemm")))


@pytest.mark.parametrize("is_shipped", [True, False])
def test_an_unknown_routine_is_an_error(monkeypatch: pytest.MonkeyPatch, is_shipped: bool) -> None:
    if not is_shipped:
        monkeypatch.setattr(libraries, "_shipped", lambda: None)
    with pytest.raises(LookupError, match="no routine called nothing"):
        libraries.routine_address("lapack", "nothing")


@pytest.mark.skipif(libraries._shipped() is None, reason="SciPy's OpenBLAS is not in a wheel")
def test_products_do_not_import_scipy_and_leave_it_usable() -> None:
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["False", "0.5"]
