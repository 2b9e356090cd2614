"""Tests of promotion, checks, axes, and arrays from objects."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.numpy import common


class Wrapped:
    """An object that stands for an array."""

    def __jax_array__(self):
        """Return the array."""
        return jnp.arange(3)


def test_scalars_become_constants_of_the_array_s_dtype():
    x, two = common.promote_args("add", jnp.ones(3, "float16"), 2)
    assert x.dtype == two.dtype == np.float16 and isinstance(two, np.float16)


def test_ranks_meet_by_leading_axes_and_scalars_stay():
    shapes = [np.shape(x) for x in common.promote_args("f", np.ones((2, 3)), np.ones(3), 1.0)]
    assert shapes == [(2, 3), (1, 3), ()]


def test_rank_promotion_is_refused_on_demand():
    x, y = jnp.ones((3, 4)), jnp.ones(4)
    text = r"could not be broadcast together for add on shapes \(3, 4\) \(4,\)"
    with jax.config.numpy_rank_promotion("raise"), pytest.raises(ValueError, match=text):
        x + y
    with jax.config.numpy_rank_promotion("warn"):
        with pytest.warns(UserWarning, match="Following NumPy automatic rank promotion for add"):
            x + y
    with jax.config.numpy_rank_promotion("raise"):
        assert (x + 1).shape == (3, 4)


@pytest.mark.parametrize(
    ("value", "position", "kind"), [([1], 0, "list"), (None, 0, "NoneType"), ("a", 0, "str")]
)
def test_what_is_no_array_is_refused_with_its_position(value, position, kind):
    text = f"add requires ndarray or scalar arguments, got <class '{kind}'> at position {position}."
    with pytest.raises(TypeError, match=text):
        jnp.add(value, 1)


def test_axes_count_from_the_end_and_are_checked():
    assert common.canonicalize_axes((-1, 0), 3) == (2, 0)
    assert common.canonicalize_axes(None, 2) == (0, 1)
    with pytest.raises(ValueError, match="axis 3 is out of bounds for array of dimension 2"):
        common.canonicalize_axis(3, 2)
    with pytest.raises(ValueError, match=r"duplicate value in 'axis': \(0, 0\)"):
        common.canonicalize_axes((0, 0), 2)


@pytest.mark.parametrize(
    ("value", "dtype", "weak"),
    [
        (1, "int32", True),
        (1.5, "float32", True),
        (True, "bool", False),
        (1j, "complex64", True),
        ([1, 2.5], "float32", False),
        ([np.float16(1), 2.0], "float16", False),
        ([], "float32", False),
        (range(3), "int32", False),
        (np.arange(3.0), "float32", False),
        (memoryview(b"ab"), "uint8", False),
        (Wrapped(), "int32", False),
        ([np.ones(2, "float16"), [1, 2]], "float16", False),
    ],
    ids=(
        *("int float bool complex list half_and_float empty range numpy_array buffer").split(),
        *("wrapped nested").split(),
    ),
)
def test_array_of_an_object(value, dtype, weak):
    made = jnp.array(value)
    assert (made.dtype, made.weak_type) == (dtype, weak)
    expected = np.asarray(common.value_of(value), dtype)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (None, ValueError, "None is not a valid value for jnp.array"),
        ([1, None], ValueError, "None is not a valid value for jnp.array"),
        ("a", TypeError, "Value 'a' with dtype <U1 is not a valid JAX array type"),
        ({}, TypeError, "with dtype object is not a valid JAX array type"),
        ([[1, 2], [3]], ValueError, "inhomogeneous"),
        (2**40, OverflowError, "too large to convert to int32"),
        ([jnp.ones(2), jnp.ones(3)], TypeError, "Cannot concatenate arrays"),
    ],
    ids="none none_inside text dict ragged too_large ragged_arrays".split(),
)
def test_what_cannot_be_an_array(value, error, text):
    with pytest.raises(error, match=text):
        jnp.array(value)


def test_asarray_of_an_array_is_itself_and_array_is_a_copy():
    x = jnp.arange(3)
    assert jnp.asarray(x) is x
    assert jnp.array(x) is not x


def test_ndmin_adds_leading_axes():
    assert jnp.array([1], ndmin=3).shape == (1, 1, 1)


def test_lists_with_tracers_are_joined():
    made = jax.jit(lambda x: jnp.array([[x, 1], [2, x]]))(3.5)
    np.testing.assert_array_equal(made, [[3.5, 1], [2, 3.5]])


def test_shape_of_what_has_a_shape():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    assert (jnp.shape(masked), jnp.ndim(masked), jnp.size(masked)) == ((2,), 1, 2)
    assert jnp.shape(jax.ShapeDtypeStruct((2, 3), "float32")) == (2, 3)
    assert jnp.size(np.zeros((2, 3)), 1) == 3
    with pytest.warns(DeprecationWarning, match="shape requires ndarray or scalar arguments"):
        assert jnp.shape([1, 2]) == (2,)


def test_a_traced_value_is_asked_for_its_number():
    with pytest.raises(jax.errors.ConcretizationTypeError, match="It is needed here"):
        jax.jit(lambda x: common.concrete_value(x, "It is needed here."))(1.0)
    assert jax.grad(lambda x: x * common.concrete_value(x, ""))(3.0) == 3.0


@pytest.mark.parametrize(
    "make",
    [
        lambda dtype: jnp.array(1, dtype),
        lambda dtype: jnp.array([1, 2], dtype),
        lambda dtype: jnp.asarray(np.ones(3), dtype),
        lambda dtype: jnp.arange(3, dtype=dtype),
        lambda dtype: jnp.indices((2,), dtype),
    ],
)
def test_numbers_do_not_become_keys(make):
    dtype = jax.random.key(0).dtype
    with pytest.raises(TypeError, match=r"makes numbers, .* dtype key<fry>. Use jax.random.key"):
        make(dtype)
    assert jnp.array(jax.random.key(0), dtype).dtype is dtype


PROMOTIONS = ["promote_args", "promote_args_numeric", "promote_args_inexact"]


@pytest.mark.parametrize("name", PROMOTIONS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_operands_of_numpy_have_the_operators_of_arrays(name, dtype):
    x = np.ones(3, jnp.dtype(dtype))
    for operands in ((x,), (x, x), (jnp.ones(3, dtype), x), (2.0, x), (x[0],), (x[0], x[0])):
        values = getattr(common, name)("f", *operands)
        assert all(isinstance(each, jax.Array) for each in values if np.ndim(each))
        assert any(isinstance(each, jax.Array) for each in values)
        assert (values[-1] * 2.5).dtype == dtype


@pytest.mark.parametrize("one", [np.float32([0, 1]), np.float32(1), 1.0, np.ones(2, jnp.bfloat16)])
def test_operators_of_libraries_neither_warn_nor_raise(one):
    for function in (jax.scipy.special.logit, jax.jit(jax.scipy.special.logit)):
        with np.errstate(all="raise"):
            found = function(one)
        assert found.dtype == jnp.asarray(one).dtype and jnp.isinf(found).all()
    assert jnp.isinf(jax.jit(lambda: jax.scipy.special.logit(one))()).all()


@pytest.mark.parametrize("name", PROMOTIONS)
@pytest.mark.parametrize("numbers", [(2.0,), (2.0, -0.0), (2,), (2, 3), (1j,)])
@pytest.mark.parametrize("wide", [False, True])
def test_numbers_of_python_alone_are_arrays_of_their_own_kind(name, numbers, wide):
    with jax.enable_x64(wide):
        values = getattr(common, name)("f", *numbers)
        kind = type(numbers[0])
        if kind is int and name == "promote_args_inexact":
            kind = float
        assert [each.dtype for each in values] == [jnp.zeros((), kind).dtype] * len(numbers)
        assert [each.item() for each in values] == list(numbers)
        assert all(isinstance(each, jax.Array) and each.weak_type for each in values)


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**70])
def test_integers_that_do_not_fit_are_refused(number):
    for call in (lambda: jnp.add(number, 1), lambda: jnp.asarray(number), lambda: jnp.sin(number)):
        with pytest.raises(OverflowError, match=str(number)):
            call()
    assert jnp.add(2**31 - 1, 0) == 2**31 - 1 and jnp.asarray(-(2**31)).item() == -(2**31)


def test_operands_of_one_dtype_and_of_one_rank_or_none_go_together_as_they_are():
    x, row, scalar = jnp.ones((3, 2)), jnp.ones((1, 2)), jnp.ones(())
    assert common.alike((x, row, scalar)) is x.aval
    assert common.alike((scalar, x, row)) is scalar.aval
    vector, weak, whole = jnp.ones(2), jnp.asarray(1.0), jnp.arange(2)
    assert weak.weak_type
    for others in ((vector,), (weak,), (whole,), (scalar, vector), (1.0,)):
        assert common.alike((x, *others)) is None
