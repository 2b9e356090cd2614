"""What the rules of operations with programs share."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless import lax
from tapeless.control.common import (
    batch_to_front,
    fixed_point,
    join_tangents,
    lift_tracers,
    nonzero_mask,
    transposed_results,
)
from tapeless.core.aval import shaped
from tapeless.core.linear import Linear, Zero
from tapeless.transforms.stage import stage_flat

SCALAR = shaped((), np.float32)


def test_a_fixed_point_grows_until_it_stays():
    assert fixed_point(lambda m: (m[2], m[0], m[1]), (True, False, False)) == (True, True, True)
    assert fixed_point(lambda m: m, (False, True)) == (False, True)
    calls = []
    fixed_point(lambda m: calls.append(m) or m, (False,))
    assert len(calls) == 1


def test_tangents_are_joined_with_zeros():
    assert nonzero_mask([1.0, Zero(SCALAR)]) == (True, False)
    joined = join_tangents([5.0], (False, True), (SCALAR, SCALAR))
    assert joined == (Zero(SCALAR), 5.0)


def test_results_of_a_transposition_have_a_place_per_argument():
    args = [1.0, Linear(SCALAR), Linear(SCALAR)]
    found = transposed_results([7.0], (False, True, True), (False, True), args)
    assert found == (None, Zero(SCALAR), 7.0)


def test_captured_tracers_become_inputs_and_arrays_stay():
    array = np.ones(3, np.float32)
    inner = []

    def outer(x):
        """Stage a program that captures an argument and an array."""
        program = stage_flat(lambda y: [lax.mul(lax.mul(x, y), array)], [shaped((3,), np.float32)])
        inner.append(lift_tracers(program))
        return [x]

    stage_flat(outer, [shaped((3,), np.float32)])
    ((program, lifted),) = inner
    assert len(lifted) == 1
    assert len(program.invars) == 2
    assert program.consts == (array,)


def test_mapped_axes_go_to_the_front():
    x = np.zeros((2, 3))
    moved, same, shared = batch_to_front([x, x, x], [1, 0, None])
    assert (np.shape(moved), same is x, shared is x) == ((3, 2), True, True)


def test_a_step_that_never_settles_is_a_fault():
    flips = iter([(True, False), (False, True), (True, True)])
    assert fixed_point(lambda m: next(flips, m), (False, False)) == (True, True)
    with pytest.raises(ValueError, match="zip"):
        fixed_point(lambda m: (*m, True), (False,))
