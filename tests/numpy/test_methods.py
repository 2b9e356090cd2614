"""Tests of methods, properties and protocols of Arrays and tracers."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

X = np.array([[3.0, 1.0, 2.0], [6.0, 4.0, 5.0]], np.float32)
CALLS = (
    *(
        "all any argmax argmin argsort conj copy cumprod cumsum diagonal flatten max mean min"
    ).split(),
    *("prod ravel round squeeze std sum trace transpose var").split(),
)


@pytest.mark.parametrize("name", CALLS)
def test_methods_without_arguments(name):
    expected = getattr(X, name)()
    for found in (getattr(jnp.asarray(X), name)(), jax.jit(lambda x: getattr(x, name)())(X)):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_methods_with_arguments():
    x = jnp.asarray(X)
    for shape in ((3, 2), ((3, 2),), (-1,)):
        np.testing.assert_array_equal(x.reshape(*shape), X.reshape(*shape))
    np.testing.assert_array_equal(x.transpose(1, 0), x.transpose((1, 0)))
    np.testing.assert_array_equal(x.swapaxes(0, 1), X.T)
    np.testing.assert_array_equal(x.repeat(2, 1), X.repeat(2, 1))
    np.testing.assert_array_equal(x.take(jnp.array([0, 2]), 1), X.take([0, 2], 1))
    np.testing.assert_array_equal(x.compress(jnp.array([True, False]), 0), X[:1])
    np.testing.assert_array_equal(x.clip(2, 4), X.clip(2, 4))
    np.testing.assert_array_equal(x.dot(x.T), X @ X.T)
    np.testing.assert_array_equal(x.sum(axis=1, keepdims=True), X.sum(axis=1, keepdims=True))
    assert x.astype("int8").dtype == np.int8
    np.testing.assert_array_equal(x.sort(), np.sort(X))
    assert jnp.arange(3.0).searchsorted(1.5) == 2 and x.ptp() == 5


def test_properties():
    x = jnp.asarray(X)
    np.testing.assert_array_equal(x.T, X.T)
    np.testing.assert_array_equal(x.mT, X.T)
    z = jnp.array([1 + 2j])
    assert z.real[0] == 1 and z.imag[0] == 2
    assert (x.shape, x.ndim, x.size, x.nbytes, x.itemsize) == ((2, 3), 2, 6, 24, 4)
    with pytest.raises(ValueError, match="at least two-dimensional for matrix_transpose"):
        x[0].mT  # noqa: B018 - the access is the test


@pytest.mark.parametrize(
    ("old", "new"),
    [("float32", "int32"), ("float32", "int8"), ("int8", "float32"), ("complex64", "float32"),
     ("float32", "complex64"), ("bool", "uint8"), ("uint8", "bool")],
)  # fmt: skip
def test_views_of_bits(old, new):
    x = np.array([[1, 0, 1, 1], [0, 1, 1, 0]]).astype(old)
    np.testing.assert_array_equal(jnp.asarray(x).view(new), x.view(new))


def test_views_that_do_not_fit():
    with pytest.raises(ValueError, match="its size must be a divisor of the total size in bytes"):
        jnp.asarray(X).view("complex64")
    np.testing.assert_array_equal(jnp.asarray(X).byteswap().byteswap(), X)


def test_protocols():
    x = jnp.asarray(X)
    assert len(x) == 2 and [row.shape for row in x] == [(3,), (3,)]
    assert [float(v) for v in reversed(x[0])] == [2.0, 1.0, 3.0]
    assert 3.0 in x[0] and 7.0 not in x[0]
    assert jax.jit(lambda x: sum(x))(X).shape == (3,)
    for call in (len, iter):
        with pytest.raises(TypeError, match="unsized object|0-d array"):
            call(jnp.float32(1))
    with pytest.raises(ValueError, match="search array must be one-dimensional"):
        1.0 in x  # noqa: B015 - the question is the test
    with pytest.raises(TypeError, match="unhashable type"):
        hash(x)


def traced(function):
    """Return the error of calling a function on a tracer, with its message."""
    with pytest.raises(TypeError) as caught:
        jax.jit(function)(jnp.float32(1))
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (bool, "TracerBoolConversionError", "Attempted boolean conversion of traced array"),
        (int, "ConcretizationTypeError", "The problem arose with the `int` function."),
        (float, "ConcretizationTypeError", "try using `x.astype(float)`"),
        (complex, "ConcretizationTypeError", "The problem arose with the `complex` function."),
        (range, "TracerIntegerConversionError", "The __index__() method was called on traced"),
        (np.sin, "TracerArrayConversionError", "The numpy.ndarray conversion method __array__()"),
        (lambda x: x.item(), "ConcretizationTypeError", "traced array with shape float32[]"),
    ],
    ids=["bool", "int", "float", "complex", "index", "array", "item"],
)
def test_tracers_refuse_to_be_numbers(function, error, text):
    kind, message = traced(lambda x: function(x))
    assert kind is getattr(jax.errors, error) and text in message
    assert "for jit. This concrete value was not available in Python" in message
    assert "depends on the value of the argument x." in message


def test_values_behind_tracers_convert():
    assert jax.grad(lambda x: x * 3 if x > 0 else x)(3.0) == 3.0
    with pytest.raises(jax.errors.ConcretizationTypeError, match="`float` function"):
        jax.grad(lambda x: x * float(x))(3.0)
    assert jax.grad(lambda x: x * [1.0, 2.0][int(x)])(1.0) == 2.0


def test_tracers_print_as_in_jax():
    texts = []
    note = lambda x: texts.append(repr(x)) or x.sum()  # noqa: E731
    jax.jit(note)(X[0])
    jax.vmap(note)(X)
    jax.grad(note)(jnp.arange(2.0))
    jax.jvp(note, (1.0,), (2.0,))
    assert texts == [
        "JitTracer(float32[3])",
        "VmapTracer(aval=float32[3], batched=float32[2,3])",
        "GradTracer(primal=[0. 1.], typeof(tangent)=f32[2])",
        "JVPTracer(primal=1.0, tangent=2.0)",
    ]


def test_missing_attributes():
    with pytest.raises(AttributeError, match="'Array' object has no attribute 'foo'"):
        jnp.arange(3).foo  # noqa: B018


@pytest.mark.parametrize(
    ("element", "kind", "text"),
    [
        ([1], TypeError, "requires ndarray or scalar arguments, got <class 'list'>"),
        ("a", TypeError, "requires ndarray or scalar arguments, got <class 'str'>"),
        (X[:1], ValueError, r"query value must be a scalar, got query.shape=\(1,"),
    ],
    ids=str,
)
def test_only_scalars_are_elements(element, kind, text):
    for x in (jnp.arange(3), jnp.zeros(0)):
        with pytest.raises(kind, match=text):
            element in x  # noqa: B015
