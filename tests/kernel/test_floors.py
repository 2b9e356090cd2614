"""Floor division by constants: one operation where there is one, the same numbers everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.kernel.ir import Buffer, Op, Scalar
from tapeless.kernel.nodes import Nodes

I32 = np.dtype(np.int32)


def division(b: Nodes, x: Scalar, d: int) -> tuple[Scalar, Scalar]:
    """The floor quotient and remainder in terms of the truncated ones."""
    quotient, remainder = b.div(x, d), b.rem(x, d)
    signs = b.ne(b.op("sign", x), b.op("sign", b.const(d, I32)))
    floor = b.select(b.and_(signs, b.ne(remainder, 0)), b.sub(quotient, 1), quotient)
    other = b.ne(b.lt(remainder, 0), b.lt(b.const(d, I32), 0))
    mod = b.select(b.and_(other, b.ne(remainder, 0)), b.add(remainder, d), remainder)
    return floor, mod


def names(b: Nodes, d: int) -> list[str]:
    """The operations at the root."""
    x = b.load(Buffer((), I32, "input"), 0)
    return [node.name for node in division(b, x, d) if isinstance(node, Op)]


def test_powers_of_two_are_shifts_and_masks() -> None:
    assert names(Nodes(), 8) == ["shift_right_arithmetic", "and"]
    assert names(Nodes(), 6) == ["select", "select"]
    assert names(Nodes(), -8) == ["select", "select"]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 64, -1, -2, -3, -4])
def test_quotients_and_remainders_are_numpys(dtype: object, d: int) -> None:
    dtype = np.dtype(dtype)
    ends = np.iinfo(dtype)
    x = np.r_[-100:100, ends.min + 1, ends.max].astype(dtype)
    x = np.r_[x, ends.min].astype(dtype) if d != -1 else x
    quotient, remainder = jax.jit(lambda x: (x // d, x % d))(x)
    np.testing.assert_array_equal(quotient, x // dtype.type(d))
    np.testing.assert_array_equal(remainder, x % dtype.type(d))


def test_comparisons_with_numbers_that_are_no_integers_are_left():
    x = np.array([-1.0, 2.0, np.inf, np.nan], np.float32)
    both = jax.jit(lambda x: (x != jnp.inf) & (x != jnp.nan) & (x > 0))
    np.testing.assert_array_equal([False, True, False, False], both(x))
