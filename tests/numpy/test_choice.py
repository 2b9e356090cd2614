"""Tests of choosing elementwise, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

X = np.array([[0.0, -2.0, 3.0], [4.0, 0.0, -6.0]], np.float32)
CASES = [
    (np.array([True, False, True]), X, 2),
    (True, X, X + 1),
    (X > 0, np.ones(3, np.float32), 1.0),
    (np.array([[1], [0]]), 1.5, X),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_where_chooses_as_numpy(case):
    condition, x, y = CASES[case]
    expected = np.where(condition, x, y).astype(np.float32)
    np.testing.assert_array_equal(jnp.where(condition, x, y), expected)
    np.testing.assert_array_equal(jax.jit(jnp.where)(condition, x, y), expected)


def test_gradient_of_where_goes_to_what_was_chosen():
    dx, dy = jax.grad(lambda x, y: jnp.where(X > 0, x, y).sum(), (0, 1))(X, 2 * X)
    np.testing.assert_array_equal(dx, X > 0)
    np.testing.assert_array_equal(dy, X <= 0)


def test_where_with_one_argument_is_nonzero():
    for found, expected in zip(jnp.where(X), np.where(X), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="cannot be used in three-term where"):
        jnp.where(X > 0, 1, 2, size=3)


@pytest.mark.parametrize("size", [0, 2, 4, 6])
def test_nonzero_of_a_stated_size(size):
    rows, columns = jax.jit(lambda x: jnp.nonzero(x, size=size, fill_value=-1))(X)
    expected = [list(np.nonzero(X)[axis])[:size] for axis in (0, 1)]
    padded = [part + [-1] * (size - len(part)) for part in expected]
    np.testing.assert_array_equal([rows, columns], np.reshape(padded, (2, size)))


def test_nonzero_of_a_traced_array_needs_a_size():
    with pytest.raises(jax.errors.ConcretizationTypeError, match="size argument of jnp.nonzero"):
        jax.jit(jnp.nonzero)(X)


def test_flatnonzero_and_argwhere():
    np.testing.assert_array_equal(jnp.flatnonzero(X), np.flatnonzero(X))
    np.testing.assert_array_equal(jnp.argwhere(X), np.argwhere(X))
    assert jnp.argwhere(jnp.array(3)).shape == np.argwhere(np.array(3)).shape


def test_select_takes_the_first_condition_that_holds():
    conditions, choices = [X > 2, X > -3], [X, 10 * X]
    expected = np.select(conditions, choices, 7)
    np.testing.assert_array_equal(jnp.select(conditions, choices, 7), expected)
    with pytest.raises(ValueError, match="condlist must be non-empty"):
        jnp.select([], [])


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("n_choices", [1, 2, 3])
def test_choose_by_number(mode, n_choices):
    numbers = np.array([0, 1, 2, 0]) if mode == "raise" else np.array([-1, 1, 5, 0])
    numbers = numbers % n_choices if mode == "raise" else numbers
    choices = [np.arange(4) + 10 * number for number in range(n_choices)]
    expected = np.choose(numbers, choices, mode=mode)
    np.testing.assert_array_equal(jnp.choose(numbers, choices, mode=mode), expected)


def test_choose_refuses_numbers_out_of_range():
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        jnp.choose(jnp.array([2]), [jnp.arange(1), jnp.arange(1)])


def test_piecewise_with_and_without_default():
    functions = [lambda x: x**2, lambda x: -x, 7.0]
    conditions = [X > 1, X < -1]
    expected = np.piecewise(X, conditions, functions)
    np.testing.assert_array_equal(jnp.piecewise(X, conditions, functions), expected)
    with pytest.raises(ValueError, match="with 2 condition"):
        jnp.piecewise(X, conditions, functions[:1])


@pytest.mark.parametrize("bounds", [(0, 2), (None, 1), (-1, None), (X - 1, X + 0.5), (None, None)])
def test_clip(bounds):
    low, high = bounds
    expected = X if low is None and high is None else np.clip(X, low, high)
    np.testing.assert_array_equal(jnp.clip(X, low, high), expected)


def test_clip_refuses_complex_numbers():
    with pytest.raises(ValueError, match="Clip received a complex value"):
        jnp.clip(jnp.arange(3), 1j)


def test_nan_to_num():
    x = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    np.testing.assert_array_equal(jnp.nan_to_num(x), np.nan_to_num(x))
    expected = np.nan_to_num(x, nan=1, posinf=2, neginf=3)
    np.testing.assert_array_equal(jnp.nan_to_num(x, nan=1, posinf=2, neginf=3), expected)
    z = np.array([complex(np.nan, np.inf), complex(1, -np.inf)], np.complex64)
    np.testing.assert_array_equal(jnp.nan_to_num(z), np.nan_to_num(z))


@pytest.mark.parametrize("name", ["nonzero", "flatnonzero", "argwhere", "where", "unique"])
def test_there_is_no_negative_number_of_places(name):
    with pytest.raises(ValueError, match="size=-2"):
        getattr(jnp, name)(jnp.arange(3), size=-2)
