"""Lists of places: which flags are set, in order, at any number of flags."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tapeless.compiler.generate import generate_object
from tapeless.compiler.linker import link
from tapeless.compiler.placetext import MARGIN, PLACES, places_text
from tapeless.compiler.target import host_target, named_target


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("n", [0, 1, 15, 63, 64, 65, 200, 256, 319, 320, 4096, 9999])
def test_the_list_is_of_those_that_are_set(n, share):
    flags = np.random.default_rng(n).uniform(size=n) < share
    places = np.full(n + MARGIN + 8, -7, np.int32)
    found = np.zeros(1, np.int64)
    code = link(generate_object(places_text(), host_target()), PLACES, (), {})
    arguments = [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2]
    routine = ctypes.CFUNCTYPE(None, *arguments)(code.address(PLACES))
    routine(flags.ctypes.data, places.ctypes.data, found.ctypes.data, n, n)
    np.testing.assert_array_equal(places[: found[0]], np.flatnonzero(flags))
    assert found[0] == flags.sum()
    assert (places[n + MARGIN :] == -7).all()
    if found[0]:
        assert (places[found[0] : found[0] + MARGIN] == places[found[0] - 1]).all()
    routine(flags.ctypes.data, places.ctypes.data, found.ctypes.data, n, n // 4)
    assert (found[0] > n // 4) == (flags.sum() > n // 4)
    assert (places[n + MARGIN :] == -7).all()


@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_there_is_code_for_each_level(name):
    assert generate_object(places_text(), named_target(name))
