"""Layers know the shapes that they make, and learn."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.example_libraries import optimizers, stax

KEY = jax.random.key(0)
IMAGE = (2, 8, 8, 3)
LAYERS = {
    "Dense": (stax.Dense(5), (2, 3), (2, 5)),
    "Conv": (stax.Conv(4, (3, 3), (2, 2), "SAME"), IMAGE, (2, 4, 4, 4)),
    "ConvTranspose": (stax.ConvTranspose(4, (3, 3), (2, 2), "SAME"), IMAGE, (2, 16, 16, 4)),
    "Conv1DTranspose": (stax.Conv1DTranspose(4, (3,), (2,), "SAME"), (2, 8, 3), (2, 16, 4)),
    "BatchNorm": (stax.BatchNorm(), IMAGE, IMAGE),
    "BatchNorm-bare": (stax.BatchNorm(center=False, scale=False), IMAGE, IMAGE),
    "MaxPool": (stax.MaxPool((2, 2), (2, 2)), IMAGE, (2, 4, 4, 3)),
    "MaxPool-NCHW": (stax.MaxPool((2, 2), spec="NCHW"), (2, 3, 8, 8), (2, 3, 7, 7)),
    "Flatten": (stax.Flatten, IMAGE, (2, 192)),
    "Softmax": (stax.Softmax, (2, 3), (2, 3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_shapes_are_foretold(name: str) -> None:
    (init, apply), given, expected = LAYERS[name]
    shape, params = init(KEY, given)
    assert tuple(shape) == expected
    assert apply(params, jnp.ones(given), rng=KEY).shape == expected
    assert tuple(init(KEY, (-1, *given[1:]))[0]) == (-1, *expected[1:])


def test_average_pools_count_what_is_inside() -> None:
    init, apply = stax.AvgPool((2, 2), padding="SAME")
    _, params = init(KEY, (1, 3, 3, 1))
    np.testing.assert_allclose(apply(params, jnp.ones((1, 3, 3, 1))), np.ones((1, 3, 3, 1)))


def test_dropout_keeps_the_mean_in_training_and_all_otherwise() -> None:
    ones = jnp.ones((100, 100))
    dropped = stax.Dropout(0.8)[1]((), ones, rng=KEY)
    assert {0.0, 1.25} == set(np.unique(np.asarray(dropped)).tolist())
    assert abs(float(dropped.mean()) - 1) < 0.02
    np.testing.assert_array_equal(stax.Dropout(0.8, mode="test")[1]((), ones, rng=KEY), ones)
    with pytest.raises(ValueError, match="PRNG key"):
        stax.Dropout(0.8)[1]((), ones)


def test_branches_run_side_by_side() -> None:
    network = stax.serial(stax.FanOut(2), stax.parallel(stax.Identity, stax.Exp), stax.FanInSum)
    _, params = network[0](KEY, (2,))
    np.testing.assert_allclose(network[1](params, jnp.zeros(2)), [1, 1])
    joined = stax.serial(stax.FanOut(2), stax.parallel(stax.Tanh, stax.Exp), stax.FanInConcat())
    shape, params = joined[0](KEY, (2,))
    assert tuple(shape) == (4,)
    np.testing.assert_allclose(joined[1](params, jnp.zeros(2)), [0, 0, 1, 1])


def test_a_network_learns_exclusive_or() -> None:
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], "f4")
    y = np.array([0, 1, 1, 0])
    init, apply = stax.serial(stax.Dense(8), stax.Tanh, stax.Dense(2), stax.LogSoftmax)
    start, update, get_params = optimizers.adam(0.05)

    def loss(params: object) -> object:
        """The mean negative logarithm of the probability of the right answer."""
        return -apply(params, x)[np.arange(4), y].mean()

    @jax.jit
    def step(i: object, state: object) -> object:
        """Go one step."""
        return update(i, jax.grad(loss)(get_params(state)), state)

    state = start(init(KEY, (-1, 2))[1])
    for i in range(150):
        state = step(i, state)
    np.testing.assert_array_equal(apply(get_params(state), x).argmax(-1), y)
