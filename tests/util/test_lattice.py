"""Orders given by arrows."""

from tapeless.util import lattice

DIAMOND = lattice.upper_sets({"bottom": ("left", "right"), "left": ("top",), "right": ("top",)})


def test_upper_sets_hold_the_node_and_all_above():
    assert DIAMOND["bottom"] == {"bottom", "left", "right", "top"}
    assert DIAMOND["top"] == {"top"}


def test_least_upper_bounds():
    assert lattice.least_upper_bound(["left", "right"], DIAMOND) == "top"
    assert lattice.least_upper_bound(["bottom", "left"], DIAMOND) == "left"
    assert lattice.least_upper_bound(["left"], DIAMOND) == "left"


def test_there_may_be_none():
    sets = lattice.upper_sets({1: (3, 4), 2: (3, 4), 5: ()})
    assert lattice.least_upper_bound([1, 2], sets) is None
    assert lattice.least_upper_bound([1, 5], sets) is None
