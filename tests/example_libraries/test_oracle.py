"""Optimizers and layers do what those of jax.example_libraries do."""

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.oracle

SYSTEMS = ("tapeless", "jax")
OPTIMIZERS = {
    "sgd": lambda o: o.sgd(0.1),
    "sgd-schedule": lambda o: o.sgd(o.exponential_decay(0.1, 5, 0.5)),
    "momentum": lambda o: o.momentum(o.piecewise_constant([2, 4], [0.1, 0.05, 0.02]), 0.9),
    "nesterov": lambda o: o.nesterov(o.polynomial_decay(0.1, 6, 0.01, 2.0), 0.9),
    "adagrad": lambda o: o.adagrad(0.1),
    "rmsprop": lambda o: o.rmsprop(o.inverse_time_decay(0.1, 3, 0.5, staircase=True)),
    "rmsprop_momentum": lambda o: o.rmsprop_momentum(0.05),
    "adam": lambda o: o.adam(0.1),
    "adamax": lambda o: o.adamax(0.1),
    "sm3": lambda o: o.sm3(0.1),
}
IMAGES = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype("f4")
NETWORKS = {
    "dense": lambda s: s.serial(s.Flatten, s.Dense(5), s.Relu, s.Dense(3), s.LogSoftmax),
    "convolution": lambda s: s.serial(
        s.Conv(4, (3, 3), padding="SAME"), s.BatchNorm(), s.Relu, s.MaxPool((2, 2), (2, 2))
    ),
    "transposed": lambda s: s.serial(s.ConvTranspose(2, (3, 3), (2, 2)), s.Tanh),
    "pools": lambda s: s.serial(
        s.AvgPool((2, 2), padding="SAME"), s.SumPool((3, 3)), s.Softplus, s.Gelu
    ),
    "branches": lambda s: s.serial(
        s.FanOut(3), s.parallel(s.Identity, s.Sigmoid, s.Elu), s.FanInConcat()
    ),
    "sum": lambda s: s.serial(s.FanOut(2), s.parallel(s.Selu, s.LeakyRelu), s.FanInSum),
    "dropout": lambda s: s.serial(
        s.Dropout(0.7), s.Flatten, s.shape_dependent(lambda shape: s.Dense(shape[1] // 64))
    ),
}


def run_optimizer(name: str, system: str) -> Any:
    """Go some steps down a bowl, under jit, with clipped gradients."""
    jax = importlib.import_module(system)
    library = importlib.import_module(f"{system}.example_libraries.optimizers")
    init, update, get_params = OPTIMIZERS[name](library)
    start = {"w": np.linspace(-1, 1, 6, dtype="f4").reshape(2, 3), "b": np.ones(2, "f4")}

    def loss(params: Any) -> Any:
        """A bowl."""
        return (params["w"] ** 2).sum() + 3 * (params["b"] ** 4).sum()

    def step(i: Any, state: Any) -> Any:
        """One step."""
        gradients = library.clip_grads(jax.grad(loss)(get_params(state)), 2.0)
        return update(i, gradients, state)

    # The state of jax's sm3 has an int in it that must not be traced.
    step = step if name == "sm3" else jax.jit(step)
    state = init(start)
    for i in range(7):
        state = step(i, state)
    packed = library.pack_optimizer_state(library.unpack_optimizer_state(state))
    return jax.tree_util.tree_map(np.asarray, get_params(packed))


def run_network(name: str, system: str) -> Any:
    """Start a network and differentiate it."""
    jax = importlib.import_module(system)
    stax = importlib.import_module(f"{system}.example_libraries.stax")
    init, apply = NETWORKS[name](stax)
    key = jax.random.key(0)
    shape, params = init(key, (-1, *IMAGES.shape[1:]))
    out = apply(params, IMAGES, rng=key)
    gradient = jax.grad(lambda x: (apply(params, x, rng=key) ** 2).sum())(IMAGES)
    assert tuple(shape[1:]) == out.shape[1:]
    return jax.tree_util.tree_map(np.asarray, (out, gradient, params))


def check(want: Any, got: Any) -> None:
    """Compare two trees."""
    tree = importlib.import_module("tapeless").tree
    assert tree.structure(got) == tree.structure(want)
    for x, y in zip(tree.leaves(got), tree.leaves(want), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)


@pytest.fixture(scope="module", autouse=True)
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_take_the_same_steps(name: str) -> None:
    got, want = (run_optimizer(name, system) for system in SYSTEMS)
    check(want, got)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_give_the_same(name: str) -> None:
    got, want = (run_network(name, system) for system in SYSTEMS)
    check(want, got)
