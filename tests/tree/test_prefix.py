"""Prefixes, and the messages when trees do not fit."""

from collections import namedtuple

import pytest

from tapeless import tree_util
from tapeless.tree import prefix
from tapeless.tree.flatten import tree_structure

Point = namedtuple("Point", "x y")

VMAP_MESSAGE = """\
vmap in_axes specification must be a tree prefix of the corresponding value; 
  Mismatch details (1 found):
  pytree structure error: different pytree metadata at key path
    vmap in_axes[0]
At that key path, the prefix pytree vmap in_axes has a subtree of type
    <class 'dict'>
with metadata
    ('bias', 'w')
but at the same key path the full pytree has a subtree of the same type but with metadata
    ('b', 'w')
so the diff in the metadata at these pytree nodes is
    - ('bias', 'w')
    ?    ---

    + ('b', 'w')"""  # noqa: W291

LENGTH_MESSAGE = """\
pytree structure error: different lengths of tuple at key path
    tree_map tree[0]
At that key path, the prefix pytree tree_map tree has a subtree of type tuple of length 2, \
but the full pytree has a subtree of the same type but of length 1."""

CHILDREN_MESSAGE = """\
pytree structure error: different numbers of pytree children at key path
    f
At that key path, the prefix pytree f has a subtree of type
    <class 'dict'>
with 1 child keys
    ['a']
but at the same key path the full pytree has a subtree of the same type but with 2 child keys
    ['a'] ['b']
so the symmetric difference on key sets is
    ['b']"""


def test_flatten_axes_explains_like_vmap():
    treedef = tree_structure((({"b": 0, "w": 1}, 2), {}))
    with pytest.raises(ValueError) as caught:
        prefix.flatten_axes("vmap in_axes", treedef, (({"bias": None, "w": 0}, 0), 0), kws=True)
    assert str(caught.value) == VMAP_MESSAGE


def test_flatten_axes_reminds_of_the_tuple():
    with pytest.raises(ValueError, match="should always be wrapped in a tuple representing the"):
        prefix.flatten_axes("vmap in_axes", tree_structure((1,)), [0], tupled_args=True)


def test_flatten_axes_repeats_axes_and_keeps_none():
    treedef = tree_structure(({"w": 1, "b": 2}, [3, 4], None))
    assert prefix.flatten_axes("axes", treedef, 0) == [0, 0, 0, 0]
    assert prefix.flatten_axes("axes", treedef, (None, 1, 2)) == [None, None, 1, 1]
    assert prefix.flatten_axes("axes", treedef, ({"w": 5, "b": None}, [6, 7], 8)) == [None, 5, 6, 7]


def test_tree_map_names_the_place():
    with pytest.raises(ValueError) as caught:
        tree_util.tree_map(lambda x, y: x, [(1, 2)], [(1,)])
    assert str(caught.value) == LENGTH_MESSAGE


def test_different_numbers_of_children_are_listed():
    [error] = prefix.prefix_errors({"a": 1}, {"a": 1, "b": 2})
    assert str(error("f")) == CHILDREN_MESSAGE


def test_every_place_is_reported_once():
    errors = prefix.prefix_errors([{"a": 1}, (1,), 0], [{"b": 1}, (1, 2), (3,)])
    places = [str(error("f")).splitlines()[1].strip() for error in errors]
    assert places == ["f[0]", "f[1]"]


def test_none_is_no_prefix_of_a_value_unless_a_leaf():
    assert len(prefix.prefix_errors(None, 3)) == 1
    assert prefix.prefix_errors(None, 3, is_leaf=lambda x: x is None) == []


def test_broadcast_prefix_repeats_leaves():
    assert prefix.broadcast_prefix((1, 2), (1, [2, {"a": 3}])) == [1, 2, 2]
    assert tree_util.tree_broadcast((1, 2), (1, [2, {"a": 3}])) == (1, [2, {"a": 2}])
    with pytest.raises(ValueError, match="broadcast_prefix prefix_tree"):
        tree_util.tree_broadcast((1, 2), [1, 2])


def test_broadcast_of_a_flat_prefix():
    treedefs = tree_structure((0, 0)), tree_structure((0, [0, 0]))
    assert prefix.broadcast_flattened_prefix_with_treedef([1, 2], *treedefs) == [1, 2, 2]


@pytest.mark.parametrize(
    ("tree1", "tree2", "expected"),
    [
        (1, 2, []),
        ((1,), [1], [((), "<class 'tuple'>", "<class 'list'>", "their Python types differ")]),
        ((1,), 1, [((), "<class 'tuple'>", "<class 'int'>", "their Python types differ")]),
        ((1,), (), [((), "tuple of length 1", "tuple of length 0", "the lengths do not match")]),
    ],
)
def test_equality_errors_of_types_and_lengths(tree1, tree2, expected):
    assert list(prefix.equality_errors(tree1, tree2)) == expected


def test_equality_errors_of_keys():
    [difference] = prefix.equality_errors({"a": 1}, {"a": 1, "b": 2})
    first, second, why = difference[1:]
    assert first == "<class 'dict'> with 1 child"
    assert second == "<class 'dict'> with 2 children"
    assert why.endswith("with the symmetric difference of key sets: {'b'}")
    [difference] = prefix.equality_errors({"a": 1}, {"b": 1})
    assert difference[1] == "<class 'dict'> with pytree metadata ('a',)"
    assert difference[3] == "the pytree node metadata does not match"


def test_equality_errors_of_structures_speak_of_leaves():
    differences = prefix.equality_errors_pytreedef(tree_structure([1]), tree_structure([()]))
    assert [d[1:3] for d in differences] == [("pytree leaf", "<class 'tuple'>")]


@pytest.mark.parametrize(
    ("tree", "other", "message"),
    [
        ((1, 2), (1,), "Tuple arity mismatch: 1 != 2; tuple: (1,)."),
        ([1, 2], [1], "List arity mismatch: 1 != 2; list: [1]."),
        ((1,), [1], "Expected tuple, got [1]."),
        ({"a": 1}, 3, "Expected dict, got 3."),
        ({"a": 1}, {"b": 1}, "Dict key mismatch; expected keys: ['a']; present keys: ['b']."),
        (Point(1, 2), (1, 2), "Expected named tuple, got (1, 2)."),
        (((1,), [1]), ([1], (1,)), "Expected list, got (1,)."),
    ],
)
def test_flatten_up_to_says_what_it_expected(tree, other, message):
    with pytest.raises(ValueError) as caught:
        tree_structure(tree).flatten_up_to(other)
    assert str(caught.value) == message


def test_flatten_up_to_explains_none():
    with pytest.raises(ValueError, match="^Expected None, got 3.\n\nIn previous releases of JAX"):
        tree_structure(None).flatten_up_to(3)
