"""Comparisons in the total order obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np

from tapeless.prims import order
from tests.support.harness import laws
from tests.support.records import BOOL, FLOATS, INTEGERS, Failure, Record, fixed

NO_TANGENT = dict.fromkeys(("jvp", "transpose", "second"), "the result is a bool")
NUMBERS = [-np.nan, -np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan]
LEFT = fixed([x for x in NUMBERS for _ in NUMBERS])
RIGHT = fixed(NUMBERS * len(NUMBERS))
WHOLE = (fixed([0, 1, 2, 255]), fixed([0, 2, 1, 1]))


def eq_to(x, y):
    """Bind the operation, which has no function."""
    return order.eq_to_p.bind(x, y)[0]


def le_to(x, y):
    """Bind the operation, which has no function."""
    return order.le_to_p.bind(x, y)[0]


def lt_to(x, y):
    """Bind the operation, which has no function."""
    return order.lt_to_p.bind(x, y)[0]


TESTS = {"eq_to": eq_to, "le_to": le_to, "lt_to": lt_to}
RECORDS = [
    *(Record(name, test, (LEFT, RIGHT), FLOATS, NO_TANGENT) for name, test in TESTS.items()),
    *(
        Record(f"{name}-whole", test, WHOLE, (*INTEGERS, *BOOL), NO_TANGENT)
        for name, test in TESTS.items()
    ),
    Record(
        "lt_to-errors",
        lt_to,
        (LEFT, RIGHT),
        ("float32",),
        NO_TANGENT,
        (Failure((np.ones(2, np.complex64),) * 2, TypeError, "lt_to does not accept dtype"),),
    ),
]
globals().update(laws(RECORDS))


def test_the_order_is_total():
    """Each number is below those to its right, zeros and NaN included."""
    x = np.array(NUMBERS, np.float32)
    below = np.asarray(lt_to(x[:, None].repeat(8, 1), x[None].repeat(8, 0)))
    np.testing.assert_array_equal(below, np.triu(np.ones((8, 8), bool), 1))
