"""Conditions: what operations need of their operands, by kind."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless import lax
from tapeless.prims.binary import add_p, div_p, rem_p
from tapeless.prims.bitwise import shift_left_p
from tapeless.prims.conditions import CONDITIONS
from tapeless.prims.dynamic_slice import dynamic_slice_p


@pytest.mark.parametrize(
    ("kind", "prim", "operands", "fine"),
    [
        ("div", div_p, ([4, 4], [2, 0]), [1, 0]),
        ("rem", rem_p, ([4, 4], [2, 0]), [1, 0]),
        ("shift", shift_left_p, ([1, 1, 1], [31, 32, -1]), [1, 0, 0]),
    ],
)
def test_a_condition_holds_for_each_element_or_not(kind, prim, operands, fine) -> None:
    found = CONDITIONS[kind][prim](*(np.array(x, np.int32) for x in operands))
    np.testing.assert_array_equal(found[0], fine)


def test_the_condition_of_a_window_tells_where_it_starts() -> None:
    rule = CONDITIONS["index"][dynamic_slice_p]
    start = lax.add(np.int32(2), np.int32(0))
    for size, fine in ((2, True), (3, False)):
        found, fault, place = rule(np.arange(4), start, slice_sizes=(size,))
        assert (bool(found), fault.room, int(place)) == (fine, (4 - size,), 2)


def test_what_is_always_fine_has_no_condition() -> None:
    assert not [kind for kind, table in CONDITIONS.items() if add_p in table]
