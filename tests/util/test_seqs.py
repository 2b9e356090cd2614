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
    opposite = seqs.invert(mask)
    assert off == seqs.select(values, opposite)


@given(st.lists(st.lists(st.integers())))
def test_chunks_undo_concatenation(parts):
    whole = [value for part in parts for value in part]
    assert seqs.chunks(whole, map(len, parts)) == parts


def test_positions():
    assert seqs.positions([False, True, True]) == (1, 2)


def test_unzip_of_nothing_has_columns():
    assert seqs.unzip([], 3) == ([], [], [])


def test_split_at_takes_counts_and_the_rest():
    assert list(map("".join, seqs.split_at("abcd", 1, 2))) == ["a", "bc", "d"]


def test_split_at_may_leave_nothing():
    assert seqs.split_at("", 0) == [[], []]


@pytest.mark.parametrize(
    "call",
    [
        lambda: seqs.select("ab", [True]),
        lambda: seqs.split("ab", [True]),
        lambda: seqs.merge([True, False], "ab", "c"),
        lambda: seqs.merge([True, False], "a", ""),
        lambda: seqs.split_at("a", 2),
        lambda: seqs.chunks("abc", [1, 1]),
        lambda: seqs.unzip(["abc"]),
        lambda: seqs.map_strict(max, "a", "bc"),
    ],
)
def test_wrong_lengths_raise(call):
    with pytest.raises(ValueError):
        call()
