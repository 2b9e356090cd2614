"""Orders given by arrows."""

from tapeless.util import lattice

ARROWS = {
    "bottom": ("left", "right"),
    "left": ("top",),
    "right": ("top",),
}
DIAMOND = lattice.upper_sets(ARROWS)


def test_upper_sets_hold_the_node_and_all_above():
    assert DIAMOND["bottom"] == {"bottom", "left", "right", "top"}
    assert DIAMOND["top"] == {"top"}


def test_least_upper_bounds():
    bound = lattice.least_upper_bound
    assert bound(["left", "right"], DIAMOND) == "top"
    assert bound(["bottom", "left"], DIAMOND) == "left"
    assert bound(["left"], DIAMOND) == "left"


def test_there_may_be_none():
    sets = lattice.upper_sets({1: (3, 4), 2: (3, 4), 5: ()})
    for pair in ([1, 2], [1, 5]):
        assert lattice.least_upper_bound(pair, sets) is None
