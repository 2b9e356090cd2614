"""Draws are differentiable in the parameters that they depend on smoothly."""

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import random

KEY = random.key(3)


@pytest.mark.parametrize(
    ("draw", "at"),
    [
        (lambda a: random.uniform(KEY, (), minval=a, maxval=2.0), 0.5),
        (lambda a: random.truncated_normal(KEY, a, 2.0), -1.0),
        (lambda a: random.gamma(KEY, a), 2.5),
        (lambda a: random.gamma(KEY, a), 40.0),
        (lambda a: random.loggamma(KEY, a), 1.5),
        (lambda a: random.beta(KEY, a, 2.0), 1.5),
        (lambda a: random.dirichlet(KEY, a * np.ones(3))[0], 2.0),
        (lambda a: random.t(KEY, a), 4.0),
        (lambda a: random.pareto(KEY, a), 2.0),
        (lambda a: random.weibull_min(KEY, 1.0, a), 2.0),
    ],
)
def test_derivatives_are_those_of_the_quantile(draw: Callable, at: float) -> None:
    """A rejection sampler jumps; away from the jumps, its derivative is the path's.

    So the gamma family is compared by moments below, and here only in sign and size.
    """
    with jax.enable_x64(True):
        slope = float(jax.grad(draw)(at))
    assert np.isfinite(slope)
    assert slope != 0


def test_mean_of_gamma_derivatives_is_the_derivative_of_the_mean() -> None:
    """E[x] = a, so that E[dx/da] = 1; E[log x] has the derivative trigamma(a)."""
    a = 2.5
    for draw, expected in ((random.gamma, 1.0), (random.loggamma, 0.490358)):
        slopes = jax.jvp(lambda x, draw=draw: draw(KEY, x * np.ones(3000, "f4")), (a,), (1.0,))[1]
        assert abs(float(np.mean(slopes)) - expected) < 0.05


@pytest.mark.parametrize("a", [0.3, 1.0, 2.5, 30.0])
def test_gamma_derivative_is_that_of_the_quantile_function(a: float) -> None:
    from scipy import special

    quantiles = np.array([0.01, 0.2, 0.5, 0.9, 0.999])
    x = special.gammaincinv(a, quantiles)
    step = 1e-6
    expected = (
        special.gammaincinv(a + step, quantiles) - special.gammaincinv(a - step, quantiles)
    ) / (2 * step)
    with jax.enable_x64(True):
        found = jax.lax.random_gamma_grad(np.full(5, a), x)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
