"""Ranges: what follows from them holds for all integers, and nothing else is claimed."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from tapeless.kernel.ir import Affine, Buffer, Const, Scalar
from tapeless.kernel.nodes import Nodes
from tapeless.kernel.ranges import outcome, range_of

I32, I64 = np.dtype(np.int32), np.dtype(np.int64)
RANGES = [(low, high) for low in range(-4, 5) for high in range(low, 5)]
COMPARISONS = {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")}


def truncated(x: int, y: int) -> int:
    """The quotient rounded to zero."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


VALUES = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "min": min,
    "max": max,
    "and": operator.and_,
    "div": truncated,
    "rem": lambda x, y: x - y * truncated(x, y),
    "shift_right_arithmetic": operator.rshift,
}


def values(known: tuple[int, int]) -> range:
    """All numbers of a range."""
    return range(known[0], known[1] + 1)


@pytest.mark.parametrize("name", VALUES)
def test_a_range_contains_all_values(name: str) -> None:
    narrow = 0
    for x, y in itertools.product(RANGES, RANGES):
        if name in ("div", "rem") and 0 in values(y):
            continue
        if name.startswith("shift") and y[0] < 0:
            continue
        found = range_of(name, [x, y], I32)
        if found is not None:
            narrow += 1
            assert all(VALUES[name](a, b) in values(found) for a in values(x) for b in values(y))
    assert narrow


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_is_decided_where_all_values_agree(name: str) -> None:
    for x, y in itertools.product(RANGES, RANGES):
        results = {COMPARISONS[name](a, b) for a in values(x) for b in values(y)}
        expected = results.pop() if len(results) == 1 else None
        if x == y and x[0] == x[1]:
            continue
        assert outcome(name, x, y) is expected


def test_what_may_wrap_round_has_no_range() -> None:
    assert range_of("add", [(0, 2**31 - 1), (0, 1)], I32) is None
    assert range_of("add", [(0, 2**31 - 2), (0, 1)], I32) == (0, 2**31 - 1)
    assert range_of("neg", [(-(2**31), 0)], I32) is None
    assert range_of("convert", [(0, 256)], np.dtype(np.uint8)) is None


def counter(nodes: Nodes, extent: int) -> tuple[Scalar, Scalar]:
    """A loop variable, and that as an int32."""
    i = nodes.index("i", extent)
    return i, nodes.convert(nodes.affine(i), I32)


def test_an_index_that_is_wrapped_and_clamped_is_plain() -> None:
    b = Nodes()
    i, number = counter(b, 126)
    place = b.add(number, 1)
    wrapped = b.select(b.lt(place, 0), b.add(place, 128), place)
    clamped = b.max(b.min(b.convert(wrapped, I64), 127), 0)
    assert b.affine(clamped) is b.index_add(i, 1)


def test_an_index_that_may_be_out_of_bounds_is_clamped() -> None:
    b = Nodes()
    _, number = counter(b, 126)
    place = b.add(number, 3)
    assert not isinstance(b.min(b.convert(place, I64), 127), Affine)
    assert not isinstance(b.lt(place, 128), Const)
    assert b.lt(place, 129).value is True


def test_an_index_that_wraps_round_is_computed_in_its_dtype() -> None:
    b = Nodes()
    _, number = counter(b, 126)
    place = b.add(number, 2**31 - 100)
    assert not isinstance(b.convert(place, I64), Affine)
    assert not isinstance(b.lt(place, 0), Const)


@pytest.mark.parametrize("clamp", ["min", "max"])
@pytest.mark.parametrize("name", sorted(COMPARISONS))
def test_a_clamp_that_cannot_matter_is_not_compared(name: str, clamp: str) -> None:
    b = Nodes()
    i, _ = counter(b, 20)
    compare = COMPARISONS[name]
    limit = VALUES[clamp]
    for bound, step in itertools.product(range(-2, 23), (0, 3)):
        clamped = b.op(clamp, b.affine(i), 9)
        found = b.op(name, b.index_add(clamped, step), bound)
        wanted = [compare(limit(number, 9) + step, bound) for number in range(20)]
        plain = b.op(name, b.affine(i), bound - step)
        if found is plain:
            assert wanted == [compare(number, bound - step) for number in range(20)]
        elif isinstance(found, Const):
            assert wanted == [bool(found.value)] * 20
    assert b.ge(b.min(b.affine(i), 9), 4) is b.ge(b.affine(i), 4)
    assert b.lt(b.max(b.affine(i), 4), 9) is b.lt(b.affine(i), 9)


def test_a_number_of_which_nothing_is_known_is_compared() -> None:
    b = Nodes()
    x = b.load(Buffer((), I32, "input"), 0)
    assert not isinstance(b.lt(x, 0), Const)
    assert b.le(x, 2**31 - 1).value is True
