"""The roof is what is measured, and bounds kernels by the slower of the two."""

import pytest

from tapeless.api.roofline import Roof, roof_for


def test_the_slower_of_two_bounds():
    roof = Roof(flops=1e9, bandwidth=1e8)
    assert roof.bound(2e9, 1e6) == (2.0, "flops")
    assert roof.bound(1e6, 1e8) == (1.0, "memory")


def test_a_machine_does_at_least_a_little():
    roof = roof_for(1 << 20)
    assert roof.flops > 1e8
    assert roof.bandwidth > 1e8


@pytest.mark.parametrize("touched", [0, 1, 1 << 40])
def test_any_size_has_a_roof(touched):
    assert roof_for(touched).bandwidth > 0


def test_a_size_is_measured_once():
    assert roof_for(100_000) == roof_for(110_000)
