"""Differentiation as users call it: arguments, auxiliary results, complex numbers, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp

X = np.array([0.1, 0.2, 0.3], np.float32)
FLOAT0 = np.zeros((), jax.float0)


def test_argnums_choose_arguments_and_shape_the_result():
    f = lambda x, y: x * x * y  # noqa: E731
    assert jax.grad(f)(3.0, 2.0) == 12.0
    assert jax.grad(f, 1)(3.0, 2.0) == 9.0
    assert jax.grad(f, -1)(3.0, 2.0) == 9.0
    assert jax.grad(f, (0, 1))(3.0, 2.0) == (12.0, 9.0)
    assert jax.grad(f, (1,))(3.0, 2.0) == (9.0,)
    assert jax.value_and_grad(f)(3.0, y=2.0) == (18.0, 12.0)


def test_gradients_have_the_tree_of_the_argument():
    tree = {"w": X, "b": (1.0, None)}
    gradient = jax.grad(lambda t: jnp.sum(t["w"] * X) + t["b"][0] ** 2)(tree)
    np.testing.assert_allclose(X, gradient["w"])
    assert gradient["b"] == (2.0, None)


def test_auxiliary_results_are_returned_as_they_are():
    f = lambda x: (x * x, {"twice": 2 * x, "tag": 7})  # noqa: E731
    assert jax.grad(f, has_aux=True)(3.0) == (6.0, {"twice": 6.0, "tag": 7})
    (value, aux), gradient = jax.value_and_grad(f, has_aux=True)(3.0)
    assert (value, aux["twice"], gradient) == (9.0, 6.0, 6.0)
    value, back, aux = jax.vjp(f, 3.0, has_aux=True)
    assert (value, back(1.0), aux["tag"]) == (9.0, (6.0,), 7)
    assert jax.jvp(f, (3.0,), (1.0,), has_aux=True)[1] == 6.0
    assert jax.linearize(f, 3.0, has_aux=True)[1](1.0) == 6.0


@pytest.mark.parametrize(
    "auxiliary",
    [
        lambda f: jax.grad(f, has_aux=True)(2.0)[1],
        lambda f: jax.value_and_grad(f, has_aux=True)(2.0)[0][1],
        lambda f: jax.jvp(f, (2.0,), (1.0,), has_aux=True)[2],
        lambda f: jax.vjp(f, 2.0, has_aux=True)[2],
        lambda f: jax.linearize(f, 2.0, has_aux=True)[2],
        lambda f: jax.jacrev(f, has_aux=True)(2.0)[1],
        lambda f: jax.jacfwd(f, has_aux=True)(2.0)[1],
    ],
    ids=["grad", "value_and_grad", "jvp", "vjp", "linearize", "jacrev", "jacfwd"],
)
def test_auxiliary_results_may_hold_what_is_no_value(auxiliary):
    found = auxiliary(lambda x: (x * x, {"a": "text", "b": 3 * x, "c": [len, None, x + 1]}))
    assert found == {"a": "text", "b": 6.0, "c": [len, None, 3.0]}


def test_a_gradient_inside_a_transformation_may_have_text_beside_it():
    gradient = lambda x: jax.grad(lambda x: (x * x, "text"), has_aux=True)(x)[0]  # noqa: E731
    assert jax.jit(gradient)(2.0) == 4.0
    assert jax.grad(gradient)(2.0) == 2.0
    np.testing.assert_array_equal(2 * X, jax.vmap(gradient)(X))


def test_a_gradient_is_weak_where_its_argument_is():
    gradient = jax.grad(lambda x: x * x)
    assert gradient(2.0).weak_type
    assert not gradient(jnp.float32(2)).weak_type
    assert isinstance(jax.grad(lambda x: 3.0)(2.0), jax.Array)
    assert isinstance(jax.grad(lambda x: x)(2.0), jax.Array)


def test_integers_have_float0_gradients_where_they_are_allowed():
    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs"):
        jax.grad(lambda n: 2.0 * n)(3)
    for transform in (lambda f: f, jax.jit):
        assert transform(jax.grad(lambda n: 2.0 * n, allow_int=True))(3).dtype == jax.float0
    tree = {"x": 2.0, "n": np.arange(3)}
    gradient = jax.grad(lambda t: t["x"] * t["n"][2], allow_int=True)(tree)
    assert gradient["x"] == 2.0
    assert (gradient["n"].dtype, gradient["n"].shape) == (jax.float0, (3,))
    assert jax.vjp(lambda x, n: x * n, 2.0, 3)[1](1.0)[0] == 3.0
    assert jax.jvp(lambda x, n: x * n, (2.0, 3), (1.0, FLOAT0)) == (6.0, 3.0)


def test_integer_results_take_any_cotangent_of_theirs():
    _, back = jax.vjp(lambda x: (x * 2, jnp.int32(x)), 1.0)
    assert back((1.0, FLOAT0)) == (2.0,)
    assert back((1.0, 5)) == (2.0,)


@pytest.mark.parametrize("dtype", ["int32", "bool", "float32", "float16", "complex64"])
def test_cotangents_of_integer_results_are_not_looked_at(dtype):
    _, pull = jax.vjp(lambda x: (x.astype(int), 2 * x), X)
    np.testing.assert_array_equal(2 * X, pull((np.ones(3, dtype), X))[0])
    with pytest.raises(ValueError, match=r"expected float0\[3\]"):
        pull((np.ones(2, dtype), X))


def test_complex_conventions():
    assert jax.grad(lambda z: jnp.real(z * z))(1j) == 2j
    assert jax.grad(lambda z: z * z, holomorphic=True)(1j) == 2j
    value, back = jax.vjp(lambda z: z * (2 + 1j), 1.0 + 0j)
    assert (value, back(1.0 + 0j)) == (2 + 1j, (2 + 1j,))
    assert jax.jvp(lambda z: z * z, (1j,), (1.0 + 0j,))[1] == 2j


def test_a_pullback_is_a_tree_of_its_residuals():
    value, back = jax.vjp(lambda x: jnp.sum(jnp.sin(x)), X)
    leaves, tree = jax.tree.flatten(back)
    np.testing.assert_allclose(np.cos(X), leaves[0], rtol=1e-6)
    (doubled,) = jax.tree.unflatten(tree, [2 * leaf for leaf in leaves])(1.0)
    np.testing.assert_allclose(2 * np.cos(X), doubled, rtol=1e-6)
    np.testing.assert_allclose(np.cos(X), jax.jit(lambda b: b(1.0)[0])(back), rtol=1e-6)
    inside = jax.jit(lambda x: jax.vjp(lambda x: jnp.sum(jnp.sin(x)), x)[1])(X)
    np.testing.assert_allclose(np.cos(X), inside(1.0)[0], rtol=1e-6)
    assert repr(back).startswith("VJP(jaxpr={ lambda")


def test_a_linearised_function_crosses_jit():
    push = jax.jit(lambda x: jax.linearize(jnp.sin, x)[1])(X)
    np.testing.assert_allclose(np.cos(X), push(np.ones(3, np.float32)), rtol=1e-6)


def test_an_unused_argument_has_a_zero_gradient():
    np.testing.assert_array_equal([0, 0, 0], jax.grad(lambda x, y: y, 0)(X, 1.0))


def test_derivatives_run_once_per_call():
    calls = []
    gradient = jax.grad(lambda x: calls.append(1) or x * x)
    gradient(1.0)
    assert calls == [1]


VJP_TREE = """unexpected tree structure.

The argument to a VJP function returned by `jax.vjp` must match the pytree
structure of the differentiated function {}.

But the tree structures differ:
  * out['b'] was a tuple of length 2 in the original output, but a tuple of length 1 here, so \
the lengths do not match."""


def pair(x):
    """Return a tree."""
    return {"a": x, "b": (x, x)}


def test_a_cotangent_of_another_tree_is_refused_in_the_words_of_jax():
    with pytest.raises(ValueError) as caught:
        jax.vjp(pair, 1.0)[1]({"a": 1.0, "b": (1.0,)})
    line = pair.__code__.co_firstlineno
    assert str(caught.value).startswith(VJP_TREE.format(f"pair at {__file__}:{line}"))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: jax.grad(lambda x: x)(X),
            TypeError,
            "Gradient only defined for scalar-output functions. Output had shape: (3,).",
        ),
        (
            lambda: jax.grad(lambda x: x, 2)(1.0),
            TypeError,
            "differentiating with respect to argnums=2 requires at least 3 positional arguments "
            "to be passed by the caller, but got only 1 positional arguments.",
        ),
        (
            lambda: jax.grad(lambda x: x)(1j),
            TypeError,
            "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            "but got complex64. For holomorphic differentiation, pass holomorphic=True.",
        ),
        (
            lambda: jax.grad(lambda x: x, holomorphic=True)(1.0),
            TypeError,
            "grad with holomorphic=True requires inputs with complex dtype, but got float32.",
        ),
        (
            lambda: jax.grad(lambda x: jnp.int32(x))(1.0),
            TypeError,
            "For differentiation of functions with integer outputs, use jax.vjp directly.",
        ),
        (
            lambda: jax.jvp(lambda x: x, (1.0,), (1,)),
            TypeError,
            "Got primal dtype float32 and so expected tangent dtype float32, but got tangent "
            "dtype int32 instead.",
        ),
        (
            lambda: jax.jvp(lambda x: x, (1.0,), (X,)),
            ValueError,
            "jvp called with different primal and tangent shapes; Got primal shape () and tangent "
            "shape as (3,)",
        ),
        (
            lambda: jax.jvp(lambda x: x, 1.0, 1.0),
            TypeError,
            "primal and tangent arguments to jax.jvp must be tuples or lists; found float and "
            "float.",
        ),
        (
            lambda: jax.vjp(lambda x: x, 1.0)[1](X),
            ValueError,
            "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got float32[3], "
            "but expected float32[] because the corresponding output of the differentiated "
            "function had JAX type float32[]",
        ),
        (
            lambda: jax.vjp(lambda x: (x, x), 1.0)[1](1.0, 1.0),
            TypeError,
            "was called with 2 arguments,\nbut functions returned by `jax.vjp` must be called "
            "with a single argument",
        ),
        (
            lambda: jax.linearize(lambda x: x, 1.0)[1](X),
            ValueError,
            "Got tangent aval float32[3] for primal aval ~float32[] but expected ~float32[].",
        ),
        (lambda: jax.grad(3), TypeError, "Expected a callable value, got 3"),
        (
            lambda: jax.grad(lambda x: (x, 1, 2), has_aux=True)(1.0),
            TypeError,
            "expected function with aux output to return a two-element tuple, but got type "
            "<class 'tuple'>",
        ),
        (
            lambda: jax.grad(lambda x: x)("a"),
            TypeError,
            "Argument 'a' of type <class 'str'> is not a valid JAX type",
        ),
    ],
)
def test_errors_are_those_of_jax(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "function",
    [lambda x: x * jnp.flip(x), lambda x: 1 / x, lambda x: lax.scan(squared, x, None, length=2)[0]],
    ids=["product", "quotient", "loop"],
)
def test_what_is_not_linear_is_not_transposed(function):
    back = jax.linear_transpose(function, jnp.ones(3))
    with pytest.raises(AssertionError, match="a linear function.*`(mul|div)` on line .*test_a"):
        back(jnp.ones(3))


def squared(carry, x):
    """Square the carry."""
    return carry * carry, None


def test_operations_that_are_never_linear_have_no_transpose():
    with pytest.raises(NotImplementedError, match="'sin' not implemented.*must be linear"):
        jax.linear_transpose(jnp.sin, 1.0)(1.0)


def test_arrays_of_64_bits_keep_their_derivatives_outside_that_mode():
    with jax.enable_x64(True):
        x = jnp.arange(1.0, 4.0)
    assert x.dtype == np.float64
    assert (x < 1e-9).tolist() == [False] * 3
    assert (x * 2.5).dtype == np.float32
    gradient = jax.grad(lambda a: jnp.sum(a * a))(x)
    assert gradient.dtype == np.float64
    np.testing.assert_array_equal(np.asarray(gradient), [2.0, 4.0, 6.0])
    pulled = jax.jit(lambda a: jax.vjp(jnp.sin, a)[1](a)[0])(x)
    numbers = np.asarray(x)
    np.testing.assert_allclose(np.asarray(pulled), np.cos(numbers) * numbers, rtol=1e-15)


def test_the_64_bit_mode_is_toggled_between_calls_of_one_function():
    f = jax.jit(jax.grad(lambda a: jnp.sum(jnp.sin(a) * a)))
    for wide in (False, True, False, True):
        with jax.enable_x64(wide):
            x = jnp.linspace(0.0, 1.0, 5)
            kind = np.float64 if wide else np.float32
            assert x.dtype == f(x).dtype == kind
            tolerance = 1e-15 if wide else 1e-6
            exact = np.sin(np.asarray(x)) + np.asarray(x) * np.cos(np.asarray(x))
            np.testing.assert_allclose(np.asarray(f(x)), exact, rtol=tolerance, atol=tolerance)


def test_argnums_may_be_integers_of_numpy():
    assert float(jax.grad(lambda x, y: x * y, np.int64(1))(2.0, 3.0)) == 2.0


def test_an_output_of_one_element_is_told_how_to_become_a_scalar():
    with pytest.raises(TypeError, match=r"extract the scalar with output.reshape\(\(\)\)"):
        jax.grad(lambda x: x)(jnp.ones(1))


def test_primals_and_tangents_are_in_the_same_kind_of_sequence():
    with pytest.raises(TypeError, match=r"PyTreeDef\(\(\*,\)\) whereas .* PyTreeDef\(\[\*\]\)"):
        jax.jvp(jnp.sin, (1.0,), [1.0])


def test_reduce_axes_are_refused():
    with pytest.raises(NotImplementedError, match="reduce_axes argument to grad is deprecated"):
        jax.grad(jnp.sin, reduce_axes=("i",))


def test_argnums_are_of_any_kind_of_index() -> None:
    def f(x: float, y: float) -> float:
        return 2 * x + 3 * y

    assert jax.grad(f, argnums=jnp.int32(1))(1.0, 1.0) == 3
    assert jax.grad(f, argnums=np.array([1, 0]))(1.0, 1.0) == (3, 2)


def test_gradients_of_integers_say_that_their_type_is_strong() -> None:
    for grad in (jax.grad, lambda f, **options: jax.jit(jax.grad(f, **options))):
        found = grad(lambda i: 1.0, allow_int=True)(jnp.arange(3))
        assert (found.dtype, found.shape, found.weak_type) == (jax.float0, (3,), False)
