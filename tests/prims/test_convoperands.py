"""What convolutions in blocks share: how many chunks there are, and what padding leaves."""

from __future__ import annotations

from tapeless.prims import convoperands


def test_chunks_have_all_units():
    for n_units in range(1, 100):
        chunks, per_chunk = convoperands.chunks_of(n_units)
        assert chunks <= convoperands.CHUNKS
        assert (chunks - 1) * per_chunk < n_units <= chunks * per_chunk


def test_negative_padding_cuts_elements_off():
    assert convoperands._room(10, 1, (2, 3)) == (15, 0, 10)
    assert convoperands._room(10, 1, (-2, -3)) == (5, 2, 5)
    assert convoperands._room(4, 3, (-1, 0)) == (9, 1, 3)
    assert convoperands._room(2, 1, (-5, 1))[::2] == (0, 0)
