"""Random numbers: pure functions of keys, with the bits of JAX's threefry generator."""

from tapeless.random.basic import *
from tapeless.random.choosing import *
from tapeless.random.continuous import *
from tapeless.random.gamma_samples import *
from tapeless.random.keys import *
from tapeless.util import lazy
from tapeless.util.names import close_module

# Names that few programs need: vectors need linear algebra, the others loops.
lazy.defer_names("tapeless.random.counting", "tapeless.random.gammas", "tapeless.random.vectors")

from tapeless.random.counting import (  # noqa: I001
    binomial as binomial,
    geometric as geometric,
    multinomial as multinomial,
    poisson as poisson,
)
from tapeless.random.gammas import (
    ball as ball,
    beta as beta,
    chisquare as chisquare,
    dirichlet as dirichlet,
    double_sided_maxwell as double_sided_maxwell,
    f as f,
    gamma as gamma,
    generalized_normal as generalized_normal,
    loggamma as loggamma,
    t as t,
)
from tapeless.random.vectors import (
    multivariate_normal as multivariate_normal,
    orthogonal as orthogonal,
)

close_module("jax.random", globals())
