"""Rules of the user's own: arguments that are not differentiated, zeros, closures, refusals."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)


def test_functions_are_arguments_that_are_not_differentiated():
    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def call(f, x):
        """Call a function."""
        return f(x)

    call.defjvp(lambda f, primals, tangents: (f(*primals), 7 * tangents[0]))
    assert jax.grad(lambda x: call(jnp.sin, x))(1.0) == 7.0
    assert jax.jit(jax.grad(call, 1), static_argnums=0)(jnp.sin, 1.0) == 7.0

    @functools.partial(jax.custom_vjp, nondiff_argnums=(0, 2))
    def scaled(f, x, n):
        """Scale the result of a function."""
        return f(x) * n

    scaled.defvjp(lambda f, x, n: (f(x) * n, None), lambda f, n, res, ct: (100 * n * ct,))
    assert jax.grad(scaled, 1)(jnp.sin, 1.0, 3) == 300.0


def test_arguments_may_be_excluded_by_name():
    @functools.partial(jax.custom_vjp, nondiff_argnames=("n",))
    def power(x, n=2):
        """Raise to a power."""
        return x**n

    power.defvjp(lambda x, n: (x**n, None), lambda n, res, ct: (10.0 * n * ct,))
    assert jax.grad(power)(3.0) == 20.0
    assert jax.grad(power)(3.0, n=5) == 50.0


@pytest.mark.parametrize("kind", [jax.custom_jvp, jax.custom_vjp])
@pytest.mark.parametrize("number", [2, -3])
def test_positions_beyond_the_arguments_are_refused(kind, number):
    def product(x, y):
        """Multiply."""
        return x * y

    f = kind(product, nondiff_argnums=(number,))
    (f.defjvp if kind is jax.custom_jvp else lambda rule: f.defvjp(rule, rule))(product)
    text = rf"nondiff_argnums of product names argument {number}, .* called with 2 arguments"
    with pytest.raises(IndexError, match=text):
        f(1.0, 2.0)
    with pytest.raises(TypeError, match=r"must be a sequence of ints, got \('y',\)"):
        kind(product, nondiff_argnums=("y",))


@pytest.mark.parametrize("kind", [jax.custom_jvp, jax.custom_vjp])
def test_keyword_only_arguments_are_refused(kind):
    def scaled(x, *, by):
        """Scale."""
        return x * by

    f = kind(scaled)
    (f.defjvp if kind is jax.custom_jvp else lambda rule: f.defvjp(rule, rule))(scaled)
    text = rf"(?s)the {kind.__name__}-decorated function scaled could not .* to positions: by$"
    with pytest.raises(TypeError, match=text):
        f(1.0, by=2.0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("given", ["bool", "int32", "float16", "float32"])
def test_cotangents_of_another_dtype_are_converted(dtype, given):
    f = jax.custom_vjp(jnp.real)
    f.defvjp(lambda x: (jnp.real(x), None), lambda _, ct: (jnp.asarray(1, given),))
    gradient = jax.grad(f)
    for found in (gradient(jnp.asarray(2, dtype)), jax.jit(gradient)(jnp.asarray(2, dtype))):
        assert (found.dtype, found.item()) == (dtype, 1.0)


def test_a_name_that_no_argument_has_excludes_nothing():
    f = jax.custom_vjp(lambda x, y: x * y, nondiff_argnames=("z",))
    f.defvjp(lambda x, y: (x * y, None), lambda _, ct: (3 * ct, 5 * ct))
    assert jax.grad(f, (0, 1))(1.0, 2.0) == (3.0, 5.0)


def test_a_tracer_that_is_not_differentiated_is_refused():
    f = jax.custom_vjp(lambda x, n: x * n, nondiff_argnums=(1,))
    f.defvjp(lambda x, n: (x * n, None), lambda n, res, ct: (ct * n,))
    with pytest.raises(jax.errors.UnexpectedTracerError, match="indicated by nondiff_argnums"):
        jax.jit(lambda n: f(1.0, n))(2.0)


def test_one_rule_per_argument():
    f = jax.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, result, x, y: 10 * t * y, None)
    assert jax.grad(f, (0, 1))(2.0, 3.0) == (30.0, 0.0)
    f.defjvps(lambda t, result, x, y: t * y, lambda t, result, x, y: t * result)
    assert jax.grad(f, (0, 1))(2.0, 3.0) == (3.0, 6.0)


def test_rules_may_be_told_what_is_zero():
    seen = []
    f = jax.custom_jvp(lambda x, y: x * y)

    def rule(primals, tangents):
        """Note which tangents are zero."""
        seen.append([type(t) is SymbolicZero for t in tangents])
        return f(*primals), tangents[0]

    f.defjvp(rule, symbolic_zeros=True)
    assert jax.grad(f)(2.0, 3.0) == 1.0
    g = jax.custom_vjp(lambda x, y: (x * y, x))

    def forward(x, y):
        """Note which arguments are perturbed."""
        seen.append([x.perturbed, y.perturbed])
        return custom_vjp_primal_tree_values((x, y)), None

    def backward(_, cts):
        """Note which cotangents are zero."""
        seen.append([type(ct) is SymbolicZero for ct in cts])
        return cts[0], None

    g.defvjp(forward, backward, symbolic_zeros=True)
    assert jax.grad(lambda x: g(x, 3.0)[0])(2.0) == 1.0
    assert seen == [[False, True], [True, False], [False, True]]


def test_integer_arguments_have_float0_tangents():
    seen = []
    f = jax.custom_jvp(lambda x, n: x * n)
    f.defjvp(lambda p, t: (seen.append(t[1].dtype) or f(*p), t[0] * p[1]))
    assert jax.grad(f)(2.0, 3) == 3.0
    assert seen == [jax.float0]


def test_none_is_a_zero_cotangent_of_any_tree():
    f = jax.custom_vjp(lambda tree: tree["a"])
    f.defvjp(lambda tree: (tree["a"], None), lambda _, ct: ({"a": ct, "b": None},))
    gradient = jax.grad(f)({"a": 1.0, "b": np.ones(2, np.float32)})
    assert gradient["a"] == 1.0
    np.testing.assert_array_equal([0, 0], gradient["b"])


def test_methods_are_bound():
    class Scale:
        """Has a method with a rule."""

        @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
        def twice(self, x):
            """Double."""
            return 2 * x

        twice.defvjp(lambda self, x: (2 * x, None), lambda self, _, ct: (5 * ct,))

    assert jax.grad(Scale().twice)(1.0) == 5.0


def test_zeros_of_a_value():
    np.testing.assert_array_equal([0, 0], zero_from_primal(jnp.ones(2)))
    assert zero_from_primal(3).dtype == jax.float0
    assert zero_from_primal(jnp.ones(2), symbolic_zeros=True).shape == (2,)
    assert CustomVJPPrimal(1.0, True) == CustomVJPPrimal(1.0, True)


def test_a_closure_is_converted_as_far_as_it_may_be_differentiated():
    def outer(w, n):
        """Capture a float, an integer and an array."""
        f, captured = jax.closure_convert(lambda x: jnp.sum(w * x) * n + jnp.ones(()), 1.0)
        assert len(captured) == 1
        return f(2.0, *[10 * value for value in captured])

    assert jax.grad(outer)(3.0, 4) == 80.0
    assert jax.jit(jax.grad(outer))(3.0, 4) == 80.0
    f, captured = jax.closure_convert(lambda x: {"y": x * 3.0}, 1.0)
    assert (f(2.0), captured) == ({"y": 6.0}, [])
    with pytest.raises(TypeError, match="must have the same Pytree structure as the example"):
        f((2.0,))


def test_a_gradient_beside_the_function():
    f = jax.custom_gradient(lambda x, y: (x * y, lambda ct: (ct * y, 10 * ct * x)))
    assert f(2.0, 3.0) == 6.0
    assert jax.grad(f, (0, 1))(2.0, 3.0) == (3.0, 20.0)
    one = jax.custom_gradient(lambda x: (jnp.sin(x), lambda ct: 7.0 * ct))
    np.testing.assert_array_equal([7, 7], jax.vmap(jax.grad(one))(np.ones(2, np.float32)))


def with_jvp(rule):
    """Return the derivative of sin by a rule."""
    f = jax.custom_jvp(lambda x: jnp.sin(x))
    f.defjvp(rule)
    return jax.jvp(f, (1.0,), (1.0,))


def with_vjp(forward, backward):
    """Return the gradient of sin by a pair of rules."""
    f = jax.custom_vjp(lambda x: jnp.sin(x))
    f.defvjp(forward, backward)
    return jax.grad(f)(1.0)


def keep(x):
    """Return the result and the residual."""
    return jnp.sin(x), x


TREES = (
    "Custom VJP bwd rule must produce an output with the same container (pytree) structure as the "
    "args tuple of the primal function, and in particular must produce a tuple of length equal to "
    "the number of arguments to the primal function, but got bwd output structure {} for primal "
    "input structure PyTreeDef((*,))."
)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: with_jvp(lambda p, t: 3.0),
            TypeError,
            "must produce a pair (list or tuple of length two) representing primal and tangent "
            "outputs, but got 3.0.",
        ),
        (
            lambda: with_jvp(lambda p, t: (p[0], (t[0], t[0]))),
            TypeError,
            "must produce primal and tangent outputs with equal container (pytree) structures",
        ),
        (
            lambda: with_jvp(lambda p, t: (p[0], jnp.ones(2))),
            TypeError,
            "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and "
            "dtypes. Expected float32[] (tangent type of float32[]) but got float32[2].",
        ),
        (
            lambda: with_vjp(lambda x: x, lambda res, ct: (ct,)),
            TypeError,
            "for function <lambda> must produce a pair (list or tuple of length two) where the "
            "first element represents the primal output",
        ),
        (lambda: with_vjp(keep, lambda res, ct: ct), TypeError, TREES.format("PyTreeDef(*)")),
        (
            lambda: with_vjp(keep, lambda res, ct: (ct, ct)),
            TypeError,
            TREES.format("PyTreeDef((*, *))"),
        ),
        (
            lambda: with_vjp(keep, lambda res, ct: ((ct, ct),)),
            TypeError,
            TREES.format("PyTreeDef(((*, *),))"),
        ),
        (
            lambda: with_vjp(keep, lambda res, ct: (jnp.ones(2),)),
            ValueError,
            "must produce an output with the same type as the args tuple of the primal function, "
            "but at output[0] the bwd rule produced an output of type float32[2] corresponding to "
            "an input of type float32[], so the shapes do not match",
        ),
        (
            lambda: with_vjp(keep, lambda res, ct: (1j * ct,)),
            ValueError,
            "at output[0] the bwd rule produced an output of type complex64[] corresponding to an "
            "input of type float32[], so the dtypes do not match",
        ),
        (
            lambda: jax.custom_jvp(lambda x: x)(1.0),
            AttributeError,
            "No JVP defined for custom_jvp function <lambda> using defjvp.",
        ),
        (
            lambda: jax.custom_vjp(lambda x: x)(1.0),
            AttributeError,
            "No VJP defined for custom_vjp function <lambda> using defvjp.",
        ),
    ],
)
def test_errors_are_those_of_jax(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_arguments_that_do_not_fit_the_signature_are_refused():
    f = jax.custom_jvp(lambda x, y: x * y)
    f.defjvp(lambda p, t: (f(*p), t[0]))
    assert f(x=2.0, y=3.0) == 6.0
    with pytest.raises(TypeError) as caught:
        f(2.0)
    assert str(caught.value) == (
        "The input arguments to the custom_jvp-decorated function <lambda> could not be resolved "
        "to positional-only arguments. Binding failed with the error:\nmissing a required "
        "argument: 'y'"
    )


def test_custom_gradient_calls_the_function_once():
    calls = []

    def square(x):
        calls.append(x)
        return x * x, lambda ct: 3.0 * x * ct

    assert jax.grad(jax.custom_gradient(square))(2.0) == 6.0
    assert len(calls) == 1
