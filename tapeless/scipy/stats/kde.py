"""Densities estimated by Gaussian kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapeless import lax, random
from tapeless import numpy as jnp
from tapeless.api.vmap import vmap
from tapeless.core.trace import Value
from tapeless.numpy.common import promote_args_inexact
from tapeless.scipy import special
from tapeless.tree.registry import register_pytree_node_class

__all__ = ["gaussian_kde"]


@register_pytree_node_class
class gaussian_kde:  # noqa: N801 - the name is SciPy's
    """A density: the mean of normal densities around the points of a sample.

    dataset: (d, n) or (n).  bw_method: "scott" (n**(-1/(d+4))), "silverman", a number, a function
    of the estimate; it scales the covariance of the sample.  weights: (n), of the points.
    """

    def __init__(
        self,
        dataset: Any,
        bw_method: Any = None,
        weights: Any = None,
    ) -> None:
        """Estimate the covariance."""
        (sample,) = promote_args_inexact("gaussian_kde", dataset)
        if jnp.iscomplexobj(sample):
            raise NotImplementedError("gaussian_kde does not support complex data")
        self.dataset = jnp.atleast_2d(sample)
        d, n = self.dataset.shape
        if n < 2:
            raise ValueError("`dataset` input should have multiple elements.")
        if weights is None:
            self.weights = jnp.full((n,), 1.0 / n, self.dataset.dtype)
        else:
            (given,) = promote_args_inexact("gaussian_kde", weights)
            given = jnp.atleast_1d(given)
            if given.ndim != 1 or given.shape[0] != n:
                raise ValueError("`weights` input should be one-dimensional of the sample's size.")
            self.weights = (given / given.sum()).astype(self.dataset.dtype)
        self._factor = _factor(self, bw_method)
        if callable(bw_method):
            self._factor = bw_method(self)
        covariance = jnp.atleast_2d(
            jnp.cov(self.dataset, rowvar=True, bias=False, aweights=self.weights)
        )
        self.inv_cov = jnp.linalg.inv(covariance) / self._factor**2
        self.covariance = covariance * self._factor**2

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    @property
    def neff(self) -> Value:
        """The effective number of points."""
        return 1 / jnp.sum(self.weights**2)

    @property
    def factor(self) -> Value:
        """The factor of the bandwidth."""
        return self._factor

    def tree_flatten(self) -> tuple[tuple, None]:
        """Return the arrays of the estimate."""
        return (self.dataset, self.weights, self.covariance, self.inv_cov, self._factor), None

    @classmethod
    def tree_unflatten(
        cls,
        aux_data: None,
        children: tuple,
    ) -> gaussian_kde:
        """Return the estimate of these arrays."""
        self = object.__new__(cls)
        self.dataset, self.weights, self.covariance, self.inv_cov, self._factor = children
        return self

    def evaluate(self, points: Any) -> Value:
        """Return the density at points: (d, m) -> (m)."""
        return jnp.exp(self.logpdf(points))

    def __call__(self, points: Any) -> Value:
        """Return the density at points: (d, m) -> (m)."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Value:
        """Return the density at points: (d, m) -> (m)."""
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Value:
        """Return the logarithm of the density at points: (d, m) -> (m)."""
        points = self._points(x)
        whiten = jnp.linalg.cholesky(self.inv_cov)
        log_normal = jnp.log(jnp.diagonal(whiten)).sum() - 0.5 * self.d * math.log(2 * math.pi)
        sample = whiten.T @ self.dataset

        def one(point: Value) -> Value:
            """Return the log density at one point."""
            gaps = sample - (whiten.T @ point)[:, None]
            return special.logsumexp(-0.5 * (gaps * gaps).sum(axis=0), b=self.weights)

        return vmap(one, in_axes=1)(points) + log_normal

    def _points(self, x: Any) -> Value:
        """Return points as columns."""
        points = jnp.atleast_2d(jnp.asarray(x)).astype(self.dataset.dtype)
        d, m = points.shape
        if d != self.d:
            if d == 1 and m == self.d:
                return points.reshape(self.d, 1)
            raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")
        return points

    def integrate_gaussian(
        self,
        mean: Any,
        cov: Any,
    ) -> Value:
        """Return the integral of the density times a normal density."""
        mean = jnp.atleast_1d(jnp.squeeze(jnp.asarray(mean)))
        cov = jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return self._overlap(mean[:, None], jnp.ones((1,), self.dataset.dtype), cov)

    def integrate_kde(self, other: gaussian_kde) -> Value:
        """Return the integral of the product of two estimates."""
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        return self._overlap(other.dataset, other.weights, other.covariance)

    def _overlap(
        self,
        centres: Value,
        weights: Value,
        cov: Value,
    ) -> Value:
        """Return the sum over pairs of centres of the normal density of their distance."""
        factor = jnp.linalg.cholesky(self.covariance + cov)
        gaps = self.dataset[:, :, None] - centres[:, None, :]
        flat = gaps.reshape(self.d, -1)
        z = lax.linalg.triangular_solve(factor, flat, left_side=True, lower=True)
        energy = 0.5 * (z * z).sum(axis=0).reshape(gaps.shape[1:])
        normal = (2 * math.pi) ** (self.d / 2) * jnp.prod(jnp.diagonal(factor))
        return self.weights @ jnp.exp(-energy) @ weights / normal

    def integrate_box_1d(
        self,
        low: Any,
        high: Any,
    ) -> Value:
        """Return the probability of an interval, in one dimension."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if jnp.ndim(low) or jnp.ndim(high):
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        width = jnp.sqrt(self.covariance).reshape(())
        upper = special.ndtr((high - self.dataset[0]) / width)
        lower = special.ndtr((low - self.dataset[0]) / width)
        return ((upper - lower) * self.weights).sum()

    def integrate_box(
        self,
        low_bounds: Any,
        high_bounds: Any,
        maxpts: Any = None,
    ) -> Value:
        """Refuse: there is no integral over boxes."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def resample(
        self,
        key: Any,
        shape: tuple[int, ...] = (),
    ) -> Value:
        """Return random numbers of the density: (d, *shape)."""
        index_key, noise_key = random.split(key)
        places = random.choice(index_key, self.n, shape=shape, p=self.weights)
        noise = random.multivariate_normal(
            noise_key, jnp.zeros(self.d, self.covariance.dtype), self.covariance, shape=shape
        )
        return self.dataset[:, places] + jnp.moveaxis(noise, -1, 0)

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Refuse: estimates do not change."""
        raise NotImplementedError("dynamically changing the bandwidth method is not supported")


def _factor(kde: gaussian_kde, method: Any) -> Any:
    """Return the factor of the bandwidth that a method gives."""
    effective = kde.neff
    if method is None or method == "scott":
        return effective ** (-1.0 / (kde.d + 4))
    if method == "silverman":
        return (effective * (kde.d + 2) / 4.0) ** (-1.0 / (kde.d + 4))
    if isinstance(method, Callable):
        return None
    if isinstance(method, str):
        raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable.")
    return method
