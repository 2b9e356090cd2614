"""Places of extreme elements obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.prims import argextremes
from tests.support.harness import laws
from tests.support.records import FLOATS, Record, fixed

BITS = dict.fromkeys(("jvp", "transpose", "second"), "places have no tangents")
X = np.ones((3, 4), np.float32)

RECORDS = [
    Record(
        "argmax",
        lambda x: argextremes.argmax(x, 1, np.int32),
        (fixed([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]]),),
        (*FLOATS, "int32", "uint8"),
        BITS,
    ),
    Record(
        "argmin",
        lambda x: argextremes.argmin(x, 1, np.int64),
        (fixed([[1.0, 0.0, 0.0], [2.0, 0.0, 1.0]]),),
        FLOATS,
        BITS,
    ),
]
globals().update(laws(RECORDS))


def test_the_first_nan_is_the_extreme():
    x = np.array([1, np.nan, 3, np.nan], np.float32)
    assert int(argextremes.argmax(x, 0, np.int32)) == 1
    assert int(argextremes.argmin(x, 0, np.int32)) == 1


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: argextremes.argmax(X, 0, np.float32),
            TypeError,
            "index_dtype must be an integer type, but got float32",
        ),
        (
            lambda: argextremes.argmax(X, -1, np.int32),
            ValueError,
            "Invalid axis -1 for operand shape",
        ),
        (
            lambda: argextremes.argmax(X[:0], 0, np.int32),
            ValueError,
            "argmin and argmax require non-empty reduced dimension.",
        ),
    ],
)
def test_wrong_operands_are_refused(call, kind, text):
    with pytest.raises(kind, match=text.split("(")[0]):
        call()
