"""Counterparts of public functions in NumPy and SciPy, and how near results have to be to theirs.

`outcome` calls a function, or its counterpart, with the operands of a variation of `variations`;
`difference` tells in words what is not the same in two results.  Compared are

    shapes
    integers         exactly; the narrower of two widths counts, for sums wrap around
    floats           NaNs and infinities by their places, the rest by a tolerance of the dtype
    zeros            by their signs, where the counterpart is one of NumPy's elementwise functions

A decomposition is defined up to signs, phases or the order of its parts: what is compared is what
`DEFINED_BY` makes of it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tapeless
from tests.support import calls, variations

__all__ = ["counterpart_of", "difference", "outcome"]

# Relative errors by the coarser of two dtypes; what is small is compared with the largest element.
TOLERANCES = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 5e-4, "float64": 1e-8}
WIDTHS = {"complex64": "float32", "complex128": "float64"}


def joined(u: np.ndarray, s: np.ndarray, vh: np.ndarray) -> np.ndarray:
    """Return the product of what a singular value decomposition gives."""
    k = s.shape[-1]
    return (u[..., :, :k] * s[..., None, :]) @ vh[..., :k, :]


def of_eigen(pair: Any) -> list[np.ndarray]:
    """Return the sorted values, and the matrix that pairs of values and vectors come from."""
    w, v = (np.asarray(part) for part in pair)
    return [np.sort_complex(w.astype(complex)), (v * w[..., None, :]) @ np.linalg.pinv(v)]


def of_svd(result: Any) -> list[np.ndarray]:
    """Return the singular values, and the matrix if there are vectors."""
    if not isinstance(result, tuple):
        return [np.asarray(result)]
    u, s, vh = (np.asarray(part) for part in result)
    return [s, joined(u, s, vh)]


def of_qr(result: Any) -> list[np.ndarray]:
    """Return the matrix; of a triangular factor alone, its square."""
    if not isinstance(result, tuple):
        r = np.asarray(result)
        return [np.swapaxes(r.conj(), -1, -2) @ r]
    q, r, *pivots = (np.asarray(part) for part in result)
    return [q @ r, *pivots]


def of_similar(result: Any) -> list[np.ndarray]:
    """Return the matrix that a triangular one, or one of Hessenberg's, is similar to."""
    if not isinstance(result, (tuple, list)):
        return []
    t, z = (np.asarray(part) for part in result)
    with np.errstate(all="ignore"):
        return [z @ t @ np.swapaxes(z.conj(), -1, -2)]


def in_order(result: Any) -> list[np.ndarray]:
    """Return values that have no order, sorted."""
    return [np.sort_complex(np.asarray(result).astype(complex))]


def of_symmetric(result: Any) -> list[np.ndarray]:
    """Return what eigenvalues, or pairs of these and vectors, are."""
    return of_eigen(result) if isinstance(result, tuple) else [np.asarray(result)]


def of_solution(result: Any) -> list[np.ndarray]:
    """Return what an iteration found, as exactly as it is wanted; not how it ended."""
    return [np.asarray(result[0]).astype("complex64")]


DEFINED_BY: dict[str, Callable[[Any], list[np.ndarray]]] = {
    "numpy.linalg.eig": of_eigen,
    "numpy.linalg.eigh": of_eigen,
    "numpy.linalg.eigvals": in_order,
    "numpy.linalg.svd": of_svd,
    "numpy.linalg.qr": of_qr,
    "numpy.roots": in_order,
    "scipy.linalg.eigh": of_symmetric,
    "scipy.linalg.qr": of_qr,
    "scipy.linalg.schur": of_similar,
    "scipy.linalg.rsf2csf": of_similar,
    "scipy.linalg.svd": of_svd,
    "scipy.sparse.linalg.bicgstab": of_solution,
    "scipy.sparse.linalg.cg": of_solution,
    "scipy.sparse.linalg.gmres": of_solution,
}


@functools.cache
def counterpart_of(module: str, name: str) -> Callable | None:
    """Return NumPy's or SciPy's function of a name, or None.

    >>> counterpart_of("numpy", "sum").__module__
    'numpy'
    """
    if module.partition(".")[0] not in ("numpy", "scipy"):
        return None
    try:
        home: Any = importlib.import_module(module)
    except ImportError:  # distributions are objects
        parent, _, last = module.rpartition(".")
        home = getattr(importlib.import_module(parent), last, None)
    return getattr(home, name, None)


def outcome(variation: variations.Variation, system: Any, function: Callable) -> Any:
    """Return what a function gives for a varied call; system: tapeless, the oracle, or NumPy."""
    names = {**calls.operands(tapeless), **variations.changed_operands(variation)}
    if system is np:
        names |= {"jnp": np, "jax": None, "lax": None}
    elif system is not tapeless:
        names |= {**calls.operands(system), **variations.changed_operands(variation)}
    wide = contextlib.nullcontext() if system is np else system.enable_x64(variation.wide)
    with np.errstate(all="ignore"), np.printoptions(), wide:
        with warnings.catch_warnings(action="ignore"):
            return eval(variation.text, {**names, variation.case.name: function})


def arrays_of(result: Any) -> list[Any]:
    """Return the arrays of a result, in order; what is no number as it is."""
    if isinstance(result, dict):
        return [each for key in sorted(result) for each in arrays_of(result[key])]
    if isinstance(result, (tuple, list)):
        return [each for item in result for each in arrays_of(item)]
    if result is None or isinstance(result, (str, type, np.dtype)) or callable(result):
        return []
    return [np.asarray(result)]


def tolerance_of(*dtypes: np.dtype) -> float:
    """Return the relative error that the coarsest of some dtypes may have."""
    names = (dtype.name for dtype in dtypes)
    return max(TOLERANCES.get(WIDTHS.get(name, name), 0.0) for name in names)


def difference(
    key: str, result: Any, expected: Any, signs: bool = False, coarse: str = "float64"
) -> str | None:
    """Tell what is not the same in a result and the counterpart's.

    signs: of zeros, too.  coarse: a dtype that operands have, the results may be of wider ones.
    """
    pair = [arrays_of(each) for each in (result, expected)]
    if key in DEFINED_BY:
        dtypes = [each.dtype for arrays in pair for each in arrays]
        names = [WIDTHS.get(dtype.name, dtype.name) for dtype in dtypes]
        coarse = max([coarse, *names], key=lambda name: TOLERANCES.get(name, 0.0))
        pair = [DEFINED_BY[key](each) for each in (result, expected)]
    if len(pair[0]) != len(pair[1]):
        return f"{len(pair[0])} results, not {len(pair[1])}"
    for x, y in zip(*pair, strict=True):
        if x.shape != y.shape:
            return f"shape {x.shape}, not {y.shape}"
        if words := difference_of_arrays(x, y, signs, coarse):
            return words
    return None


def difference_of_arrays(x: np.ndarray, y: np.ndarray, signs: bool, coarse: str) -> str | None:
    """Tell what is not the same in two arrays of one shape."""
    if y.dtype.kind in "OSUM" or not x.size:
        return None
    if x.dtype.kind in "biu" and y.dtype.kind in "biu":
        kind = x.dtype if y.dtype.kind != "b" else y.dtype
        same = x == y.astype(kind)
        return None if same.all() else f"{x[~same][:3]}, not {y[~same][:3]}"
    with np.errstate(all="ignore"):
        # What overflows in the narrower dtype of the two does so in both.
        real = y.real if x.dtype.kind != "c" and y.dtype.kind == "c" else y
        narrow = real.astype(x.dtype) if x.dtype.kind in "fcV" else real
        p, q = x.astype(complex), narrow.astype(complex)
    limit = max(tolerance_of(x.dtype, y.dtype), TOLERANCES.get(coarse, 0.0))
    finite = np.abs(q[np.isfinite(q)])
    room = limit * (finite.max() if finite.size else 0) / 10
    for a, b in ((p.real, q.real), (p.imag, q.imag)):
        with np.errstate(all="ignore"):
            size = np.where(np.isfinite(q), np.abs(q), np.abs(b))
            near = np.isfinite(b) & (np.abs(a - b) <= room + limit * size)
        same = near | (a == b) | (np.isnan(a) & np.isnan(b))
        if not same.all():
            return f"{x[~same][:3]}, not {y[~same][:3]}"
        if signs and x.dtype.kind == y.dtype.kind == "f":
            zeros = (a == 0) & (b == 0)
            if (np.signbit(a) != np.signbit(b))[zeros].any():
                return "zeros of another sign"
    return None
