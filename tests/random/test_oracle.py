"""Random functions print as in JAX, fail as in JAX, and agree over many draws."""

import importlib
from types import ModuleType

import numpy as np
import pytest

import tapeless
from tests.random import golden
from tests.random.agreement import check_agreement
from tests.random.table import ROWS

pytestmark = pytest.mark.oracle

MANY = [
    (row.name, row.dtypes[-1])
    for row in ROWS.values()
    if row.agreement == "draws" or row.name in ("normal", "truncated_normal", "gumbel", "uniform")
]
MANY += [(row.name, row.exact[-1]) for row in ROWS.values() if row.exact]
TEXTS = {
    "split": lambda r, k: r.split(k),
    "fold_in": lambda r, k: r.fold_in(k, 3),
    "uniform": lambda r, k: r.uniform(k, (3,)),
    "uniform-scalar": lambda r, k: r.uniform(k),
    "normal": lambda r, k: r.normal(k, (3,)),
    "normal-bfloat16": lambda r, k: r.normal(k, (3,), "bfloat16"),
    "randint": lambda r, k: r.randint(k, (3,), 0, 10),
    "randint-uint8": lambda r, k: r.randint(k, (3,), 0, 10, "uint8"),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (3,)),
    "categorical": lambda r, k: r.categorical(k, np.ones((2, 3), "f4")),
    "categorical-once": lambda r, k: r.categorical(
        k, np.ones((2, 3), "f4"), shape=(2, 2), replace=False
    ),
    "permutation": lambda r, k: r.permutation(k, 5),
    "permutation-rows": lambda r, k: r.permutation(k, np.ones((3, 2), "f4")),
    "choice": lambda r, k: r.choice(k, 5, (3,)),
    "choice-once": lambda r, k: r.choice(k, 5, (3,), replace=False),
    "choice-p": lambda r, k: r.choice(k, 3, (4,), p=np.ones(3, "f4")),
    "exponential": lambda r, k: r.exponential(k, (3,)),
    "truncated_normal": lambda r, k: r.truncated_normal(k, -1, 1, (3,)),
    "gumbel": lambda r, k: r.gumbel(k, (3,)),
    "gumbel-high": lambda r, k: r.gumbel(k, (3,), mode="high"),
    "laplace": lambda r, k: r.laplace(k, (3,)),
    "logistic": lambda r, k: r.logistic(k, (3,)),
    "cauchy": lambda r, k: r.cauchy(k, (3,)),
    "gamma": lambda r, k: r.gamma(k, 2.0, (3,)),
    "gamma-approximate": lambda r, k: r.gamma(k, 2.0, (3,), method="approximate"),
    "loggamma-approximate": lambda r, k: r.loggamma(k, 2.0, (3,), method="approximate"),
    "beta": lambda r, k: r.beta(k, 2.0, 3.0, (3,)),
    "beta-approximate": lambda r, k: r.beta(k, 2.0, 3.0, (3,), method="approximate"),
    "poisson": lambda r, k: r.poisson(k, 2.0, (3,)),
    "rademacher": lambda r, k: r.rademacher(k, (3,)),
    "t": lambda r, k: r.t(k, 2.0, (3,)),
    "f": lambda r, k: r.f(k, 2.0, 3.0),
    "chisquare": lambda r, k: r.chisquare(k, 2.0),
    "dirichlet": lambda r, k: r.dirichlet(k, np.ones(3, "f4")),
    "geometric": lambda r, k: r.geometric(k, 0.5, (2,)),
    "triangular": lambda r, k: r.triangular(k, 0.0, 0.5, 1.0),
    "wald": lambda r, k: r.wald(k, 1.0),
    "generalized_normal": lambda r, k: r.generalized_normal(k, 2.0),
    "weibull_min": lambda r, k: r.weibull_min(k, 1.0, 2.0),
    "pareto": lambda r, k: r.pareto(k, 2.0),
    "rayleigh": lambda r, k: r.rayleigh(k, 2.0),
    "lognormal": lambda r, k: r.lognormal(k, 2.0),
}
ERRORS = {
    "gamma-method": lambda r, k: r.gamma(k, 2.0, method="foo"),
    "beta-method": lambda r, k: r.beta(k, 2.0, 3.0, method="foo"),
    "poisson-method": lambda r, k: r.poisson(k, 2.0, method="foo"),
    "chisquare-method": lambda r, k: r.chisquare(k, 2.0, method="foo"),
    "bernoulli-mode": lambda r, k: r.bernoulli(k, 0.5, mode="foo"),
    "gumbel-mode": lambda r, k: r.gumbel(k, mode="foo"),
    "categorical-draws": lambda r, k: r.categorical(k, np.ones(3), shape=(4,), replace=False),
    "covariance": lambda r, k: r.multivariate_normal(k, np.zeros(2), np.eye(3)),
    "mean": lambda r, k: r.multivariate_normal(k, np.zeros(()), np.eye(3)),
    "covariance-rank": lambda r, k: r.multivariate_normal(k, np.zeros(2), np.zeros(2)),
    "method": lambda r, k: r.multivariate_normal(k, np.zeros(2), np.eye(2), method="foo"),
    "permutation-axis": lambda r, k: r.permutation(k, np.arange(3), axis=2),
    "permutation-float": lambda r, k: r.permutation(k, 2.0),
    "choice-p": lambda r, k: r.choice(k, 5, p=np.ones(3, "f4")),
    "choice-axis": lambda r, k: r.choice(k, np.ones((2, 3)), axis=2),
    "choice-empty": lambda r, k: r.choice(k, 0),
    "choice-large": lambda r, k: r.choice(k, 5, (6,), replace=False),
    "dirichlet-rank": lambda r, k: r.dirichlet(k, 1.0),
    "dirichlet-dtype": lambda r, k: r.dirichlet(k, np.ones(3), dtype=int),
    "gamma-dtype": lambda r, k: r.gamma(k, 2.0, (3,), int),
    "gamma-shape": lambda r, k: r.gamma(k, np.ones(3), (2,)),
    "geometric-dtype": lambda r, k: r.geometric(k, 0.5, dtype=float),
    "bernoulli-dtype": lambda r, k: r.bernoulli(k, np.complex64(1)),
    "normal-shape": lambda r, k: r.normal(k, (2, 3.5)),
    "normal-dtype": lambda r, k: r.normal(k, (3,), int),
    "uniform-shape": lambda r, k: r.uniform(k, (3,), minval=np.zeros(2, "f4")),
    "randint-many-axes": lambda r, k: r.randint(k, (3,), np.zeros((2, 3), "i4"), 10),
    "beta-shape": lambda r, k: r.beta(k, np.ones((2, 3), "f4"), 1.0, (2, 1)),
    "lognormal-shape": lambda r, k: r.lognormal(k, np.ones((2, 3), "f4"), (3,)),
    "randint-shape": lambda r, k: r.randint(k, (3,), np.zeros(2, "i4"), 10),
    "randint-dtype": lambda r, k: r.randint(k, (3,), 0, 10, float),
    "key-array": lambda r, k: r.key(np.arange(3)),
    "key-key": lambda r, k: r.key(k),
    "keys": lambda r, k: r.normal(r.split(k), (3,)),
    "words": lambda r, k: r.wrap_key_data(k),
    "nothing": lambda r, k: r.normal(None),
    "number": lambda r, k: r.split(0),
    "fold_in-negative": lambda r, k: r.fold_in(k, -1),
    "beta-cast": lambda r, k: r.beta(k, np.float32(2), 1.0, (2,), "float16"),
    "lognormal-cast": lambda r, k: r.lognormal(k, np.float32(2), (2,), "bfloat16"),
    "key-sum": lambda r, k: k + 1,
    "key-equal": lambda r, k: k == 1,
    "key-impl": lambda r, k: r.key(0, impl="foo"),
    "key-impl-type": lambda r, k: r.key(0, impl=3),
    "bits-dtype": lambda r, k: r.bits(k, (2,), "float32"),
}


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    module = importlib.import_module("jax")
    module.config.update("jax_pprint_use_color", False)
    return module


@pytest.mark.parametrize("name", TEXTS)
def test_programs_print_alike(jax: ModuleType, name: str) -> None:
    """The same equations in the same order."""
    texts = [
        str(s.make_jaxpr(lambda k, s=s: TEXTS[name](s.random, k))(s.random.key(0)))
        for s in (tapeless, jax)
    ]
    assert texts[0] == texts[1]


# Errors that say more than JAX's, and how they go on where its words end.
FURTHER = {
    "nothing": ", None. Keys are made by jax.random.key(seed)",
    "number": ". Keys are made by jax.random.key(seed)",
    "uniform-shape": " Axis ",
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_alike(jax: ModuleType, name: str) -> None:
    """Class and words."""
    caught = []
    for system in (tapeless, jax):
        with pytest.raises(Exception) as error:  # noqa: PT011 - compared with each other
            ERRORS[name](system.random, system.random.key(0))
        caught.append((type(error.value).__name__, str(error.value)))
    (kind, text), (kind_of_jax, text_of_jax) = caught
    text, further, _ = text.partition(FURTHER[name]) if name in FURTHER else (text, True, "")
    assert further and text == text_of_jax
    assert kind == kind_of_jax


def test_maxima_may_have_axes_of_length_1_in_front(jax: ModuleType) -> None:
    """JAX reshapes the result to the shape asked for."""
    high = np.array([[[1.0, 2.0, 3.0]]], np.float32)
    draws = [s.random.uniform(s.random.key(1), (3,), maxval=high) for s in (tapeless, jax)]
    np.testing.assert_array_equal(*draws)
    with pytest.raises(TypeError, match=r"at most the 1 axes of the shape \(3,\), got \(1, 1, 3"):
        tapeless.random.uniform(tapeless.random.key(1), (3,), minval=high)


@pytest.mark.parametrize("x64", [False, True], ids=["32", "64"])
@pytest.mark.parametrize("name", ["binomial", "multinomial"])
def test_counts_are_drawn_in_the_dtype_of_the_probabilities(
    jax: ModuleType, name: str, x64: bool
) -> None:
    """Whatever the dtype of the result is; so for 64-bit results of 32-bit parameters."""
    n, p = np.array([30.0, 9.0], np.float32), np.array([0.2, 0.8], np.float32)
    draws = []
    for system in (tapeless, jax):
        with system.enable_x64(x64):
            key = system.random.key(980)
            draws.append(np.asarray(getattr(system.random, name)(key, n, p, shape=(20, 2))))
    assert draws[0].dtype == draws[1].dtype == (np.float64 if x64 else np.float32)
    np.testing.assert_array_equal(*draws)


def test_signs_of_bools_are_true(jax: ModuleType) -> None:
    """1 and -1 are."""
    draws = [s.random.rademacher(s.random.key(0), (5,), "bool") for s in (tapeless, jax)]
    np.testing.assert_array_equal(*draws)


@pytest.mark.parametrize(("name", "dtype"), MANY, ids=["-".join(case) for case in MANY])
def test_many_draws_agree(jax: ModuleType, name: str, dtype: str) -> None:
    """As the table says, over 20,000 draws."""
    want, got = (golden.draw(s, name, dtype, (100, 200), 7) for s in (jax, tapeless))
    check_agreement(name, want, got)


def test_derivatives_of_approximate_numbers_agree(jax: ModuleType) -> None:
    """With respect to the shape, under vmap: keys (3,), shapes (3,) -> (3,)."""

    def slopes(s: ModuleType) -> np.ndarray:
        """Differentiate gamma and beta numbers of three keys."""
        random, shapes = s.random, np.array([0.4, 2.5, 30.0], "f4")

        def total(key: object, a: object) -> object:
            """Add two numbers."""
            gammas = random.gamma(key, a, method="approximate")
            return gammas + random.beta(key, a, 2.0, method="approximate")

        return np.asarray(s.vmap(s.grad(total, 1))(random.split(random.key(3), 3), shapes))

    np.testing.assert_allclose(slopes(tapeless), slopes(jax), rtol=2e-4)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_ten_million_normal_numbers_are_equal(jax: ModuleType, dtype: str) -> None:
    """Bit for bit."""
    shape = (10**7,) if dtype == "float32" else (10**6,)
    want, got = (golden.draw(s, "normal", dtype, shape, 5) for s in (jax, tapeless))
    assert want.tobytes() == got.tobytes()


def test_nearly_all_double_normal_numbers_are_equal(jax: ModuleType) -> None:
    """But for 2 in 1,000, as JAX takes the logarithm of the system's library."""
    want, got = (golden.draw(s, "normal", "float64", (10**6,), 5) for s in (jax, tapeless))
    assert (want != got).mean() < 2e-3


def test_names_are_those_of_jax(jax: ModuleType) -> None:
    """Every public name of jax.random is there."""
    assert {n for n in dir(jax.random) if n[0] != "_"} <= set(dir(tapeless.random))
