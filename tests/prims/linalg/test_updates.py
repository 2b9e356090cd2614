"""Symmetric products, updated factors, and the polar decomposition."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest
from scipy import linalg as scipy_linalg

import tapeless as jax
from tapeless import lax
from tests.parity.expressions import check_error_class, check_value
from tests.support.against_numpy import normal as draw
from tests.support.against_numpy import slope_error
from tests.support.harness import laws
from tests.support.records import Record, normal

DOUBLE = ("float32", "float64")
EMPTY = {"empty": "the operands' extents depend on each other"}


def factor(dtype, generator):
    """Draw an upper triangular matrix far from singular."""
    return (np.triu(generator.normal(size=(3, 3))) / 3 + 2 * np.eye(3)).astype(dtype)


RECORDS = [
    Record(
        "symmetric_product",
        lambda a, c: lax.linalg.symmetric_product(a, c, alpha=2.0, beta=0.5),
        (normal(3, 4), normal(3, 3)),
        DOUBLE,
        EMPTY,
        ulps=32.0,
    ),
    Record(
        "cholesky_update",
        lax.linalg.cholesky_update,
        (factor, normal(3)),
        DOUBLE,
        EMPTY,
        ulps=64.0,
    ),
]
globals().update(laws(RECORDS))


def test_symmetric_output():
    a, c = draw(3, 4), np.arange(9.0).reshape(3, 3).astype("float32")
    plain = lax.linalg.symmetric_product(a, c, beta=2.0)
    np.testing.assert_allclose(plain, a @ a.T + 2 * c, rtol=1e-5)
    copied = lax.linalg.symmetric_product(a, c, beta=2.0, symmetrize_output=True)
    np.testing.assert_allclose(copied, np.tril(plain) + np.tril(plain, -1).T, rtol=1e-6)


def test_the_updated_factor_is_of_the_sum():
    w = draw(4)
    r = np.triu(draw(4, 4)) + 3 * np.eye(4, dtype="float32")
    found = lax.linalg.cholesky_update(r + np.tril(draw(4, 4), -1), w)
    np.testing.assert_allclose(found.T @ found, r.T @ r + np.outer(w, w), rtol=1e-5, atol=1e-5)
    assert np.abs(np.tril(found, -1)).max() == 0
    assert np.diag(found).min() > 0


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (1, 1), (3, 0)], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_polar_decompositions_are_scipys(dtype, shape):
    with jax.enable_x64(True):
        x = draw(*shape, dtype=dtype)
        u, h, _, is_converged = lax.linalg.qdwh(x)
    assert is_converged
    if x.size:
        expected = scipy_linalg.polar(x)
        np.testing.assert_allclose(u, expected[0], atol=1e-12)
        np.testing.assert_allclose(h, expected[1], atol=1e-12)


def test_polar_decomposition_of_a_part_and_of_zero():
    x = draw(4, 3)
    u, h, _, _ = lax.linalg.qdwh(x, dynamic_shape=(3, 2))
    part = lax.linalg.qdwh(x[:3, :2], is_hermitian=False, max_iterations=9, eps=1e-6)
    np.testing.assert_allclose(u[:3, :2], part[0], atol=1e-5)
    np.testing.assert_allclose(h[:2, :2], part[1], atol=1e-5)
    assert np.abs(u[3:]).max() == np.abs(h[2]).max() == 0
    assert np.abs(lax.linalg.qdwh(np.zeros((2, 2)))[0]).max() == 0


def test_polar_gradients_match_differences():
    def polar(x):
        return jax.numpy.stack(lax.linalg.qdwh(x)[:2]) ** 2

    with jax.enable_x64(True):
        assert slope_error(polar, draw(3, 3, dtype="float64") + 2 * np.eye(3)) < 1e-6


NAMES = {"a": draw(3, 4), "e": np.eye(3, dtype="float32"), "w": draw(3)}
L = "jax.lax.linalg"
VALUES = [
    f"{L}.symmetric_product(a, e, alpha=2.0, beta=3.0)",
    f"{L}.symmetric_product(a[None], e[None])",
    f"{L}.cholesky_update(e, w)",
    f"{L}.qdwh(a.T)[:2]",
    f"{L}.qdwh(e, is_hermitian=True)[0]",
    f"{L}.qdwh(a)",
    f"{L}.symmetric_product(w, e)",
    f"{L}.symmetric_product(a[None], e)",
    f"{L}.symmetric_product(a + 0j, e + 0j)",
    f"{L}.cholesky_update(e, a[0])",
    f"{L}.cholesky_update(e.astype('float16'), w.astype('float16'))",
]
ERRORS = [
    f"{L}.symmetric_product(a, np.ones((4, 4), 'float32'))",
    f"{L}.cholesky_update(e[None], w[None])",
    f"{L}.qdwh(e[None])",
    f"{L}.qdwh(e.astype(int))",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, NAMES)


@pytest.mark.oracle
@pytest.mark.parametrize("text", ERRORS)
def test_error_is_of_jaxs_class(oracle, text):
    check_error_class(jax, oracle, text, NAMES)
