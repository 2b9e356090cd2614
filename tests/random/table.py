"""The distributions, one row each: how to draw, and how closely draws agree with JAX's.

    bits        the same bits
    ulps        within so many units in the last place of max(|x|, 1) of JAX's numbers x
    draws       within `ulps`, but for a small part of the draws (`apart`): a rejection sampler
                takes another path where a comparison is decided by the last place

XLA computes in float16 with more digits than float16 has, so that rejection samplers part there
more often.

The same table makes the kept draws (`golden.py`) and checks them, compares with JAX itself, and
tests the distributions against their distribution functions (`law`, in scipy's words).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import stats

__all__ = ["FLOATS", "INTS", "ROWS", "Row", "as_markdown"]

FLOATS = ("float16", "bfloat16", "float32", "float64")
HALVES = FLOATS[:2]
COMPLEX = ("complex64", "complex128")
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@dataclass(frozen=True)
class Row:
    """A distribution.

    draw: (random module, key, shape, dtype) -> draws; law: the frozen distribution of scipy that
    float32 or int32 draws follow, or None; exact: dtypes that agree bit for bit, whatever
    `agreement` says of the others; apart: see above.
    """

    name: str
    draw: Callable[[Any, Any, tuple[int, ...], Any], Any]
    dtypes: tuple[str, ...]
    agreement: str = "ulps"
    ulps: int = 4
    law: Any = None
    exact: tuple[str, ...] = ()
    apart: float = 1e-4

    def cases(self) -> list[tuple[str, str]]:
        """Return (name, dtype) per dtype."""
        return [(self.name, dtype) for dtype in self.dtypes]

    def is_exact(self, dtype: str) -> bool:
        """Tell whether draws of a dtype are promised bit for bit."""
        return self.agreement == "bits" or dtype in self.exact

    def promise(self) -> str:
        """Say how closely draws agree, in words."""
        if self.agreement == "bits":
            return "bit for bit"
        words = f"within {self.ulps} ulp"
        if self.agreement == "draws":
            words += f", but for {self.apart:g} of the draws"
        return f"{words}; bit for bit in {' '.join(self.exact)}" if self.exact else words


A, P = 2.5, 0.3
THREE = stats.rv_discrete(values=((0, 1, 2), (0.1, 0.2, 0.7)))
LOGITS = np.log(np.array([0.1, 0.2, 0.7], np.float32))


def two_sided(x: np.ndarray) -> np.ndarray:
    """The distribution function of 1 + 2 s m: m of Maxwell's distribution, s = -1 or 1."""
    z = (x - 1) / 2
    return 0.5 + np.sign(z) * stats.maxwell.cdf(np.abs(z)) / 2


_ROWS = [
    Row("bits", lambda r, k, s, d: r.bits(k, s, d), tuple(d for d in INTS if d[0] == "u"), "bits"),
    Row("uniform", lambda r, k, s, d: r.uniform(k, s, d), FLOATS, "bits", law=stats.uniform()),
    Row(
        "uniform-range",
        lambda r, k, s, d: r.uniform(k, s, d, -2, 3),
        FLOATS,
        "bits",
        law=stats.uniform(-2, 5),
    ),
    Row(
        "randint",
        lambda r, k, s, d: r.randint(k, s, 3, 100, d),
        INTS,
        "bits",
        law=stats.randint(3, 100),
    ),
    Row("randint-negative", lambda r, k, s, d: r.randint(k, s, -50, 50, d), INTS[::2], "bits"),
    Row("randint-full", lambda r, k, s, d: r.randint(k, s, 0, 256, d), INTS[1:], "bits"),
    Row(
        "normal",
        lambda r, k, s, d: r.normal(k, s, d),
        FLOATS,
        ulps=3,
        law=stats.norm(),
        exact=FLOATS[:3],
    ),
    Row(
        "normal-complex",
        lambda r, k, s, d: r.normal(k, s, d),
        COMPLEX,
        ulps=3,
        exact=COMPLEX[:1],
    ),
    Row("lognormal-complex", lambda r, k, s, d: r.lognormal(k, 0.5, s, d), COMPLEX[:1]),
    Row(
        "truncated_normal",
        lambda r, k, s, d: r.truncated_normal(k, -2.0, 2.0, s, d),
        FLOATS[1:],
        law=stats.truncnorm(-2.0, 2.0),
        exact=FLOATS[1:3],
    ),
    # JAX's erf of float32 errs by 1.25 ulp at this lower bound, by up to 3.9 at others.
    Row(
        "truncated_normal-uneven",
        lambda r, k, s, d: r.truncated_normal(k, -1.5, 2.0, s, d),
        FLOATS,
        law=stats.truncnorm(-1.5, 2.0),
        exact=HALVES,
    ),
    Row(
        "bernoulli",
        lambda r, k, s, d: r.bernoulli(k, P, s),
        ("bool",),
        "bits",
        law=stats.bernoulli(0.3),
    ),
    Row(
        "bernoulli-high",
        lambda r, k, s, d: r.bernoulli(k, P, s, "high"),
        ("bool",),
        "bits",
        law=stats.bernoulli(0.3),
    ),
    Row("rademacher", lambda r, k, s, d: r.rademacher(k, s, d), (*INTS, *FLOATS), "bits"),
    Row(
        "categorical",
        lambda r, k, s, d: r.categorical(k, LOGITS, shape=s),
        ("int32",),
        "bits",
        law=THREE,
    ),
    Row(
        "categorical-high",
        lambda r, k, s, d: r.categorical(k, LOGITS, shape=s, mode="high"),
        ("int32",),
        "bits",
        law=THREE,
    ),
    Row(
        "choice", lambda r, k, s, d: r.choice(k, 7, s), ("int32",), "bits", law=stats.randint(0, 7)
    ),
    Row(
        "choice-p",
        lambda r, k, s, d: r.choice(k, 3, s, p=np.exp(LOGITS)),
        ("int32",),
        "bits",
        law=THREE,
    ),
    Row("permutation", lambda r, k, s, d: r.permutation(k, int(np.prod(s))), ("int32",), "bits"),
    Row(
        "exponential",
        lambda r, k, s, d: r.exponential(k, s, d),
        FLOATS,
        ulps=1,
        law=stats.expon(),
        exact=HALVES,
    ),
    Row(
        "laplace",
        lambda r, k, s, d: r.laplace(k, s, d),
        FLOATS,
        ulps=1,
        law=stats.laplace(),
        exact=HALVES,
    ),
    Row(
        "logistic",
        lambda r, k, s, d: r.logistic(k, s, d),
        FLOATS,
        ulps=3,
        law=stats.logistic(),
        exact=HALVES,
    ),
    Row(
        "gumbel",
        lambda r, k, s, d: r.gumbel(k, s, d),
        FLOATS,
        ulps=3,
        law=stats.gumbel_r(),
        exact=HALVES,
    ),
    Row(
        "gumbel-high",
        lambda r, k, s, d: r.gumbel(k, s, d, "high"),
        FLOATS[1:],
        ulps=3,
        law=stats.gumbel_r(),
        exact=HALVES[1:],
    ),
    Row(
        "cauchy",
        lambda r, k, s, d: r.cauchy(k, s, d),
        FLOATS,
        ulps=1,
        law=stats.cauchy(),
        exact=HALVES,
    ),
    Row(
        "rayleigh",
        lambda r, k, s, d: r.rayleigh(k, 2.0, s, d),
        FLOATS,
        ulps=1,
        law=stats.rayleigh(scale=2),
        exact=HALVES,
    ),
    Row(
        "weibull_min",
        lambda r, k, s, d: r.weibull_min(k, 2.0, 1.5, s, d),
        FLOATS,
        ulps=2,
        law=stats.weibull_min(1.5, scale=2),
        exact=HALVES,
    ),
    Row(
        "pareto",
        lambda r, k, s, d: r.pareto(k, 2.5, s, d),
        FLOATS,
        ulps=6,
        law=stats.pareto(2.5),
        exact=HALVES[1:],
    ),
    Row(
        "maxwell",
        lambda r, k, s, d: r.maxwell(k, s, d),
        FLOATS,
        law=stats.maxwell(),
        exact=HALVES[:1],
    ),
    Row(
        "double_sided_maxwell",
        lambda r, k, s, d: r.double_sided_maxwell(k, 1.0, 2.0, s, d),
        FLOATS,
        ulps=8,
        law=SimpleNamespace(cdf=two_sided),
        exact=HALVES[:1],
    ),
    Row(
        "triangular",
        lambda r, k, s, d: r.triangular(k, 0.0, 0.25, 1.0, s, d),
        FLOATS,
        "bits",
        law=stats.triang(0.25),
    ),
    Row(
        "lognormal",
        lambda r, k, s, d: r.lognormal(k, 0.5, s, d),
        FLOATS,
        ulps=3,
        law=stats.lognorm(0.5),
        exact=HALVES,
    ),
    Row(
        "wald",
        lambda r, k, s, d: r.wald(k, 1.5, s, d),
        FLOATS[1:],
        ulps=256,
        law=stats.invgauss(1.5),
        exact=HALVES[1:],
    ),
    Row(
        "gamma",
        lambda r, k, s, d: r.gamma(k, A, s, d),
        FLOATS[1:],
        "draws",
        ulps=8,
        law=stats.gamma(2.5),
        exact=HALVES[1:],
    ),
    Row("gamma-half", lambda r, k, s, d: r.gamma(k, A, s, d), ("float16",), "draws", apart=2e-3),
    Row(
        "gamma-small",
        lambda r, k, s, d: r.gamma(k, P, s, d),
        FLOATS[1:],
        "draws",
        ulps=8,
        law=stats.gamma(0.3),
        exact=HALVES[1:],
    ),
    Row(
        "loggamma",
        lambda r, k, s, d: r.loggamma(k, P, s, d),
        FLOATS[1:],
        "draws",
        ulps=8,
        law=stats.loggamma(0.3),
        exact=HALVES[1:],
    ),
    Row(
        "beta",
        lambda r, k, s, d: r.beta(k, A, P, s, d),
        FLOATS[1:],
        "draws",
        law=stats.beta(2.5, 0.3),
        exact=HALVES[1:],
    ),
    Row(
        "chisquare",
        lambda r, k, s, d: r.chisquare(k, A, s, d),
        FLOATS[1:],
        "draws",
        ulps=8,
        law=stats.chi2(2.5),
        exact=HALVES[1:],
    ),
    Row(
        "gamma-approximate",
        lambda r, k, s, d: r.gamma(k, A, s, d, method="approximate"),
        FLOATS,
        ulps=8,
        law=stats.gamma(2.5),
    ),
    Row(
        "loggamma-approximate",
        lambda r, k, s, d: r.loggamma(k, P, s, d, method="approximate"),
        FLOATS,
        ulps=8,
        law=stats.loggamma(0.3),
    ),
    Row(
        "beta-approximate",
        lambda r, k, s, d: r.beta(k, A, P, s, d, method="approximate"),
        FLOATS,
        law=stats.beta(2.5, 0.3),
    ),
    Row(
        "chisquare-approximate",
        lambda r, k, s, d: r.chisquare(k, A, s, d, method="approximate"),
        FLOATS,
        ulps=8,
        law=stats.chi2(2.5),
    ),
    Row(
        "f",
        lambda r, k, s, d: r.f(k, A, 4.0, s, d),
        FLOATS[1:],
        "draws",
        ulps=16,
        law=stats.f(2.5, 4),
    ),
    Row("t", lambda r, k, s, d: r.t(k, A, s, d), FLOATS[1:], "draws", law=stats.t(2.5)),
    Row(
        "dirichlet",
        lambda r, k, s, d: r.dirichlet(k, np.array([A, P], d), s, d),
        FLOATS[2:],
        "draws",
    ),
    Row(
        "generalized_normal",
        lambda r, k, s, d: r.generalized_normal(k, 3.0, s, d),
        FLOATS[2:],
        "draws",
        law=stats.gennorm(3),
    ),
    Row("ball", lambda r, k, s, d: r.ball(k, 3, 2, s, d), FLOATS[2:], "draws"),
    Row(
        "poisson",
        lambda r, k, s, d: r.poisson(k, A, s, d),
        INTS[2::2],
        "draws",
        law=stats.poisson(2.5),
    ),
    Row(
        "poisson-large",
        lambda r, k, s, d: r.poisson(k, 20.0, s, d),
        ("int32", "int64"),
        "draws",
        law=stats.poisson(20),
    ),
    Row(
        "poisson-approximate",
        lambda r, k, s, d: r.poisson(k, A, s, d, method="approximate"),
        INTS[2::2],
        "draws",
        law=stats.poisson(2.5),
    ),
    Row(
        "poisson-large-approximate",
        lambda r, k, s, d: r.poisson(k, 20.0, s, d, method="approximate"),
        INTS[2::2],
        "draws",
        law=stats.poisson(20),
    ),
    Row(
        "binomial",
        lambda r, k, s, d: r.binomial(k, 10, P, s, d),
        FLOATS[2:],
        "draws",
        law=stats.binom(10, 0.3),
    ),
    Row(
        "binomial-large",
        lambda r, k, s, d: r.binomial(k, 100.0, 0.6, s, d),
        FLOATS[2:],
        "draws",
        law=stats.binom(100, 0.6),
    ),
    Row(
        "geometric",
        lambda r, k, s, d: r.geometric(k, P, s, d),
        INTS[2::2],
        "bits",
        law=stats.geom(0.3),
    ),
    Row(
        "multinomial",
        lambda r, k, s, d: r.multinomial(k, 10, np.exp(LOGITS), shape=s, dtype=d),
        ("float32",),
        "draws",
    ),
    Row(
        "orthogonal",
        lambda r, k, s, d: r.orthogonal(k, 3, s[:1], d),
        ("float32", "float64"),
        ulps=64,
    ),
    Row(
        "multivariate_normal",
        lambda r, k, s, d: r.multivariate_normal(
            k, np.ones(2, d), np.array([[2, 1], [1, 3]], d), s, d
        ),
        ("float32", "float64"),
        ulps=32,
    ),
]
ROWS = {row.name: row for row in _ROWS}


def as_markdown() -> str:
    """Return the table as it stands in docs/random.md."""
    lines = ["| draws | dtypes | agreement with JAX |", "| --- | --- | --- |"]
    lines += [f"| {row.name} | {' '.join(row.dtypes)} | {row.promise()} |" for row in _ROWS]
    return "\n".join(lines)
