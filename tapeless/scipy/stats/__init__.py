"""`jax.scipy.stats`: probability distributions, each a module, and statistics.  Names only.

Each distribution is imported when it is first used.
"""

from tapeless.util import lazy

lazy.defer(
    __name__, "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon",
    "gamma", "gennorm", "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial",
    "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t", "truncnorm", "uniform",
    "vonmises", "wrapcauchy",
)  # fmt: skip

from tapeless.scipy.stats import bernoulli as bernoulli
from tapeless.scipy.stats import beta as beta
from tapeless.scipy.stats import betabinom as betabinom
from tapeless.scipy.stats import binom as binom
from tapeless.scipy.stats import cauchy as cauchy
from tapeless.scipy.stats import chi2 as chi2
from tapeless.scipy.stats import dirichlet as dirichlet
from tapeless.scipy.stats import expon as expon
from tapeless.scipy.stats import gamma as gamma
from tapeless.scipy.stats import gennorm as gennorm
from tapeless.scipy.stats import geom as geom
from tapeless.scipy.stats import gumbel_l as gumbel_l
from tapeless.scipy.stats import gumbel_r as gumbel_r
from tapeless.scipy.stats import laplace as laplace
from tapeless.scipy.stats import logistic as logistic
from tapeless.scipy.stats import multinomial as multinomial
from tapeless.scipy.stats import multivariate_normal as multivariate_normal
from tapeless.scipy.stats import nbinom as nbinom
from tapeless.scipy.stats import norm as norm
from tapeless.scipy.stats import pareto as pareto
from tapeless.scipy.stats import poisson as poisson
from tapeless.scipy.stats import t as t
from tapeless.scipy.stats import truncnorm as truncnorm
from tapeless.scipy.stats import uniform as uniform
from tapeless.scipy.stats import vonmises as vonmises
from tapeless.scipy.stats import wrapcauchy as wrapcauchy
from tapeless.scipy.stats.kde import gaussian_kde
from tapeless.scipy.stats.summaries import mode, rankdata, sem
from tapeless.util.names import close_module

close_module("jax.scipy.stats", globals())
