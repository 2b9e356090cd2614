"""Activation functions have the values of their formulas and stay finite in their tails."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special

import tapeless as jax
from tapeless import nn

X = np.array([-30.0, -4.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.5, 7.0, 30.0], np.float32)
WIDE = X.astype(np.float64)


def logistic(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return special.expit(x)


FORMULAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "sigmoid": logistic,
    "softplus": lambda x: np.logaddexp(x, 0),
    "soft_sign": lambda x: x / (1 + np.abs(x)),
    "silu": lambda x: x * logistic(x),
    "swish": lambda x: x * logistic(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "log_sigmoid": lambda x: -np.logaddexp(-x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "selu": lambda x: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))
    ),
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "squareplus": lambda x: (x + np.sqrt(x**2 + 4)) / 2,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "tanh": np.tanh,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values_are_those_of_the_formula(name: str) -> None:
    found = getattr(nn, name)(X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, FORMULAS[name](WIDE), rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives_are_differences_and_finite(name: str) -> None:
    smooth = WIDE[np.abs(WIDE % 1 - 0.5) < 0.5 - 1e-3]  # away from the kinks, which are integers
    step = 1e-6
    slope = (FORMULAS[name](smooth + step) - FORMULAS[name](smooth - step)) / (2 * step)
    with jax.enable_x64(True):
        found = jax.vmap(jax.grad(getattr(nn, name)))(smooth)
        everywhere = jax.vmap(jax.grad(getattr(nn, name)))(WIDE)
    np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-8)
    assert np.isfinite(np.asarray(everywhere)).all()


def test_kinks_have_the_derivatives_of_jax() -> None:
    assert float(jax.grad(nn.relu)(0.0)) == 0.0
    assert float(jax.grad(nn.relu6)(6.0)) == 0.0
    assert float(jax.grad(nn.leaky_relu)(0.0)) == 1.0


def test_gelu_without_approximation_is_the_normal_distribution_function() -> None:
    found = nn.gelu(X, approximate=False)
    np.testing.assert_allclose(found, WIDE * special.ndtr(WIDE), rtol=3e-6, atol=1e-7)


def test_log1mexp_is_accurate_at_both_ends() -> None:
    x = np.array([1e-6, 0.1, 0.6931, 0.7, 5.0, 40.0], np.float32)
    wide = x.astype(np.float64)
    expected = np.where(wide < 0.5, np.log(-np.expm1(-wide)), np.log1p(-np.exp(-wide)))
    np.testing.assert_allclose(nn.log1mexp(x), expected, rtol=1e-6)
    slope = jax.vmap(jax.grad(nn.log1mexp))(x)
    np.testing.assert_allclose(slope, 1 / np.expm1(x.astype(np.float64)), rtol=1e-6)


def test_glu_gates_one_half_by_the_other() -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_allclose(nn.glu(x), x[:, :2] * logistic(x[:, 2:]), rtol=1e-6)
    np.testing.assert_allclose(nn.glu(x, axis=0), x[:1] * logistic(x[1:]), rtol=1e-6)
    with pytest.raises(AssertionError, match="divisible by 2"):
        nn.glu(x[:, :3])


def test_one_hot_rows_name_their_index() -> None:
    index = np.array([[0, 2], [5, -1]])
    expected = np.zeros((2, 2, 3))
    expected[0, 0, 0] = expected[0, 1, 2] = 1
    np.testing.assert_array_equal(nn.one_hot(index, 3), expected)
    np.testing.assert_array_equal(nn.one_hot(index, 3, axis=0), expected.transpose(2, 0, 1))
    assert nn.one_hot(index, 3, dtype="int8").dtype == np.int8


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_the_dtype_is_kept(dtype: str) -> None:
    with jax.enable_x64(True):
        for name in FORMULAS:
            assert getattr(nn, name)(jax.numpy.ones(2, dtype)).dtype.name == dtype, name


@pytest.mark.parametrize("name", ["elu", "selu", "leaky_relu", "hard_tanh", "sparse_plus"])
def test_complex_numbers_are_ordered_by_their_real_parts(name: str) -> None:
    x = np.array([3 + 1j, 0.5 - 1j, -0.25, -4 + 2j], np.complex64)
    values = np.asarray(getattr(nn, name)(x))
    assert values.dtype == np.complex64
    real = np.asarray(getattr(nn, name)(np.float32(-0.25)))
    np.testing.assert_allclose(values[2], real, rtol=1e-6)


def test_classes_can_be_the_places_of_a_mapped_axis() -> None:
    labels = np.array([0, 2, 5])
    mapped = jax.vmap(
        lambda x: nn.one_hot(x, 3, axis="a"), in_axes=None, out_axes=1, axis_size=3, axis_name="a"
    )
    np.testing.assert_array_equal(mapped(labels), nn.one_hot(labels, 3))
    with pytest.raises(ValueError, match="match the size of axis a, but 4 != 3"):
        jax.vmap(lambda x: nn.one_hot(x, 4, axis="a"), axis_name="a")(labels)


def test_hard_tanh_of_bools_is_one_of_the_bounds() -> None:
    np.testing.assert_array_equal(nn.hard_tanh(np.array([False, True])), [0, 1])


def test_keys_have_no_one_hot_rows() -> None:
    with pytest.raises(TypeError, match="Cannot interpret 'key<fry>' as a data type of numbers"):
        nn.one_hot(jax.random.split(jax.random.key(0), 3), 4)
