"""Tests of operators: fast ways agree with promotion, and other classes have their say."""

import operator
import sys

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp

ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
BITS = ("and_", "or_", "xor", "lshift", "rshift")
OPERANDS = {
    "f32": np.array([1.5, -2.0, 4.0], np.float32),
    "i32": np.array([3, -2, 5], np.int32),
    "u8": np.array([3, 2, 5], np.uint8),
    "bf16": np.array([1.5, -2.0, 4.0], jnp.bfloat16),
}


@pytest.mark.parametrize("name", ARITHMETIC + COMPARISONS)
@pytest.mark.parametrize("dtype", OPERANDS)
def test_direct_operators_agree_with_promotion(name, dtype):
    """Operands that skip promotion give what the same operands give through it."""
    apply, x = getattr(operator, name), OPERANDS[dtype]
    y = np.abs(x) if name == "pow" else x[::-1].copy()
    direct = apply(jnp.asarray(x), jnp.asarray(y))
    promoted = apply(jnp.asarray(x), y)
    np.testing.assert_array_equal(direct, promoted)
    assert (direct.dtype, direct.weak_type) == (promoted.dtype, promoted.weak_type)


@pytest.mark.parametrize("name", ("add", "sub", "mul", "truediv", "lt", "eq"))
@pytest.mark.parametrize("dtype", OPERANDS)
@pytest.mark.parametrize("number", [2, -1, 2.5, 300, True])
def test_python_numbers_are_weak(name, dtype, number):
    apply, x = getattr(operator, name), jnp.asarray(OPERANDS[dtype])
    expected = getattr(jnp, {"sub": "subtract", "mul": "multiply", "truediv": "divide",
                             "lt": "less", "eq": "equal"}.get(name, name))(x, number)  # fmt: skip
    found = apply(x, number)
    np.testing.assert_array_equal(found, expected)
    assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)
    assert jax.eval_shape(lambda x: apply(x, number), x).dtype == expected.dtype


@pytest.mark.parametrize("name", ARITHMETIC)
def test_reversed_operators(name):
    apply, x = getattr(operator, name), OPERANDS["f32"]
    np.testing.assert_allclose(apply(2.0, jnp.asarray(np.abs(x))), apply(2.0, np.abs(x)), rtol=1e-6)


@pytest.mark.parametrize("name", BITS)
def test_bit_operators(name):
    apply = getattr(operator, name)
    x, y = np.array([1, 6, 8], np.int32), np.array([3, 1, 2], np.int32)
    np.testing.assert_array_equal(apply(jnp.asarray(x), y), apply(x, y))
    np.testing.assert_array_equal(apply(5, jnp.asarray(y)), apply(5, y))


def test_unary_operators():
    x = OPERANDS["f32"]
    for apply in (operator.neg, operator.pos, abs):
        np.testing.assert_array_equal(apply(jnp.asarray(x)), apply(x))
    np.testing.assert_array_equal(~jnp.array([True, False]), [False, True])
    assert round(jnp.float32(2.5)) == 2 and round(jnp.float32(2.5)).dtype == np.int32
    assert round(jnp.float32(2.25), 1) == np.float32(2.2)
    quotient, rest = divmod(jnp.array([7, -7]), 2)
    np.testing.assert_array_equal([quotient, rest], [[3, -4], [1, 1]])


def test_numpy_arrays_give_way():
    x = OPERANDS["f32"]
    for apply in (operator.add, operator.mul, operator.lt, operator.matmul):
        found = apply(x, jnp.asarray(x))
        assert isinstance(found, jax.Array)
        np.testing.assert_allclose(found, apply(x, x), rtol=1e-6)
    assert isinstance(np.float64(2) * jnp.arange(3), jax.Array)


def test_other_classes_have_their_say():
    class Other:
        def __radd__(self, other):
            return "added"

    x = jnp.arange(3)
    assert x + Other() == "added"
    assert (x == None) is False and (x != "a") is True  # noqa: E711 - the comparison is the test
    for other in ([1, 2, 3], {}, (1,)):
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Array' and"):
            x + other
        with pytest.raises(
            TypeError, match=r"unsupported operand type\(s\) for -: '.*' and 'Array'"
        ):
            other - x
    with pytest.raises(TypeError, match="unsupported operand"):
        x + None


def test_operators_of_tracers():
    x = OPERANDS["f32"]
    found = jax.jit(lambda x: (2 * x + x**2 - x / 4) // 1 @ x)(x)
    np.testing.assert_allclose(found, (2 * x + x**2 - x / 4) // 1 @ x)
    assert jax.grad(lambda x: 3 * x * x - x)(2.0) == 11.0


@pytest.mark.parametrize(
    "apply",
    [
        lambda m, x: m + x,
        lambda m, x: m * x[0],
        lambda m, x: np.float32(2) * m,
        lambda m, x: m < np.ones(3, np.float32),
        lambda m, x: jnp.maximum(m, 0.0),
        lambda m, x: jnp.add(x, np.ones((2, 1))),
    ],
)
def test_other_types_than_the_same_are_one_program(apply):
    """A call of an operator on arrays that broadcast or convert is little Python code."""
    m, x = jnp.ones((2, 3)), jnp.arange(3.0)
    traced = jax.jit(apply)(m, x)
    calls = []
    for _ in range(100):
        found = apply(m, x)
    sys.setprofile(lambda frame, event, arg: calls.append(event) if event == "call" else None)
    try:
        apply(m, x)
    finally:
        sys.setprofile(None)
    assert len(calls) <= 16, len(calls)
    np.testing.assert_array_equal(found, traced)
    assert (found.dtype, found.weak_type) == (traced.dtype, traced.weak_type)
