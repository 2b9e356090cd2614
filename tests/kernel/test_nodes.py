"""Node constructors: interning, folding, dtype checks; index arithmetic against integers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeless.kernel.ir import Affine, Buffer, Const, Index, Load, Op, Scalar
from tapeless.kernel.nodes import Nodes

BOOL, F32, F64 = (np.dtype(t) for t in (np.bool_, np.float32, np.float64))
I32, I64 = np.dtype(np.int32), np.dtype(np.int64)


def leaf(nodes: Nodes, dtype: np.dtype) -> Scalar:
    """A scalar about which nothing is known."""
    return nodes.load(Buffer((), dtype, "input"), 0)


def test_equal_requests_give_one_node() -> None:
    b = Nodes()
    x, y = leaf(b, F32), leaf(b, F32)
    assert b.add(b.mul(x, y), 1.0) is b.add(b.mul(x, y), 1.0)
    assert b.sub(x, y) is not b.sub(y, x)
    assert b.add(1.0, x) is b.add(x, 1.0)


def test_constants_are_told_apart_by_their_bits() -> None:
    b = Nodes()
    assert b.const(0.0, F32) is not b.const(-0.0, F32)
    assert b.const(math.nan, F32) is b.const(math.nan, F32)
    assert b.const(0.1, F32) is b.const(float(np.float32(0.1)), F32)
    assert b.const(1, F32) is b.const(1.0, F32)
    assert b.const(2**60 + 1, I64) is not b.const(2**60, I64)
    assert b.const(0.1, F32).value == float(np.float32(0.1))
    assert b.const(1e300, F32).value == math.inf


def test_numbers_take_the_dtype_of_the_first_scalar() -> None:
    b = Nodes()
    x = leaf(b, F32)
    value = b.select(b.lt(x, 0), 1, b.mul(x, 2))
    assert value.dtype == F32
    assert value.args[1] is b.const(1.0, F32)


@pytest.mark.parametrize(
    ("name", "dtypes"),
    [
        ("add", (F32, F64)),
        ("and", (F32, F32)),
        ("shift_left", (F32, F32)),
        ("sqrt", (I32,)),
        ("select", (F32, F32, F32)),
        ("select", (BOOL, F32, F64)),
    ],
)
def test_wrong_dtypes_are_refused(name: str, dtypes: tuple[np.dtype, ...]) -> None:
    b = Nodes()
    with pytest.raises(TypeError, match=f"{name} cannot take .*bug in tapeless"):
        b.op(name, *(leaf(b, dtype) for dtype in dtypes))


def test_bitcast_must_keep_the_width() -> None:
    b = Nodes()
    with pytest.raises(TypeError, match="bitcast cannot take"):
        b.bitcast(leaf(b, F32), I64)


def test_neutral_elements_go_only_where_that_is_exact() -> None:
    b = Nodes()
    x, n = leaf(b, F32), leaf(b, I32)
    assert b.mul(x, 1.0) is x
    assert b.sub(x, 0.0) is x
    assert b.add(x, -0.0) is x
    assert isinstance(b.add(x, 0.0), Op)
    assert isinstance(b.mul(x, 0.0), Op)
    assert b.add(n, 0) is n
    assert b.mul(n, 0) is b.const(0, I32)
    assert b.neg(b.neg(x)) is x


def test_selects_fold() -> None:
    b = Nodes()
    x, y, p = leaf(b, F32), leaf(b, F32), leaf(b, BOOL)
    assert b.select(True, x, y) is x
    assert b.select(p, x, x) is x
    assert b.select(b.not_(p), x, y) is b.select(p, y, x)
    assert b.select(p, True, b.lt(x, y)) is b.or_(p, b.lt(x, y))
    assert b.rare(b.not_(p), x, y).name == "rare"


FOLDS = [
    ("add", (2**31 - 1, 1), I32, -(2**31)),
    ("mul", (2**20, 2**20), I32, 0),
    ("div", (7, 2), I32, 3),
    ("not", (0,), I32, -1),
    ("add", (0.1, 0.2), F32, float(np.float32(0.1) + np.float32(0.2))),
    ("sub", (1e38, -3e38), F32, math.inf),
    ("sqrt", (2.0,), F32, float(np.sqrt(np.float32(2)))),
]


@pytest.mark.parametrize(("name", "values", "dtype", "expected"), FOLDS)
def test_constants_fold(
    name: str, values: tuple[float, ...], dtype: np.dtype, expected: float
) -> None:
    b = Nodes()
    folded = b.op(name, *(b.const(value, dtype) for value in values))
    assert folded is b.const(expected, dtype)


def test_what_may_differ_between_machines_does_not_fold() -> None:
    b = Nodes()
    one, zero, nan = (b.const(value, F32) for value in (1.0, 0.0, math.nan))
    for value in (b.op("exp", one), b.add(nan, one), b.sub(b.const(math.inf, F32), math.inf)):
        assert isinstance(value, Op)
    assert isinstance(b.div(b.const(1, I32), b.const(0, I32)), Op)
    assert isinstance(b.convert(b.const(1e10, F32), I32), Op)
    assert b.lt(zero, one) is b.const(True, BOOL)


def test_loads_with_a_known_guard() -> None:
    b = Nodes()
    buffer = Buffer((4,), F32, "input")
    i = b.index("i", 4)
    assert b.load(buffer, i, guard=b.const(True, BOOL)) is b.load(buffer, i)
    assert b.load(buffer, i, guard=b.const(False, BOOL)) is b.const(0.0, F32)
    assert isinstance(b.load(buffer, i), Load)


def test_results_of_one_reduction_share_a_group() -> None:
    b = Nodes()
    k, i = b.index("k", 3), b.index("i", 2)
    x = b.load(Buffer((6,), F32, "input"), b.index_add(b.index_mul(i, 3), k))
    zero = b.const(0.0, F32)
    first, second = b.reduce(k, 3, (x, x), (zero, zero), lambda a, new: new)
    assert first.group is second.group
    assert (first.which, second.which) == (0, 1)
    assert first.free == {i}


# Indices


def value_of(scalar: Scalar, at: Mapping[Index, int]) -> int:
    """Evaluate an index expression."""
    if isinstance(scalar, Index):
        return at[scalar]
    if isinstance(scalar, Const):
        return scalar.value
    if isinstance(scalar, Affine):
        return scalar.const + sum(c * value_of(term, at) for term, c in scalar.terms)
    left, right = (value_of(arg, at) for arg in scalar.args)
    return left // right if scalar.name == "div" else left % right


Steps = st.lists(
    st.tuples(st.sampled_from(["div", "mod", "mul", "add", "split"]), st.integers(1, 12)),
    max_size=5,
)


@given(st.tuples(*[st.integers(1, 6)] * 3), st.booleans(), Steps)
def test_index_arithmetic_matches_integers(
    extents: tuple[int, ...], known: bool, steps: list[tuple[str, int]]
) -> None:
    b = Nodes()
    axes = [b.index(f"i{k}", extent if known else None) for k, extent in enumerate(extents)]
    flat: Scalar = b.affine(0)
    for axis, extent in zip(axes, extents, strict=True):
        flat = b.index_add(b.index_mul(flat, extent), axis)
    points = list(itertools.product(*map(range, extents)))
    values = list(range(len(points)))
    for name, n in steps:
        high, low = b.index_div(flat, n), b.index_mod(flat, n)
        if name == "split":
            flat = b.index_add(b.index_mul(high, n), low)
        elif name in ("div", "mod"):
            flat = high if name == "div" else low
            values = [v // n if name == "div" else v % n for v in values]
        else:
            flat = b.index_mul(flat, n) if name == "mul" else b.index_add(flat, n)
            values = [v * n if name == "mul" else v + n for v in values]
    actual = [value_of(flat, dict(zip(axes, point, strict=True))) for point in points]
    assert actual == values
    bounds = b.index_range(flat)
    assert bounds is None or (bounds[0] <= min(values) and max(values) <= bounds[1])


def test_a_reshape_that_merges_axes_is_affine() -> None:
    b = Nodes()
    i, j = b.index("i", 6), b.index("j", 4)
    flat = b.index_add(b.index_mul(i, 4), j)
    assert b.index_div(flat, 4) is b.affine(i)
    assert b.index_mod(flat, 4) is b.affine(j)
    assert flat.stride(i) == 4
    n = b.index("n")
    assert b.index_div(b.index_mul(n, 10), 5) is b.index_mul(n, 2)


def test_quotient_and_remainder_cancel() -> None:
    b = Nodes()
    i, j = b.index("i", 6), b.index("j", 4)
    flat = b.index_add(b.index_mul(i, 4), j)
    high, low = b.index_div(flat, 5), b.index_mod(flat, 5)
    assert high.stride(i) is None
    assert b.index_add(b.index_mul(high, 5), low) is flat
    assert b.index_range(high) == (0, 4)
