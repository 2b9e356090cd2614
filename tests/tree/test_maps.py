"""Mapping, reducing and transposing."""

import functools

import pytest

from tapeless import tree
from tapeless.tree_util import Partial, tree_structure


def test_map_takes_the_structure_of_the_first_tree():
    assert tree.map(lambda x, y: (x, y), [1, {"a": 2}], [3, {"a": (4, 5)}]) == [
        (1, 3),
        {"a": (2, (4, 5))},
    ]
    assert tree.map(lambda *xs: sum(xs), (1, 2), (3, 4), (5, 6)) == (9, 12)


def test_map_stops_where_told():
    mapped = tree.map(lambda x, y: (x, y), [1, None], [2, (3,)], is_leaf=lambda x: x is None)
    assert mapped == [(1, 2), (None, (3,))]


def test_reduce_goes_from_left_to_right():
    def pair(x, y):
        return f"({x}{y})"

    assert tree.reduce(pair, ["a", ("b", {"k": "c"})]) == "((ab)c)"
    assert tree.reduce(pair, ["a"], None) == "(Nonea)"
    with pytest.raises(TypeError, match="reduce.. of empty iterable with no initial value"):
        tree.reduce(pair, [])


@pytest.mark.parametrize(
    ("letters", "expected"),
    [("abcde", "((ab)(c(de)))"), ("abcdef", "((a(bc))(d(ef)))"), ("a", "a")],
)
def test_associative_reduce_is_balanced(letters, expected):
    assert tree.reduce_associative(lambda x, y: f"({x}{y})", list(letters)) == expected


def test_associative_reduce_of_nothing_is_the_identity():
    assert tree.reduce_associative(max, [], identity=0) == 0
    with pytest.raises(TypeError, match="^Must specify identity for parallel reduction of empty"):
        tree.reduce_associative(max, [])


def test_all_asks_every_leaf():
    assert tree.all([True, {"a": 1}])
    assert not tree.all([True, {"a": 0}])
    assert tree.all([(0,)], is_leaf=lambda x: isinstance(x, tuple))


def test_transpose_turns_inside_out():
    outer, inner = tree_structure([0, 0]), tree_structure({"a": 0})
    assert tree.transpose(outer, inner, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
    assert tree.transpose(outer, None, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
    with pytest.raises(TypeError, match="^Mismatch\nPyTreeDef"):
        tree.transpose(outer, inner, [{"a": 1}, {"a": 2, "b": 3}])


def test_partial_has_its_arguments_as_children():
    partial = Partial(pow, 2, mod=5)
    assert tree.leaves(partial) == [2, 5]
    assert tree.map(lambda x: x + 1, partial)(3) == 3**3 % 6
    assert repr(partial) == "tapeless.tree_util.Partial(<built-in function pow>, 2, mod=5)"


def test_partial_of_a_partial_does_not_open_it():
    inner = functools.partial(max, 7)
    outer = Partial(inner, 3)
    assert (outer(5), tree.leaves(outer)) == (7, [3])
    assert tree_structure(outer) == tree_structure(Partial(inner, 4))
    assert tree_structure(outer) != tree_structure(Partial(functools.partial(max, 7), 4))
