"""Every parameter of every function of `random` has a value other than its default in some call.

Each call has the type of JAX's; `test_oracle.py` compares the numbers of each distribution.
Operands: a, b, p, n, q of shape (3,), positive, p and q below 1; m is (2, 3), e (3, 3); s and s2
are shardings over one device.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tapeless
from tests.meta import names
from tests.support import calls

pytestmark = pytest.mark.oracle

CALLS = """
PRNGKey(3) PRNGKey(3, impl="rbg")
ball(key, 2) ball(key, 2, p=1, shape=(3,), dtype="float16")
ball(key, 2, shape=(4,), out_sharding=s2)
bernoulli(key) bernoulli(key, p=p, shape=(2, 3), mode="high")
bernoulli(key, shape=(4,), out_sharding=s)
beta(key, a, b) beta(key, a, b, shape=(2, 3), dtype="float16") beta(key, a, b, method="approximate")
beta(key, 2.0, 3.0, shape=(4,), out_sharding=s)
binomial(key, n, p) binomial(key, n, p, shape=(2, 3), dtype="float16")
bits(key) bits(key, shape=(3,), dtype="uint8") bits(key, shape=(4,), out_sharding=s)
categorical(key, a) categorical(key, m, axis=0, shape=(2, 3)) categorical(key, a, mode="high")
categorical(key, a, shape=(2,), replace=False) categorical(key, a, shape=(4,), out_sharding=s)
cauchy(key) cauchy(key, shape=(3,), dtype="float16") cauchy(key, shape=(4,), out_sharding=s)
chisquare(key, a) chisquare(key, a, shape=(2, 3), dtype="float16")
chisquare(key, a, method="approximate") chisquare(key, 2.0, shape=(4,), out_sharding=s)
choice(key, a) choice(key, m, shape=(2,), replace=False, axis=1) choice(key, a, p=p, shape=(2,))
choice(key, a, p=p, mode="high")
clone(key)
dirichlet(key, a) dirichlet(key, a, shape=(2,), dtype="float16")
dirichlet(key, a, shape=(4,), out_sharding=s2)
double_sided_maxwell(key, a, b) double_sided_maxwell(key, a, b, shape=(2,), dtype="float16")
exponential(key) exponential(key, shape=(3,), dtype="float16")
exponential(key, shape=(4,), out_sharding=s)
f(key, a, b) f(key, a, b, shape=(2, 3), dtype="float32")
f(key, 2.0, 3.0, shape=(4,), out_sharding=s)
fold_in(key, 3)
gamma(key, a) gamma(key, a, shape=(2, 3), dtype="float16") gamma(key, a, method="approximate")
gamma(key, 2.0, shape=(4,), out_sharding=s)
generalized_normal(key, 1.5) generalized_normal(key, 1.5, shape=(3,), dtype="float16")
generalized_normal(key, 1.5, shape=(4,), out_sharding=s)
geometric(key, p) geometric(key, p, shape=(2, 3), dtype="int16")
geometric(key, 0.5, shape=(4,), out_sharding=s)
gumbel(key) gumbel(key, shape=(3,), dtype="float16", mode="high")
gumbel(key, shape=(4,), out_sharding=s)
key(3) key(3, impl="rbg") key(3, dtype=dtype)
key_data(key) key_dtype() key_dtype("rbg") key_impl(key)
laplace(key) laplace(key, shape=(3,), dtype="float16") laplace(key, shape=(4,), out_sharding=s)
loggamma(key, a) loggamma(key, a, shape=(2, 3), dtype="float16")
loggamma(key, a, method="approximate") loggamma(key, 2.0, shape=(4,), out_sharding=s)
logistic(key) logistic(key, shape=(3,), dtype="float16") logistic(key, shape=(4,), out_sharding=s)
lognormal(key) lognormal(key, sigma=a, shape=(2, 3), dtype="float16")
lognormal(key, shape=(4,), out_sharding=s)
maxwell(key) maxwell(key, shape=(3,), dtype="float16") maxwell(key, shape=(4,), out_sharding=s)
multinomial(key, n[0], q) multinomial(key, 5.0, q, shape=(2, 3), dtype="float16", unroll=2)
multivariate_normal(key, m[0], e) multivariate_normal(key, m[0], e, shape=(2,), dtype="float32")
multivariate_normal(key, m[0], e, method="svd")
multivariate_normal(key, m[0], e, shape=(4,), out_sharding=s2)
normal(key) normal(key, shape=(3,), dtype="complex64") normal(key, shape=(4,), out_sharding=s)
orthogonal(key, 3) orthogonal(key, 3, shape=(2,), dtype="float32", m=2)
orthogonal(key, 3, out_sharding=s2)
pareto(key, a) pareto(key, a, shape=(2, 3), dtype="float16")
pareto(key, 2.0, shape=(4,), out_sharding=s)
permutation(key, 5) permutation(key, m, axis=1, independent=True)
permutation(key, 4, out_sharding=s)
poisson(key, a) poisson(key, a, shape=(2, 3), dtype="int16") poisson(key, a, method="approximate")
poisson(key, 2.0, shape=(4,), out_sharding=s)
rademacher(key) rademacher(key, shape=(3,), dtype="float16")
rademacher(key, shape=(4,), out_sharding=s)
randint(key, (3,), 0, 9) randint(key, (3,), 0, 9, dtype="uint8")
randint(key, (4,), 0, 9, out_sharding=s)
rayleigh(key, a) rayleigh(key, a, shape=(2, 3), dtype="float16")
rayleigh(key, 2.0, shape=(4,), out_sharding=s)
split(key) split(key, num=(2, 3))
t(key, a) t(key, a, shape=(2, 3), dtype="float32") t(key, 2.0, shape=(4,), out_sharding=s)
triangular(key, 0.0, p, 1.0) triangular(key, 0.0, p, 1.0, shape=(2, 3), dtype="float32")
triangular(key, 0.0, 0.5, 1.0, shape=(4,), out_sharding=s)
truncated_normal(key, -a, b) truncated_normal(key, -a, b, shape=(2, 3), dtype="float32")
truncated_normal(key, -1.0, 1.0, shape=(4,), out_sharding=s)
uniform(key) uniform(key, shape=(3,), dtype="float16", minval=1, maxval=2)
uniform(key, shape=(4,), out_sharding=s)
wald(key, a) wald(key, a, shape=(2, 3), dtype="float32") wald(key, 2.0, shape=(4,), out_sharding=s)
weibull_min(key, 1.0, 2.0) weibull_min(key, a, b, shape=(2, 3), dtype="float32")
wrap_key_data(words) wrap_key_data(words, impl="threefry2x32") wrap_key_data(words, dtype=dtype)
"""


@functools.cache
def calls_of_table() -> list[tuple[str, str]]:
    """Return functions and the texts of their calls."""
    found, depth, start = [], 0, 0
    for place, character in enumerate(CALLS):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")":
            text = CALLS[start : place + 1].strip()
            found.append((text.partition("(")[0], text))
            start = place + 1
    return found


def names_of(system: ModuleType) -> dict[str, Any]:
    """Return what calls may use."""
    shared = calls.operands(system)
    return {
        "key": system.random.key(3), "dtype": system.random.key(0).dtype,
        "a": np.float16([0.5, 1.0, 2.0]), "b": np.float16([1.5, 0.5, 2.0]),
        "p": np.float16([0.2, 0.5, 0.3]), "n": np.float16([3, 5, 9]), "e": np.eye(3, dtype="f4"),
        "m": np.arange(6, dtype="f4").reshape(2, 3), "words": np.uint32([1, 2]),
        "q": np.float16([0.2, 0.5, 0.3]), "s": shared["sharding"], "s2": shared["sharding2"],
    }  # fmt: skip


def type_of_call(system: ModuleType, name: str, text: str) -> str:
    """Return dtype and shape of what a call gives, which is staged, not run."""
    found: list[str] = []

    def run() -> int:
        """Note the type."""
        names = {**names_of(system), name: getattr(system.random, name)}
        value = eval(text, names)
        shape = getattr(value, "shape", None)
        found.append(str(value) if shape is None else f"{value.dtype} {shape}")
        return 0

    system.eval_shape(run)
    return found[0]


@pytest.mark.parametrize("part", range(4))
def test_calls_have_the_types_of_jax(part):
    jax: ModuleType = importlib.import_module("jax")
    for name, text in calls_of_table()[part::4]:
        types = [type_of_call(system, name, text) for system in (tapeless, jax)]
        assert types[0] == types[1], text


def test_every_parameter_is_given():
    known, given = names_of(tapeless), {}
    for name, text in calls_of_table():
        function = getattr(tapeless.random, name)

        def note(*args: Any, name: str = name, function: Any = function, **kwargs: Any) -> None:
            """Note the parameters of a call that are not the defaults."""
            given.setdefault(name, set()).update(calls.exercised(function, args, kwargs))

        eval(text, {**known, name: note})
    public = {
        name: set(inspect.signature(function).parameters)
        for name in names.stored_names()["jax.random"]
        if callable(function := getattr(tapeless.random, name, None)) and name != "Key"
    }
    assert {name: bare for name in public if (bare := public[name] - given.get(name, set()))} == {}
