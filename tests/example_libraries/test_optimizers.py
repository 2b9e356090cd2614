"""Optimizers reach the bottom of a bowl; schedules and states are what they say."""

import numpy as np
import pytest

import tapeless as jax
from tapeless.example_libraries import optimizers

START = {"x": np.array([3.0, -2.0], "f4"), "y": np.float32(1.5)}
MAKERS = {
    "sgd": lambda: optimizers.sgd(0.1),
    "momentum": lambda: optimizers.momentum(0.05, 0.8),
    "nesterov": lambda: optimizers.nesterov(0.05, 0.8),
    "adagrad": lambda: optimizers.adagrad(0.5),
    "rmsprop": lambda: optimizers.rmsprop(optimizers.exponential_decay(0.1, 50, 0.5)),
    "rmsprop_momentum": lambda: optimizers.rmsprop_momentum(0.01),
    "adam": lambda: optimizers.adam(0.1),
    "adamax": lambda: optimizers.adamax(0.2),
    "sm3": lambda: optimizers.sm3(0.5),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_bottom_is_reached_in_a_compiled_loop(name: str) -> None:
    init, update, get_params = MAKERS[name]()
    start = {"x": START["x"]} if name == "sm3" else START

    def loss(params: dict) -> object:
        """A bowl with its bottom at 1."""
        return sum(((leaf - 1) ** 2).sum() for leaf in jax.tree.leaves(params))

    @jax.jit
    def run(state: object) -> object:
        """Go many steps."""

        def step(i: object, state: object) -> object:
            """Go one step."""
            return update(i, jax.grad(loss)(get_params(state)), state)

        return jax.lax.fori_loop(0, 300, step, state)

    for leaf in jax.tree.leaves(get_params(run(init(start)))):
        np.testing.assert_allclose(leaf, 1, atol=0.05)


def test_schedules() -> None:
    steps = np.array([0, 2, 5, 20])
    decay = optimizers.polynomial_decay(1.0, 10, 0.2, 2.0)
    expected = 0.8 * (1 - np.minimum(steps, 10) / 10) ** 2 + 0.2
    np.testing.assert_allclose([decay(i) for i in steps], expected, rtol=1e-6)
    stairs = optimizers.inverse_time_decay(1.0, 3, 0.5, staircase=True)
    np.testing.assert_allclose([stairs(i) for i in steps], 1 / (1 + 0.5 * (steps // 3)), rtol=1e-6)
    pieces = optimizers.piecewise_constant([2, 10], [1.0, 0.5, 0.1])
    np.testing.assert_allclose([pieces(i) for i in steps], [1.0, 1.0, 0.5, 0.1], rtol=1e-6)


def test_states_are_saved_with_the_tree_of_the_parameters() -> None:
    init, _, get_params = optimizers.adam(0.1)
    state = init(START)
    marked = optimizers.unpack_optimizer_state(state)
    assert set(marked) == {"x", "y"}
    assert isinstance(marked["x"], optimizers.JoinPoint)
    again = optimizers.pack_optimizer_state(marked)
    np.testing.assert_array_equal(get_params(again)["x"], START["x"])
    with pytest.raises(TypeError, match="JoinPoints"):
        optimizers.pack_optimizer_state(START)


def test_gradients_are_clipped_to_a_norm() -> None:
    tree = [np.array([3.0], "f4"), np.array([4.0], "f4")]
    assert float(optimizers.l2_norm(tree)) == 5
    np.testing.assert_allclose(optimizers.l2_norm(optimizers.clip_grads(tree, 2.0)), 2, rtol=1e-6)
    np.testing.assert_array_equal(optimizers.clip_grads(tree, 7.0)[0], tree[0])


def test_misuse_is_refused() -> None:
    init, update, _ = optimizers.sgd(0.1)
    with pytest.raises(TypeError, match="did not match the parameter tree"):
        update(0, {"x": START["x"]}, init(START))
    with pytest.raises(ValueError, match="one shorter"):
        optimizers.piecewise_constant([1], [1.0])
    with pytest.raises(TypeError):
        optimizers.make_schedule([1.0, 2.0])
