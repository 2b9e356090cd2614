"""Tests of `x.at[...]`, against NumPy."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.numpy.indices import INDICES, X, as_jax

ADDERS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}
OTHERS = {"divide": np.divide, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("index", INDICES, ids=range(len(INDICES)))
def test_set_and_add_as_numpy(index):
    named = as_jax(index)
    written = X.copy()
    written[index] = 7
    np.testing.assert_array_equal(jnp.asarray(X).at[named].set(7), written)
    values = np.random.default_rng(1).normal(size=X[index].shape).astype(np.float32)
    added = X.copy()
    np.add.at(added, index, values)
    found = jax.jit(lambda x: x.at[named].add(values))(X)
    np.testing.assert_allclose(found, added, rtol=1e-6)


@pytest.mark.parametrize("name", [*ADDERS, *OTHERS])
def test_places_named_twice_count_twice(name):
    x, places = np.arange(1.0, 4.0, dtype=np.float32), np.array([1, 1, 0])
    values = np.array([2.0, 3.0, 0.5], np.float32)
    expected = x.copy()
    (ADDERS | OTHERS)[name].at(expected, places, values)
    found = getattr(jnp.asarray(x).at[places], name)(values)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_powers_and_functions():
    x = jnp.arange(1.0, 4.0)
    np.testing.assert_array_equal(x.at[1].power(3), [1.0, 8.0, 3.0])
    applied = x.at[jnp.array([0, 0, 2])].apply(lambda v: 10 * v)
    np.testing.assert_array_equal(applied, [100.0, 2.0, 30.0])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "complex64", "bool"])
@pytest.mark.parametrize("width", [4, 16, 21])
def test_functions_are_applied_to_rows_under_jit(dtype, width):
    x, places = np.arange(3 * width).reshape(3, width).astype(dtype), np.array([1])
    expected = x.copy()
    expected[1] = x[1] + x[1]
    for mode in ("drop", "clip", None):
        found = jax.jit(lambda x, mode=mode: x.at[places].apply(lambda v: v + v, mode=mode))(x)
        np.testing.assert_array_equal(found, expected)


def test_modes():
    x, places = jnp.zeros(3), jnp.array([5, -1, -7])
    np.testing.assert_array_equal(x.at[places].add(1.0), [0, 0, 1])
    np.testing.assert_array_equal(x.at[places].add(1.0, mode="clip"), [1, 0, 2])
    unwrapped = x.at[jnp.array([-1, 1])].add(1.0, wrap_negative_indices=False)
    np.testing.assert_array_equal(unwrapped, [0, 1, 0])
    with pytest.raises(ValueError, match='Unknown gather mode "zz"'):
        x.at[places].set(1, mode="zz")


def test_values_broadcast_and_convert():
    x = jnp.zeros((2, 3), jnp.int32)
    np.testing.assert_array_equal(x.at[:, 1].set(jnp.array([4, 5])), [[0, 4, 0], [0, 5, 0]])
    np.testing.assert_array_equal(x.at[0].set([1, 2, 3]), [[1, 2, 3], [0, 0, 0]])
    with pytest.raises(ValueError, match="Incompatible types for broadcasting: input type="):
        x.at[0].set(jnp.arange(2))
    for method in ("set", "add", "divide"):
        with pytest.raises(ValueError, match="Cannot broadcast to shape with fewer dimensions"):
            getattr(x.at[0, 1], method)(jnp.ones(1, int))
    with pytest.warns(FutureWarning, match="scatter inputs have incompatible types"):
        assert jnp.array([4]).at[0].multiply(1.5)[0] == 6
    assert jnp.array([250], "uint8").at[0].add(10)[0] == 4
    assert jnp.array([250], "uint8").at[0].set(-1)[0] == 255


def test_gradients_of_updates():
    x, y = jnp.arange(3.0), jnp.array([10.0, 20.0])
    places = jnp.array([2, 0])
    weights = jnp.array([1.0, 2.0, 3.0])
    dx, dy = jax.grad(lambda x, y: (x.at[places].set(y) * weights).sum(), (0, 1))(x, y)
    np.testing.assert_array_equal(dx, [0, 2, 0])
    np.testing.assert_array_equal(dy, [3, 1])
    dx, dy = jax.grad(lambda x, y: (x.at[places].add(y) * weights).sum(), (0, 1))(x, y)
    np.testing.assert_array_equal(dx, weights)
    np.testing.assert_array_equal(dy, [3, 1])


def test_batched_updates():
    found = jax.vmap(lambda x, i, y: x.at[i].set(y))(
        X[..., 0], np.array([0, 3, -1]), np.arange(3.0)
    )
    expected = X[..., 0].copy()
    expected[np.arange(3), [0, 3, -1]] = np.arange(3.0)
    np.testing.assert_array_equal(found, expected)


def test_the_array_is_not_changed():
    x = jnp.zeros(3)
    x.at[0].set(1)
    np.testing.assert_array_equal(x, np.zeros(3))
    with pytest.raises(TypeError, match="JAX arrays are immutable and do not support in-place"):
        x[0] = 1
    with pytest.raises(AttributeError, match="no attribute 'sub'"):
        x.at[0].sub  # noqa: B018 - the access is the test


def test_an_assignment_is_told_what_to_write():
    with pytest.raises(TypeError, match=r"support item assignment\. .*use x = x\.at\[idx\]\.set"):
        jnp.ones(3).at[0] = 2.0


def test_texts():
    x = jnp.arange(2)
    assert repr(x.at) == "_IndexUpdateHelper(Array([0, 1], dtype=int32))"
    assert repr(x.at[0]) == "_IndexUpdateRef(Array([0, 1], dtype=int32), 0)"


def test_quotients_and_powers_have_the_dtype_of_the_operation():
    x = jnp.array([1, 4], "uint8")
    assert_is(x.at[1].divide(8), [1.0, 0.5], "float32")
    assert_is(x.at[1].power(2), [1, 16], "uint8")


def assert_is(found, expected, dtype):
    """Assert values and a dtype."""
    np.testing.assert_array_equal(found, np.array(expected, dtype))
    assert found.dtype == dtype


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.ones(2, np.float32)], ids=str)
@pytest.mark.parametrize("name", ["set", "add", "multiply", "min"])
def test_updates_keep_weakness(name, value):
    weak, strong = jnp.broadcast_to(jnp.asarray(3.0), (2,)), jnp.full(2, 3.0, "float32")
    assert weak.weak_type
    for index in (slice(None), np.array([1, 0]), (..., None)[:1]):
        for x in (weak, strong):
            update = lambda x, index=index: getattr(x.at[index], name)(value)  # noqa: E731
            assert update(x).weak_type == x.weak_type
            assert jax.jit(update)(x).weak_type == x.weak_type
    assert weak.at[0].apply(jnp.sin).weak_type


def test_a_fill_value_is_a_known_scalar():
    x = jnp.arange(3.0)
    get = lambda x, fill: x.at[5].get(mode="fill", fill_value=fill)  # noqa: E731
    assert get(x, 7) == 7
    with pytest.raises(jax.errors.ConcretizationTypeError, match="fill_value argument to indexed"):
        jax.jit(get)(x, 7.0)
    with pytest.raises(ValueError, match=r"must be a scalar, got shape \(2,\)"):
        get(x, x[:2])


@pytest.mark.parametrize("index", [0, slice(1, None), np.array([0, 2])])
def test_unknown_modes_are_refused_at_every_index(index):
    with pytest.raises(ValueError, match='Unknown gather mode "wrap"'):
        jnp.arange(3.0).at[index].add(1.0, mode="wrap")


@pytest.mark.filterwarnings("ignore")
def test_an_update_of_a_scalar_keeps_its_strength():
    found = jnp.asarray(True).at[...].multiply(1j)
    assert (found.dtype, found.weak_type) == (bool, False)


def test_negative_places_that_are_not_wrapped_are_out_of_bounds():
    x = jnp.arange(3.0)
    found = x.at[-1].add(9.0, mode="clip", wrap_negative_indices=False)
    np.testing.assert_array_equal(found, [9, 1, 2])
    found = x.at[-1].add(9.0, wrap_negative_indices=False)
    np.testing.assert_array_equal(found, [0, 1, 2])
