"""Sorters: their names, and how often a line may be divided."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.kernel.sorters import Sorter, depth_of, sorter_of

FLOATS, PLACES = Sorter(np.dtype(np.float32), 1, 64), Sorter(np.dtype(np.uint64), 2, 32)


@pytest.mark.parametrize("sorter", [FLOATS, PLACES])
def test_a_symbol_names_its_sorter(sorter):
    assert sorter_of(sorter.symbol) == sorter


def test_symbols_say_sizes():
    assert FLOATS.symbol == "sorters:float32:1:64"
    assert PLACES.symbol == "sorters:uint64:2:32"
    assert (FLOATS.bits, FLOATS.kind, PLACES.bits, PLACES.kind) == (32, "f", 64, "u")


@pytest.mark.parametrize("size", [1, 1000, 10**9])
def test_lines_may_be_divided_more_often_than_by_halves(size):
    assert size < 2 ** (depth_of(size) // 2)
