"""Complex numbers from their parts and back obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless.prims import parts
from tapeless.prims.binary import add, mul
from tests.support.harness import laws
from tests.support.records import COMPLEXES, Failure, Record, normal

REAL = ("float32", "float64")
RECORDS = [
    Record(
        "real",
        parts.real,
        (normal(2, 3),),
        COMPLEXES,
        errors=(
            Failure(
                (np.ones(3, np.float32),),
                TypeError,
                "real does not accept dtype float32. Accepted dtypes are subtypes of "
                "complexfloating.",
            ),
        ),
    ),
    Record("imag", parts.imag, (normal(2, 3),), COMPLEXES),
    Record("conj", parts.conj, (normal(2, 3),), COMPLEXES),
    Record("conj-real", parts.conj, (normal(2, 3),), REAL),
    Record(
        "complex",
        parts.complex,
        (normal(2, 3), normal(2, 3)),
        REAL,
    ),
    Record("complex-scalar", parts.complex, (normal(2, 3), normal()), REAL),
]
globals().update(laws(RECORDS))


def test_vjp_of_conj_conjugates_the_cotangent() -> None:
    """JAX's convention: the cotangent of a complex output is not conjugated."""
    z, ct = np.complex64(1 + 2j), np.complex64(3 + 4j)
    _, pullback = jax.vjp(parts.conj, z)
    assert complex(pullback(ct)[0]) == 3 - 4j


def test_gradient_of_a_modulus_squared_is_the_conjugate_doubled() -> None:
    """For f(z) = re(z) ** 2 + im(z) ** 2, JAX's gradient is 2 conj(z)."""

    def size(z: object) -> object:
        """Return |z| ** 2."""
        re, im = parts.real(z), parts.imag(z)
        return add(mul(re, re), mul(im, im))

    assert complex(jax.grad(size)(np.complex64(1 + 2j))) == 2 - 4j
