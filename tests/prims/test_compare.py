"""Comparisons obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np

from tapeless.prims import compare
from tests.support.harness import laws
from tests.support.records import BOOL, FLOATS, INTEGERS, Failure, Record, fixed

NO_TANGENT = dict.fromkeys(("jvp", "transpose", "second"), "the result is a bool")
LEFT = fixed([0.0, 1.0, 2.0, np.nan, -0.0])
RIGHT = fixed([0.0, 2.0, 1.0, np.nan, 0.0])
WHOLE = (fixed([0, 1, 2, 255]), fixed([0, 2, 1, 1]))
NAMES = ("eq", "ne", "lt", "le", "gt", "ge")
RECORDS = [
    *(Record(name, getattr(compare, name), (LEFT, RIGHT), FLOATS, NO_TANGENT) for name in NAMES),
    *(
        Record(f"{name}-whole", getattr(compare, name), WHOLE, (*INTEGERS, *BOOL), NO_TANGENT)
        for name in NAMES
    ),
    *(
        Record(
            f"{name}-complex",
            getattr(compare, name),
            (fixed([1j, 1, 1 + 1j]), fixed([1j, 1j, 1])),
            ("complex64", "complex128"),
            NO_TANGENT,
        )
        for name in ("eq", "ne")
    ),
    Record(
        "lt-errors",
        compare.lt,
        (LEFT, RIGHT),
        ("float32",),
        NO_TANGENT,
        (
            Failure(
                (np.ones(2, np.complex64),) * 2,
                TypeError,
                "lt does not accept dtype complex64 at position 0. Accepted dtypes at position 0 "
                "are subtypes of integer, bool, floating.",
            ),
        ),
    ),
]
globals().update(laws(RECORDS))
