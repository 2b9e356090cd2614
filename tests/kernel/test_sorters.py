"""Sorters: their names, and how often a line may be divided."""

from __future__ import annotations

import pytest

from tapeless.kernel.sorters import Sorter, depth_of, sorter_of


@pytest.mark.parametrize("sorter", [Sorter(32), Sorter(64), Sorter(64, 2)])
def test_a_symbol_names_its_sorter(sorter):
    assert sorter_of(sorter.symbol) == sorter


def test_symbols_say_sizes():
    assert Sorter(64, 2).symbol == "sorters:64:2"


@pytest.mark.parametrize("size", [1, 1000, 10**9])
def test_lines_may_be_divided_more_often_than_by_halves(size):
    assert size < 2 ** (depth_of(size) // 2)
