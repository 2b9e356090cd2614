"""Phases of images with holes: which taps they need, and how several become one convolution."""

from __future__ import annotations

import pytest

from tapeless.prims.convholes import is_phased, joined_windows, phases_of
from tapeless.prims.window import Windows


def windows(extent, window, padding, base, step=1, stride=1) -> Windows:
    """Return windows along one axis."""
    return Windows(
        (extent,),
        {
            "window_dimensions": (window,),
            "window_strides": (stride,),
            "padding": (padding,),
            "base_dilation": (base,),
            "window_dilation": (step,),
        },
    )


CASES = [
    (9, 7, (4, 3), 2),
    (8, 5, (0, 6), 3),
    (8, 4, (2, 2), 4),
    (8, 2, (-1, 5), 3),
    (5, 7, (9, 9), 2),
]


@pytest.mark.parametrize("case", CASES)
def test_every_place_belongs_to_the_phase_that_reads_its_elements(case):
    extent, window, (low, high), base = case
    places = windows(*case)
    for phase in phases_of(places, 0):
        for number in range(phase.count):
            place = phase.start + number * phase.step
            taps = [tap for tap in range(window) if (place + tap - low) % base == 0]
            assert list(phase.taps) == taps
            for i, tap in enumerate(taps):
                assert (place + tap - low) // base == number + i * phase.tap_step - phase.low


@pytest.mark.parametrize("case", CASES)
def test_joined_windows_have_what_any_phase_reads(case):
    places = windows(*case)
    phases = [phase for phase in phases_of(places, 0) if phase.taps]
    whole = joined_windows(places, phases)
    assert whole.base == (1,)
    assert whole.count == (max(phase.count for phase in phases),)
    low = whole.padding[0][0]
    for phase in phases:
        assert low >= phase.low
        assert len(phase.taps) + low - phase.low <= whole.window[0]


def test_places_that_are_apart_have_no_phases():
    assert is_phased(windows(9, 3, (1, 1), 2))
    assert is_phased(windows(9, 3, (1, 1), 1, stride=2))
    assert not is_phased(windows(9, 3, (1, 1), 2, stride=2))
