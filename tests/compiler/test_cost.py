"""The numbers of `cost_analysis` are those of the emitted loops."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.compiler.cost import costs
from tests.compiler.programs import F32, aval, bind, broadcast, exp, lowered, product, scan, total


def test_elementwise_work_is_counted_per_element() -> None:
    program = lowered(lambda x, y: (bind("add", bind("mul", x, y), x),), aval(90, 7), aval(90, 7))
    assert costs(program) == {"flops": 1260, "transcendentals": 0, "bytes accessed": 3 * 4 * 630}


def test_what_is_hoisted_is_counted_once_per_row() -> None:
    def function(x: object, v: object) -> tuple:
        """Add the exponential of a column to all columns."""
        return (bind("add", x, broadcast(exp(v), (90, 70), (0,))),)

    found = costs(lowered(function, aval(90, 70), aval(90)))
    assert (found["flops"], found["transcendentals"]) == (6300, 90)


def test_a_sum_counts_its_additions() -> None:
    found = costs(lowered(lambda x: (total(x, (0, 1)),), aval(90, 70)))
    assert (found["flops"], found["bytes accessed"]) == (6300, 4 * 6301)


def test_a_loop_that_changes_what_it_reads_counts_every_iteration() -> None:
    def function(x: object) -> tuple:
        """Multiply a number by itself, again and again."""
        return tuple(scan(lambda c: (bind("mul", c, c),), (), (x,), (), 50))

    assert costs(lowered(function, np.array(1, F32)[()]))["flops"] == 50


@pytest.mark.parametrize(("dtype", "parts"), [("float32", 1), ("complex64", 2)])
def test_a_product_by_a_library_counts_its_sizes(dtype: str, parts: int) -> None:
    x, y = aval(60, 70, dtype=dtype), aval(70, 80, dtype=dtype)
    found = costs(lowered(lambda x, y: (product(x, y),), x, y))
    assert found["flops"] == parts**2 * 2 * 60 * 70 * 80
    assert found["bytes accessed"] >= parts * 4 * (60 * 70 + 70 * 80 + 60 * 80)


def test_a_product_with_a_vector_counts_as_one_column() -> None:
    found = costs(lowered(lambda x, y: (product(x, y),), aval(300, 400), aval(400, 1)))
    assert found["flops"] == 2 * 300 * 400
