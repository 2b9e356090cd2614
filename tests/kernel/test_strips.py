"""Strips: names say the sizes, levels are joined, and shapes fit into registers."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.kernel.strips import Strip, best_shape, merged, strip_of, strip_work


def test_a_symbol_names_a_strip():
    strip = Strip(np.dtype(np.float64), 7, 8, 3, 40, 100, ((3, 1856, 2304), (96, 1, 24)))
    assert strip_of(strip.symbol) == strip
    assert (strip.width, strip.terms) == (24, 288)


def test_a_symbol_names_taps_and_overlaps():
    sizes = (7, 8, 3, 40, 100, ((3, 1856, 2304), (96, 1, 24)))
    strip = Strip(np.dtype(np.float64), *sizes, taps=(0, 20, 1), overlap=3)
    assert strip_of(strip.symbol) == strip
    assert (strip.width, strip.terms) == (21, 864)
    assert [strip.start(vector) for vector in range(3)] == [0, 8, 13]


def test_levels_that_go_on_in_both_factors_are_joined():
    assert merged([(3, 60, 64), (2, 10, 32), (4, 1, 8)]) == ((3, 60, 64), (2, 10, 32), (4, 1, 8))
    assert merged([(3, 8, 64), (2, 4, 32), (4, 1, 8)]) == ((24, 1, 8),)
    assert merged([(3, 9, 64), (1, 5, 64), (8, 1, 8)]) == ((3, 9, 64), (8, 1, 8))
    assert merged([(1, 9, 64), (1, 5, 64)]) == ((1, 5, 64),)


@pytest.mark.parametrize("registers", [16, 32])
@pytest.mark.parametrize(("rows", "columns"), [(56, 64), (7, 512), (1000, 20), (3, 3), (1, 48)])
def test_sums_and_factors_fit_into_the_registers(rows, columns, registers):
    height, lanes, vectors = best_shape(rows, columns, 16, registers)
    assert 1 <= height <= rows
    assert lanes * vectors <= columns
    assert height * vectors + vectors + 1 <= registers


@pytest.mark.parametrize("columns", [17, 28, 48, 56, 70])
def test_the_last_vector_of_an_only_strip_overlaps(columns):
    height, lanes, vectors = best_shape(64, columns, 16, 32, True)
    assert lanes * (vectors - 1) < columns
    assert height * vectors + vectors + 1 <= 32


def test_sums_of_many_rows_wait_for_their_factors():
    assert best_shape(64, 112, 16, 32) == (13, 16, 2)
    assert strip_work(6, 112, 16, 32) < 2 * strip_work(3, 112, 16, 32)


def test_strips_cover_places_evenly():
    assert best_shape(56, 64, 16, 32) == (14, 16, 2)
    assert best_shape(1000, 10, 16, 32)[1:] == (8, 1)
