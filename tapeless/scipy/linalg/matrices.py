"""Matrices of a given structure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.trace import Value
from tapeless.numpy.common import convert, promote_dtypes, promote_dtypes_inexact

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "pascal",
    "toeplitz",
]


def block_diag(*arrs: Any) -> Value:
    """Return the matrix with the given ones along its diagonal: (n, m), ... -> (sum n, sum m).

    >>> block_diag(1.0, jnp.array([[2.0, 3.0]]))
    Array([[1., 0., 0.],
           [0., 2., 3.]], dtype=float32)
    """
    if not arrs:
        arrs = (jnp.zeros((1, 0)),)
    values = [jnp.atleast_2d(x) for x in promote_dtypes(*arrs)]
    for position, x in enumerate(values):
        if x.ndim > 2:
            raise ValueError(
                f"Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got "
                f"{x} at argument {position}."
            )
    width = sum(x.shape[1] for x in values)
    rows, left = [], 0
    for x in values:
        rows.append(jnp.pad(x, ((0, 0), (left, width - left - x.shape[1]))))
        left += x.shape[1]
    return jnp.concatenate(rows)


def toeplitz(c: Any, r: Any = None) -> Value:
    """Return the matrix that is constant along diagonals: (n), (m) -> (n, m).

    c: the first column.  r: the first row, whose first element is ignored; by default the
    conjugate of c.

    >>> toeplitz(jnp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 1, 2],
           [3, 2, 1]], dtype=int32)
    """
    if r is None:
        c = jnp.atleast_1d(jnp.asarray(c))
        r = jnp.conj(c)
    c, r = (jnp.atleast_1d(x) for x in promote_dtypes(c, r))
    n, m = c.shape[-1], r.shape[-1]
    if n == 0 or m == 0:
        return jnp.empty((*c.shape[:-1], n, m), c.dtype)
    line = jnp.concatenate([jnp.flip(c, -1), r[..., 1:]], axis=-1)
    place = np.arange(m)[None, :] - np.arange(n)[:, None] + n - 1
    return convert(line[..., place], c.dtype)


def hankel(c: Any, r: Any = None) -> Value:
    """Return the matrix that is constant along antidiagonals: (n), (m) -> (n, m).

    c: the first column.  r: the last row, whose first element is ignored; by default zeros.

    >>> jax.scipy.linalg.hankel(jnp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 3, 0],
           [3, 0, 0]], dtype=int32)
    """
    c = jnp.atleast_1d(jnp.asarray(c))
    r = jnp.zeros_like(c) if r is None else r
    c, r = (jnp.ravel(x) for x in promote_dtypes(c, r))
    line = jnp.concatenate([c, r[1:]])
    return line[np.arange(c.shape[0])[:, None] + np.arange(r.shape[0])[None, :]]


def circulant(c: Any) -> Value:
    """Return the matrix whose columns are c, turned round by one more each: (n) -> (n, n).

    >>> jax.scipy.linalg.circulant(jnp.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int32)
    """
    c = jnp.atleast_1d(jnp.asarray(c))
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)[None, :]) % n]


def convolution_matrix(
    a: Any,
    n: int,
    mode: str = "full",
) -> Value:
    """Return the matrix whose product with a vector of length n is the convolution with `a`.

    a: (k,) -> (n + k - 1, n) for "full", (max(n, k), n) for "same", (|n - k| + 1, n) for
    "valid".
    mode: "full", "same" or "valid", as in `convolve`.

    >>> jax.scipy.linalg.convolution_matrix(jnp.array([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int32)
    """
    a = jnp.asarray(a)
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    if mode not in ("full", "same", "valid"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    if a.ndim == 0:
        raise ValueError("convolution_matrix: `a` must be at least 1-dimensional, got a scalar.")
    m = a.shape[-1]
    if m == 0:
        raise ValueError("len(a) must be at least 1.")
    zeros = jnp.zeros((*a.shape[:-1], n - 1), a.dtype)
    full = toeplitz(jnp.concatenate([a, zeros], -1), jnp.concatenate([a[..., :1], zeros], -1))
    if mode == "full":
        return full
    size = max(m, n) if mode == "same" else max(m, n) - min(m, n) + 1
    first = (full.shape[-2] - size) // 2
    return full[..., first : first + size, :]


def companion(a: Any) -> Value:
    """Return the matrix whose eigenvalues are the roots of a polynomial: (n) -> (n-1, n-1).

    >>> jax.scipy.linalg.companion(jnp.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (a,) = promote_dtypes_inexact(a)
    if a.ndim == 0 or a.shape[-1] < 2:
        raise ValueError(f"The length of `a` must be at least 2; got shape {a.shape}")
    n = a.shape[-1]
    first = -a[..., 1:] / a[..., :1]
    rest = jnp.broadcast_to(
        jnp.eye(
            n - 2,
            n - 1,
            dtype=a.dtype,
        ),
        (*a.shape[:-1], n - 2, n - 1),
    )
    return jnp.concatenate([first[..., None, :], rest], axis=-2)


def fiedler(a: Any) -> Value:
    """Return the matrix |a_i - a_j|: (n) -> (n, n).

    >>> jax.scipy.linalg.fiedler(jnp.array([1, 4]))
    Array([[0, 3],
           [3, 0]], dtype=int32)
    """
    a = jnp.atleast_1d(jnp.asarray(a))
    return jnp.abs(a[..., :, None] - a[..., None, :])


def fiedler_companion(a: Any) -> Value:
    """Return a matrix of five diagonals whose eigenvalues are the roots of a polynomial.

    a: (n + 1,) -> (n, n)

    >>> jax.scipy.linalg.fiedler_companion(jnp.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (a,) = promote_dtypes_inexact(a)
    if a.ndim != 1:
        raise ValueError("Input 'a' must be 1-D array.")
    if a.shape[0] <= 2:
        if a.shape[0] == 0:
            raise ValueError("fiedler_companion requires at least one coefficient, got none.")
        return jnp.array([[-(a / a[0])[1]]]) if a.shape[0] == 2 else jnp.zeros((0, 0), a.dtype)
    a = a / a[0]
    n = a.shape[0] - 1
    c = jnp.zeros((n, n), a.dtype)
    even, odd = (
        np.arange(
            0,
            n,
            2,
        ),
        np.arange(
            3,
            n,
            2,
        ),
    )
    ahead = even[even + 2 < n]
    c = c.at[ahead, ahead + 2].set(1).at[odd, odd - 2].set(1)
    beside = even[even + 1 < n]
    c = c.at[beside, beside + 1].set(-a[beside + 2])
    c = c.at[0, 0].set(-a[1]).at[1, 0].set(1)
    below = even[1:]
    return c.at[below, below - 1].set(-a[below + 1])


def hilbert(n: int) -> Value:
    """Return the matrix 1 / (i + j + 1).

    -> (n, n)

    >>> jax.scipy.linalg.hilbert(2).round(3)
    Array([[1.   , 0.5  ],
           [0.5  , 0.333]], dtype=float32)
    """
    i = jnp.arange(n, dtype=jnp.result_type(float))
    return 1 / (i[:, None] + i[None, :] + 1)


def invhilbert(n: int) -> Value:
    """Return the inverse of `hilbert(n)`, whose elements are integers.

    -> (n, n)

    >>> jax.scipy.linalg.invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    values = [
        [
            _inverse_hilbert(
                n,
                i,
                j,
            )
            for j in range(n)
        ]
        for i in range(n)
    ]
    return jnp.asarray(np.array(values, float))


def _inverse_hilbert(
    n: int,
    i: int,
    j: int,
) -> int:
    """Return one element of the inverse of the Hilbert matrix."""
    signed = (-1) ** (i + j) * (i + j + 1)
    return (
        signed
        * math.comb(n + i, n - j - 1)
        * math.comb(n + j, n - i - 1)
        * math.comb(i + j, i) ** 2
    )


def hadamard(n: int, dtype: Any = int) -> Value:
    """Return the matrix of 1 and -1 with orthogonal rows, of a size n that is a power of 2.

    -> (n, n)

    >>> jax.scipy.linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    if n < 1 or n & (n - 1):
        raise ValueError(f"n must be a positive integer and a power of 2; got n={n}")
    i = np.arange(n)
    overlap = i[:, None] & i[None, :]
    bits = np.zeros_like(overlap)
    while overlap.any():
        bits, overlap = bits + (overlap & 1), overlap >> 1
    return jnp.asarray(1 - 2 * (bits % 2), dtype=dtype)


def helmert(n: int, full: bool = False) -> Value:
    """Return the Helmert matrix of contrasts: (n-1, n), or with `full` (n, n).

    -> (n - 1, n); (n, n) if full.

    >>> jax.scipy.linalg.helmert(3).round(3)
    Array([[ 0.707, -0.707,  0.   ],
           [ 0.408,  0.408, -0.816]], dtype=float32)
    """
    i = np.arange(n)[:, None]
    j = np.arange(n)[None, :]
    size = np.sqrt(
        np.where(
            i == 0,
            n,
            i * (i + 1.0),
        )
    )
    values = (
        np.where(
            i == 0,
            1.0,
            np.where(
                j < i,
                1.0,
                np.where(
                    j == i,
                    -i,
                    0.0,
                ),
            ),
        )
        / size
    )
    return jnp.asarray(values if full else values[1:])


def pascal(n: int, kind: str | None = None) -> Value:
    """Return the matrix of binomial coefficients.  kind: "symmetric", "lower" or "upper".

    -> (n, n)

    >>> jax.scipy.linalg.pascal(3)
    Array([[1., 1., 1.],
           [1., 2., 3.],
           [1., 3., 6.]], dtype=float32)
    """
    kind = "symmetric" if kind is None else kind
    if kind not in ("symmetric", "lower", "upper"):
        raise ValueError("Expected kind to be on of: {'symmetric', 'lower', 'upper'}")
    if kind == "symmetric":
        values = [[math.comb(i + j, i) for j in range(n)] for i in range(n)]
    else:
        values = [[math.comb(i, j) for j in range(n)] for i in range(n)]
    matrix = jnp.asarray(np.array(values, float).reshape(n, n))
    return matrix.T if kind == "upper" else matrix


def invpascal(n: int, kind: str | None = None) -> Value:
    """Return the inverse of `pascal(n, kind)`.

    -> (n, n)

    >>> jax.scipy.linalg.invpascal(3)
    Array([[ 3., -3.,  1.],
           [-3.,  5., -2.],
           [ 1., -2.,  1.]], dtype=float32)
    """
    kind = "symmetric" if kind is None else kind
    sign = np.fromfunction(lambda i, j: (-1.0) ** (i + j), (n, n))
    if kind == "symmetric":
        lower = pascal(n, "lower") * sign
        return lower.T @ lower
    return pascal(n, kind) * sign


def leslie(f: Any, s: Any) -> Value:
    """Return the matrix of births f in the first row, survivals s below: (n), (n-1) -> (n, n).

    >>> jax.scipy.linalg.leslie(jnp.array([0.0, 2.0]), jnp.array([0.5]))
    Array([[0. , 2. ],
           [0.5, 0. ]], dtype=float32)
    """
    f, s = promote_dtypes(*(jnp.atleast_1d(jnp.asarray(each)) for each in (f, s)))
    if f.shape[-1] != s.shape[-1] + 1:
        raise ValueError("Incorrect lengths for f and s: f must be one longer than s")
    n = f.shape[-1]
    first = jnp.concatenate([f[..., None, :], jnp.zeros((*f.shape[:-1], n - 1, n), f.dtype)], -2)
    rows = np.arange(n - 1)
    return first.at[..., rows + 1, rows].set(s)


def dft(
    n: int,
    scale: str | None = None,
    *,
    dtype: Any = None,
) -> Value:
    """Return the matrix of the discrete Fourier transform.  scale: None, "sqrtn" or "n".

    -> (n, n), complex.

    >>> jax.scipy.linalg.dft(2).real
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; {scale!r} is not valid.")
    power = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    angle = -2 * np.pi * power / max(n, 1)
    divisor = {None: 1.0, "sqrtn": math.sqrt(n), "n": n}[scale]
    matrix = jnp.asarray((np.cos(angle) + 1j * np.sin(angle)) / divisor)
    return matrix if dtype is None else lax.convert_element_type(matrix, dtype)
