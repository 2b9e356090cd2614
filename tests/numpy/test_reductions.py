"""Reductions are NumPy's, in the dtypes of JAX."""

import math
from fractions import Fraction

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

X = normal(4, 5, 3)
MASK = np.random.default_rng(1).random(X.shape) < 0.6
KEY = jax.random.key(0).dtype
FLOATING = ["sum", "prod", "max", "min", "mean", "var", "std", "ptp", "any", "all"]


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("name", FLOATING)
def test_axes(name, axis):
    if name == "ptp" and axis == ():
        axis = 1
    for keepdims in (False, True):
        check(name, X, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "any", "all"])
def test_masks(name):
    check(name, X, axis=1, where=MASK)
    check(name, X, axis=(0, 1), where=MASK[:, :1], keepdims=True)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_initial_values(name):
    check(name, X, axis=0, initial=0.5)
    check(name, X, axis=0, initial=0.5, where=MASK)


@pytest.mark.parametrize("name", ["sum", "max", "nanmin", "nansum"])
def test_an_initial_value_may_be_traced(name):
    reduce = getattr(jnp, name)
    found = jax.jit(lambda x, start: reduce(x, axis=0, initial=start))(X, 2)
    np.testing.assert_array_equal(found, reduce(X, axis=0, initial=2))


@pytest.mark.parametrize(
    ("name", "dtype", "expected"),
    [
        ("sum", "int8", "int32"),
        ("sum", "uint8", "uint32"),
        ("prod", "bool", "int32"),
        ("sum", "float16", "float16"),
        ("mean", "int16", "float32"),
        ("mean", "bfloat16", "bfloat16"),
        ("var", "complex64", "float32"),
        ("max", "int8", "int8"),
        ("count_nonzero", "float32", "int32"),
        ("argmax", "float32", "int32"),
    ],
)
def test_dtypes(name, dtype, expected):
    assert getattr(jnp, name)(jnp.ones(3, dtype)).dtype == expected


def test_short_floats_are_added_up_in_float32():
    assert jnp.sum(jnp.ones(4096, "float16")) == 4096
    assert jnp.mean(jnp.full(4096, 3, "bfloat16")) == 3


LONG = 1_000_000
LONG_SUMS = {
    "sum": (jnp.sum, LONG),
    "mean": (jnp.mean, 1),
    "reduce_sum": (lambda x: jax.lax.reduce_sum(x, (0,)), LONG),
    "reduce": (lambda x: jax.lax.reduce(x, x.dtype.type(0), jax.lax.add, (0,)), LONG),
    "of products": (lambda x: jnp.sum(x * (x / x)), LONG),
    "in a loop": (
        lambda x: jax.lax.fori_loop(0, 2, lambda _, c: jnp.sum(x + 0 * c), x.dtype.type(0)),
        LONG,
    ),
    "strided": (lambda x: jnp.sum(x.reshape(-1, 2)[:, 1]), LONG // 2),
    "of columns": (lambda x: jnp.sum(x.reshape(-1, 4), axis=0)[1], LONG // 4),
    "of rows": (lambda x: jnp.sum(x.reshape(4, -1), axis=1)[1], LONG // 4),
    "vmap": (lambda x: jax.vmap(jnp.sum, 1)(x.reshape(-1, 5))[3], LONG // 5),
    "complex": (lambda x: jnp.sum(jax.lax.complex(x, x)).imag, LONG),
    "nansum": (jnp.nansum, LONG),
    "average": (jnp.average, 1),
    "trapezoid": (jnp.trapezoid, LONG - 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LONG_SUMS)
def test_errors_of_long_sums_grow_as_those_of_pairs(name, dtype):
    """Equal terms are the worst case: all additions of a run are rounded the same way."""
    function, times = LONG_SUMS[name]
    with jax.enable_x64(True):
        x = np.full(LONG, 0.1, dtype)
        exact = Fraction(float(x[0])) * times
        unit = np.finfo(dtype).eps / 2
        for call in (function, jax.jit(function)):
            error = abs(Fraction(float(call(jnp.asarray(x)))) - exact) / exact
            assert error < math.log2(LONG) * unit


def test_sums_of_terms_of_both_signs_are_near_the_exact_sum():
    x = np.random.default_rng(5).standard_normal(LONG).astype("float32")
    bound = math.log2(LONG) * np.finfo("float32").eps / 2
    rows = x.astype(float)
    assert abs(float(jnp.sum(x)) - math.fsum(rows)) < bound * math.fsum(abs(rows))
    squares = math.fsum(rows * rows)
    assert abs(float(jnp.linalg.norm(x)) - math.sqrt(squares)) < bound * math.sqrt(squares)
    variance = float(np.var(rows))
    assert abs(float(jnp.var(x)) - variance) < 2 * bound * variance


def test_integers_may_keep_their_dtype():
    assert jnp.sum(jnp.ones(3, "int8"), promote_integers=False).dtype == "int8"


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_of_extremes(name, axis):
    ties = np.array([[3, 1, 3], [1, 3, 1]])
    for keepdims in (False, True):
        check(name, ties, axis=axis, keepdims=keepdims)
    check(name, np.array([1.0, np.nan, 3.0, np.nan], np.float32))


def test_counts_and_corrections():
    check("count_nonzero", np.array([[0, 3], [4, 0], [1, 1]]), axis=0)
    check("var", X, axis=0, ddof=1)
    np.testing.assert_allclose(jnp.std(X, correction=1), np.std(X, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(jnp.var(X, mean=np.float32(0)), np.mean(X**2), rtol=1e-5)


def test_averages():
    weights = np.array([1.0, 2.0, 0.5, 3.0], np.float32)
    check("average", X, axis=0, weights=weights)
    check("average", X, weights=np.abs(X), returned=True)
    check("average", X, axis=2, keepdims=True)
    with pytest.raises(ValueError, match="Axis must be specified"):
        jnp.average(X, weights=weights)
    with pytest.raises(ValueError, match="Shape of weights must be consistent"):
        jnp.average(X, axis=1, weights=weights)


def test_gradients_of_spreads():
    x = np.array([1.0, 2.0, 4.0], np.float32)
    expected = 2 * (x - x.mean()) / 3
    np.testing.assert_allclose(jax.grad(jnp.var)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(jnp.std)(x), expected / 2 / x.std(), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jnp.max(jnp.ones((0, 3)), axis=0), ValueError, "max which has no identity"),
        (lambda: jnp.min(X, where=MASK), ValueError, "where mask one has to specify 'initial'"),
        (lambda: jnp.argmax(jnp.ones((0,))), ValueError, "argmax of an empty sequence"),
        (lambda: jnp.sum(X, out=X), NotImplementedError, "'out' argument to jnp.sum"),
        (lambda: jnp.var(X, ddof=1, correction=1), ValueError, "provided simultaneously"),
        (lambda: jnp.sum(X, initial=np.ones(3)), ValueError, r"scalar. Got array of shape \(3,\)"),
        (lambda: jnp.sum(X, dtype=KEY), ValueError, "Cannot convert_element_type .* to key<fry>"),
        (lambda: jnp.mean(X, dtype=KEY), ValueError, "mean needs a dtype of numbers"),
        (lambda: jnp.sum([1, 2]), TypeError, "requires ndarray or scalar arguments"),
        (lambda: jnp.sum(X, axis=3), ValueError, "axis 3 is out of bounds"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_mask_may_have_more_axes():
    x, mask = np.arange(4, dtype=np.float32), np.arange(12).reshape(3, 4) % 3 > 0
    wide = np.broadcast_to(x, (3, 4))
    options = {"axis": 0, "keepdims": True, "where": mask}
    np.testing.assert_array_equal(jnp.sum(x, **options), wide.sum(**options))
    np.testing.assert_array_equal(
        jnp.max(x, initial=0.5, **options), wide.max(initial=0.5, **options)
    )
    with pytest.raises(ValueError, match=r"fewer dimensions: arr_shape=\(3, 4\) shape=\(4,\)"):
        jnp.mean(x, where=mask)


@pytest.mark.parametrize("name", ["sum", "prod", "all", "any", "mean", "var", "std", "max", "min"])
def test_masks_are_of_bools(name):
    options = {"initial": 0.0} if name in ("max", "min") else {}
    function = getattr(jnp, name)
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="where must be None or a boolean array"):
        function(x, where=np.ones((2, 3), np.int32), **options)
    assert function(x, where=np.ones((2, 3), bool), **options).shape == ()


@pytest.mark.parametrize("x", [np.array([[0.0, 2.0], [0.0, 3.0]], "float32"), X > 0])
def test_sums_and_products_to_bools_are_logical(x):
    np.testing.assert_array_equal(jnp.sum(x, axis=0, dtype=bool), x.any(axis=0))
    np.testing.assert_array_equal(jnp.prod(x, axis=0, dtype=bool), x.all(axis=0))
    assert jnp.sum(np.zeros(2, bool), dtype=bool, initial=True)
    assert not jnp.prod(np.ones(2, bool), dtype=bool, initial=False)
    assert jnp.sum(x, promote_integers=False).dtype == (x.dtype if x.dtype != bool else "int32")


def test_variances_have_the_dtype_that_is_asked():
    assert jnp.var(X, dtype="complex64").dtype == "complex64"
    assert jnp.std(1j * X).dtype == "float32"
    with pytest.raises(ValueError, match=r"jnp\.std must be inexact; got int8"):
        jnp.std(X, dtype="int8")


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_variances_of_complex_numbers_in_a_real_dtype_are_refused(name):
    with pytest.raises(ValueError, match="does not yet support real dtype parameters"):
        getattr(jnp, name)(np.ones(3, np.complex64), dtype="float16")


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16"])
@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_a_mean_of_another_dtype_is_converted(name, dtype):
    x = np.array([[1.0, 2.0, 6.0], [0.0, 1.0, 1.0]], np.float32)
    mean = np.array([[1], [0]]).astype(dtype)
    found = getattr(jnp, name)(x, axis=1, mean=mean)
    expected = np.mean((x - [[1], [0]]) ** 2, axis=1)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected if "var" in name else np.sqrt(expected), rtol=1e-6)


NAMED = ["sum", "max", "min", "mean", "var", "std", "ptp", "nansum", "nanmean", "count_nonzero"]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("axis", ["i", ("i",), (0, "i"), ("i", 0)])
def test_axes_of_vmap_are_reduced_by_their_names(name: str, axis: object) -> None:
    x = np.random.default_rng(3).normal(size=(3, 4)).astype("float32")
    function = getattr(jnp, name)
    found = jax.vmap(lambda row: function(row, axis=axis), axis_name="i")(x)
    expected = getattr(np, name)(x, axis=None if 0 in tuple(axis) else 0)
    for row in found:  # each row has the same
        np.testing.assert_allclose(row, expected, rtol=1e-5)


def test_names_of_axes_go_with_masks_and_kept_dimensions() -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    mean = jax.vmap(
        lambda row: jnp.mean(row, ("i", 0), where=row > 1, keepdims=True), axis_name="i"
    )
    np.testing.assert_allclose(mean(x), np.full((2, 1), x[x > 1].mean()))
    softmax = jax.vmap(lambda row: jax.nn.softmax(row, axis="i"), axis_name="i")
    np.testing.assert_allclose(softmax(x), jax.nn.softmax(x, axis=0), rtol=1e-6)
    total = jax.vmap(lambda row: jax.nn.logsumexp(row, axis=(0, "i")), axis_name="i")
    np.testing.assert_allclose(total(x), np.full(2, jax.nn.logsumexp(x)), rtol=1e-6)


def test_names_of_axes_that_cannot_be_reduced_are_refused() -> None:
    x = jnp.ones((2, 3))
    for reduce in (jnp.prod, jnp.all, jnp.any):
        with pytest.raises(NotImplementedError, match=f"not implemented for jnp.{reduce.__name__}"):
            jax.vmap(lambda row, reduce=reduce: reduce(row, axis="i"), axis_name="i")(x)
    with pytest.raises(NameError, match="unbound axis name: k"):
        jnp.sum(x, axis="k")
    with pytest.raises(ValueError, match=r"duplicate value in 'axis': \('i', 'i'\)"):
        jnp.sum(x, axis=("i", "i"))
