"""Tasks: how loops are cut into chunks."""

from __future__ import annotations

import pytest

from tapeless.compiler.tasks import SHARED_COST, chunk_length


@pytest.mark.parametrize("extent", [2, 3, 64, 1000, 12345, 1 << 22])
@pytest.mark.parametrize("unit", [1, 16, 100])
def test_chunks_cover_the_loop_and_are_whole_units(extent: int, unit: int) -> None:
    length = chunk_length(extent, 1e9, unit)
    if extent < 2 * unit:
        assert length is None
        return
    assert length % unit == 0
    assert 2 <= -(-extent // length) <= 64


def test_cheap_loops_are_not_cut() -> None:
    assert chunk_length(1 << 20, SHARED_COST - 1, 16) is None
    assert chunk_length(1 << 20, SHARED_COST, 16) is not None


def test_a_chunk_is_worth_handing_out() -> None:
    length = chunk_length(1 << 20, float(1 << 20), 1)
    assert length >= 1 << 18
