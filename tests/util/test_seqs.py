"""Splitting and joining by masks and counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeless.util import seqs

MARKED = st.lists(st.tuples(st.integers(), st.booleans()))


@given(MARKED)
def test_merge_undoes_split(marked):
    values, mask = seqs.unzip(marked)
    off, on = seqs.split(values, mask)
    assert seqs.merge(mask, off, on) == values
    assert on == seqs.select(values, mask)
    assert off == seqs.select(values, seqs.invert(mask))


@given(st.lists(st.lists(st.integers())))
def test_chunks_undo_concatenation(parts):
    whole = [value for part in parts for value in part]
    assert seqs.chunks(whole, map(len, parts)) == parts


def test_positions():
    assert seqs.positions([False, True, True]) == (1, 2)


def test_unzip_of_nothing_has_columns():
    assert seqs.unzip([], 3) == ([], [], [])


def test_split_at_takes_counts_and_the_rest():
    assert seqs.split_at([1, 2, 3, 4], 1, 2) == [[1], [2, 3], [4]]
    assert seqs.split_at([], 0) == [[], []]


@pytest.mark.parametrize(
    "call",
    [
        lambda: seqs.select([1, 2], [True]),
        lambda: seqs.split([1, 2], [True]),
        lambda: seqs.merge([True, False], [1, 2], [3]),
        lambda: seqs.merge([True, False], [1], []),
        lambda: seqs.split_at([1], 2),
        lambda: seqs.chunks([1, 2, 3], [1, 1]),
        lambda: seqs.unzip([(1, 2, 3)]),
        lambda: seqs.map_strict(max, [1], [2, 3]),
    ],
)
def test_wrong_lengths_raise(call):
    with pytest.raises(ValueError):
        call()
