"""The programs of the operations' records, run by XLA from their StableHLO text.

Every record is written, parsed, verified, compiled and run there, for its first dtype; for the
others in the long tests.  The values must be those that this package's compiler gives, within the
record's rounding errors, twice over, as each side is allowed them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tapeless as jax
from tapeless import dtypes
from tapeless.config import enable_x64
from tests.golden.xla import run_text
from tests.meta.test_rules import records
from tests.support.harness import listed
from tests.support.records import Record

pytestmark = pytest.mark.oracle

AT_LEAST = 350
# Programs on which the two compilers may differ by more, with the reason and the bound.
LOOSE = {
    "digamma": (32, "next to a root, where terms cancel"),
    "matrix-groups": (4096, "sums of many terms of both signs"),
}


# XLA takes half a minute to compile one of these programs.
LONG = ("sine_integral", "cosine_integral")


def cases(first: int, last: int | None) -> Iterator:
    """Yield the records with the first .. last of their dtypes."""
    for record in records():
        if "hlo" in record.without:
            continue
        for dtype in record.dtypes[first:last]:
            marks = [pytest.mark.slow] * (record.name in LONG)
            yield pytest.param(record, dtype, id=f"{record.name}-{dtype}", marks=marks)


USUAL, REST = list(cases(0, 1)), list(cases(1, None))


def check(record: Record, dtype: str) -> None:
    """Compare XLA's results with ours."""
    args = record.arguments(dtype)
    with enable_x64(True):
        compiled = jax.jit(record.call)
        expected = [np.asarray(out) for out in listed(compiled(*args))]
        found = run_text(compiled.lower(*args).as_text(), args)
    ulps = max(2 * record.ulps, LOOSE.get(record.name, (0, ""))[0])
    for want, got in zip(expected, found, strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        if not dtypes.issubdtype(want.dtype, np.inexact):
            np.testing.assert_array_equal(got, want)
            continue
        bound = ulps * float(dtypes.finfo(want.dtype).eps)
        wide = np.complex128 if dtypes.issubdtype(want.dtype, np.complexfloating) else np.float64
        np.testing.assert_allclose(
            got.astype(wide), want.astype(wide), rtol=bound, atol=0.1 * bound
        )


def test_there_are_enough_programs():
    assert len(USUAL) >= AT_LEAST


@pytest.mark.parametrize(("record", "dtype"), USUAL)
def test_xla_runs_the_text_of_a_record(record, dtype):
    check(record, dtype)


@pytest.mark.slow
@pytest.mark.parametrize(("record", "dtype"), REST)
def test_xla_runs_the_text_of_other_dtypes(record, dtype):
    check(record, dtype)
