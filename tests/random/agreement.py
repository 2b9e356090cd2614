"""How draws are compared with JAX's, by the row of the table."""

import numpy as np

from tapeless import dtypes
from tests.random.table import ROWS

__all__ = ["check_agreement"]


def _real(x: np.ndarray) -> np.ndarray:
    """Return numbers in float64; complex ones as pairs."""
    if x.dtype.kind == "c":
        x = np.stack([x.real, x.imag], -1)
    return x.astype(np.float64)


def check_agreement(name: str, want: np.ndarray, got: np.ndarray) -> None:
    """Assert that draws agree as the row promises; in a small sample, one draw may be apart."""
    row = ROWS[name]
    assert (want.shape, want.dtype) == (got.shape, got.dtype)
    if row.is_exact(want.dtype.name):
        np.testing.assert_array_equal(got, want)
        return
    x, y = _real(got), _real(want)
    eps = float(dtypes.finfo(want.dtype).eps) if want.dtype.kind not in "iub" else 0.0
    with np.errstate(invalid="ignore"):  # both may be infinite
        distance = np.abs(x - y)
    far = ~((x == y) | (distance <= row.ulps * eps * np.maximum(1, np.abs(y))))
    allowed = max(1, row.apart * far.size) if row.agreement == "draws" else 0
    worst = np.nanmax(distance[far], initial=0.0)
    assert far.sum() <= allowed, f"{far.sum()} of {far.size} draws differ, by up to {worst}"
