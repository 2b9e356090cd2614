"""Reductions obey the laws of `tests/support/harness.py`, and print as JAX prints them."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.prims import reduce
from tests.support.harness import laws
from tests.support.records import (
    COMPLEXES,
    FLOATS,
    INEXACT,
    INTEGERS,
    Failure,
    Record,
    between,
    bits,
    fixed,
    normal,
)

BITS = dict.fromkeys(("jvp", "transpose", "second"), "bits have no tangents")
X = np.ones((3, 4), np.float32)
DISTINCT = fixed([[0.5, -1.5, 2.0], [1.0, 3.0, -0.25]])


def out_of_bounds(function, **options) -> tuple[Failure, ...]:
    """Return the calls with axes that the operand does not have, or has once."""
    wrong = "reduction axes (2,) contains out-of-bounds indices for float32[3,4]."
    return (
        Failure((X, (2,)), ValueError, wrong),
        Failure((X, (0, 0)), ValueError, "duplicate value in 'axes' of reduction: (0, 0)"),
    )


def over(function, axes) -> object:
    """Return the reduction along fixed axes; an extra argument replaces them."""
    return lambda x, other=axes: function(x, other)


RECORDS = [
    Record("sum0", over(reduce.reduce_sum, (0,)), (normal(3, 4),), (*INEXACT, *INTEGERS), ulps=8),
    Record(
        "sum1",
        over(reduce.reduce_sum, (1,)),
        (normal(2, 3, 2),),
        FLOATS,
        errors=out_of_bounds(reduce.reduce_sum),
        ulps=8,
    ),
    Record("sum-all", over(reduce.reduce_sum, (0, 1)), (normal(3, 4),), FLOATS, ulps=16),
    Record("sum-none", over(reduce.reduce_sum, ()), (normal(3, 4),), FLOATS),
    Record("max", over(reduce.reduce_max, (0,)), (DISTINCT,), (*FLOATS, "int32")),
    Record("max-bool", over(reduce.reduce_max, (0,)), (bits(3, 4),), ("bool",), BITS),
    Record("min", over(reduce.reduce_min, (1,)), (DISTINCT,), (*FLOATS, "int8")),
    Record(
        "max-complex",
        over(reduce.reduce_max, (0,)),
        (fixed([[1 + 2j, 1 + 1j], [0, 1 + 3j]]),),
        COMPLEXES,
        {"jvp": "real parts tie", "transpose": "real parts tie", "second": "real parts tie"},
    ),
    Record("prod", over(reduce.reduce_prod, (0,)), (between(0.5, 2, 3, 2),), INEXACT, ulps=8),
    Record("prod-zero", over(reduce.reduce_prod, (0, 1)), (fixed([[0.0, 2.0], [3.0, 0.5]]),)),
    Record("and", over(reduce.reduce_and, (0,)), (bits(3, 4),), ("bool", "int32", "uint8"), BITS),
    Record("or", over(reduce.reduce_or, (1,)), (bits(3, 4),), ("bool", "int32", "uint8"), BITS),
    Record("xor", over(reduce.reduce_xor, (0,)), (bits(3, 4),), ("bool", "int32", "uint8"), BITS),
]
globals().update(laws(RECORDS))


@pytest.mark.parametrize(
    ("function", "neutral"),
    [(reduce.reduce_sum, 0), (reduce.reduce_prod, 1), (reduce.reduce_max, -np.inf)],
)
def test_reduction_of_nothing_is_the_neutral_element(function, neutral):
    out = function(np.ones((0, 2), np.float32), (0,))
    np.testing.assert_array_equal([neutral, neutral], out)


def test_a_nan_is_the_extreme():
    x = np.array([1, np.nan, 3, np.nan], np.float32)
    assert np.isnan(reduce.reduce_max(x, (0,)))
    assert np.isnan(reduce.reduce_min(x, (0,)))


def test_batched_axes_print_as_numpy_integers():
    text = str(jax.make_jaxpr(jax.vmap(lambda x: reduce.reduce_sum(x, (0,))))(X))
    assert "reduce_sum[axes=(np.int64(1),) out_sharding=None] a" in text


def test_gradient_of_a_tied_maximum_is_shared():
    found = jax.grad(lambda x: reduce.reduce_max(x, (0,)))(np.array([2.0, 1.0, 2.0], np.float32))
    np.testing.assert_array_equal([0.5, 0, 0.5], found)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: reduce.reduce_sum(X > 0, (0,)),
            TypeError,
            "reduce_sum does not accept dtype bool. Accepted dtypes are subtypes of number.",
        ),
        (
            lambda: reduce.reduce_and(X, (0,)),
            TypeError,
            "logical reduction requires operand dtype bool or int, got float32.",
        ),
    ],
)
def test_wrong_operands_are_refused(call, kind, text):
    with pytest.raises(kind, match=text.split("(")[0]):
        call()


@pytest.mark.parametrize("size", [2, 3, 8, 40])
@pytest.mark.parametrize("special", [complex(np.nan, 1), complex(1, np.nan)])
@pytest.mark.parametrize("name", ["max", "min"])
def test_complex_extremes_are_nan_if_a_number_is(name, special, size):
    x = np.linspace(-1, 1, size).astype(np.complex64)
    for place in range(size):
        given = x.copy()
        given[place] = special
        expected = getattr(np, name)(given)
        np.testing.assert_array_equal(getattr(jax.numpy, name)(given), expected)
    edges = jax.numpy.pad(given, 1, mode={"max": "maximum", "min": "minimum"}[name])
    np.testing.assert_array_equal(np.isnan(edges)[[0, -1]], True)


def test_the_sum_of_one_term_is_that_term():
    x = np.array([[-0.0, 1.0]], np.float32)
    assert np.signbit(jax.jit(lambda x: jnp.sum(x, 0))(x)).tolist() == [True, False]
    assert np.signbit(jax.jit(lambda x: x[:, :1] @ jnp.ones((1, 1)))(x)).tolist() == [[True]]
    assert not np.signbit(jax.jit(jnp.sum)(-jnp.zeros(2)))
