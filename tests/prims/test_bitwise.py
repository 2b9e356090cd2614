"""Operations on bits obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np

from tapeless.prims import bitwise
from tests.support.harness import laws
from tests.support.records import BOOL, INTEGERS, Failure, Record, bits, fixed

INTEGRAL = dict.fromkeys(("jvp", "transpose", "second"), "integers have no tangents")
F32 = np.float32

RECORDS = [
    Record(
        "bitwise_and",
        bitwise.bitwise_and,
        (bits(2, 3), bits(2, 3)),
        (*INTEGERS, *BOOL),
        INTEGRAL,
        errors=(
            Failure(
                (np.ones(3, F32),) * 2,
                TypeError,
                "and does not accept dtype float32 at position 0. Accepted dtypes at position 0 "
                "are subtypes of integer, bool.",
            ),
        ),
    ),
    Record(
        "bitwise_or", bitwise.bitwise_or, (bits(2, 3), bits(2, 3)), (*INTEGERS, *BOOL), INTEGRAL
    ),
    Record(
        "bitwise_xor", bitwise.bitwise_xor, (bits(2, 3), bits(2, 3)), (*INTEGERS, *BOOL), INTEGRAL
    ),
    *(
        Record(
            name,
            getattr(bitwise, name),
            (bits(2, 4), fixed([[0, 1, 7, 31], [8, 32, 100, 64]])),
            INTEGERS,
            INTEGRAL | {"vmap": "the counts are fixed", "empty": "the counts are fixed"},
        )
        for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical")
    ),
    Record("mulhi", bitwise.mulhi, (bits(2, 3), bits(2, 3)), ("int32", "uint32"), INTEGRAL),
]
globals().update(laws(RECORDS))
