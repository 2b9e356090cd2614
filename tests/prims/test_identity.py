"""Identities obey the laws of `tests/support/harness.py`."""

from __future__ import annotations

from tapeless.prims import identity
from tests.support.harness import laws
from tests.support.records import Record, normal

MIXED = ("float32", "bool", "int8", "bfloat16", "complex64")
RECORDS = [
    Record("copy", identity.copy, (normal(2, 3),), MIXED),
    Record(
        "stop_gradient",
        lambda x: identity.stop_gradient_p.bind(x)[0],
        (normal(2, 3),),
        MIXED,
        dict.fromkeys(("jvp", "transpose", "second"), "a constant has no tangent"),
    ),
]
globals().update(laws(RECORDS))
