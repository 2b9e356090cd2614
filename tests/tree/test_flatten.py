"""Flattening, structures and rebuilding."""

import dataclasses
import enum
import gc
import pickle
import sys
import weakref
from collections import OrderedDict, defaultdict, namedtuple

import pytest

from tapeless import tree_util
from tapeless.tree.flatten import leaves_of_structure, tree_flatten, tree_leaves, tree_structure
from tapeless.tree.treedef import MOST_LEVELS, Node

Point = namedtuple("Point", "x y")


class Tagged:
    """A container with one child and arbitrary data."""

    def __init__(self, child, tag):
        self.child = child
        self.tag = tag


tree_util.register_pytree_node(
    Tagged, lambda t: ((t.child,), t.tag), lambda tag, children: Tagged(children[0], tag)
)

TREES = [
    1,
    None,
    (),
    [1, 2, 3],
    {"b": 1, "a": (2, None)},
    {2: 1, 1: [3, {}]},
    Point(1, [2, Point(3, 4)]),
    OrderedDict([("z", 1), ("a", (2,))]),
    defaultdict(list, {"b": 1, "a": (2,)}),
    [{"w": 1, "b": 2}, {"b": 3, "w": 4}, (5, (6,))],
    tree_util.Partial(max, 1, default=2),
]


def nest(depth):
    """Return a leaf inside ``depth`` lists."""
    tree = 1
    for _ in range(depth):
        tree = [tree]
    return tree


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_unflatten_undoes_flatten_however_often(tree):
    # Often enough for the structure to be expected, and its functions to be compiled.
    for _ in range(200):
        leaves, treedef = tree_flatten(tree)
        assert len(leaves) == treedef.num_leaves
        assert repr(treedef.unflatten(leaves)) == repr(tree_util.tree_map(lambda x: x, tree))


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_is_leaf_that_never_stops_changes_nothing(tree):
    assert tree_flatten(tree, is_leaf=lambda x: False) == tree_flatten(tree)


def test_dict_values_come_in_the_order_of_keys():
    assert tree_leaves({"b": 1, "a": 2}) == [2, 1]
    assert list(tree_util.tree_map(str, {"b": 1, "a": 2})) == ["a", "b"]


def test_ordered_dict_keeps_its_order():
    assert tree_leaves(OrderedDict([("b", 1), ("a", 2)])) == [1, 2]


def test_unsortable_keys_are_refused():
    with pytest.raises(ValueError, match="^Comparator raised exception while sorting pytree"):
        tree_leaves({"a": 1, 2: 3})


def test_equal_structures_are_one_object():
    for tree in TREES:
        again = tree_util.tree_unflatten(tree_structure(tree), tree_leaves(tree))
        assert tree_structure(again) is tree_structure(tree)


def test_keys_that_are_equal_but_distinguishable_are_kept_apart():
    class Key(enum.StrEnum):
        A = "a"

    for _ in range(100):
        assert str(tree_structure({1: 0})) == "PyTreeDef({1: *})"
        assert str(tree_structure({True: 0})) == "PyTreeDef({True: *})"
        assert [*tree_util.tree_map(str, {"a": [0]})][0] == "a"
        assert [*tree_util.tree_map(str, {Key.A: [0]})][0] is Key.A
    assert tree_structure({1: 0}) == tree_structure({True: 0})
    assert hash(tree_structure({1: 0})) == hash(tree_structure({True: 0}))


def test_an_expected_structure_does_not_hide_other_trees():
    expected = [{"w": 1, "b": 2}, (3, 4)]
    for _ in range(300):
        tree_flatten(expected)
    for tree in (
        [{"b": 2, "w": 1}, (3, 4)],
        [{"w": 1, "c": 2}, (3, 4)],
        [{"w": 1, "b": 2}, [3, 4]],
        [{"w": 1, "b": 2}, (3, 4, 5)],
        [{"w": 1, "b": None}, (3, 4)],
        [{"w": 1, "b": (2,)}, (3, 4)],
    ):
        assert tree_flatten(tree) == tree_flatten(tree, is_leaf=lambda x: False)


@dataclasses.dataclass
class Layer:
    """Two children and a static field."""

    weight: object
    bias: object
    name: str


tree_util.register_dataclass(Layer, ["weight", "bias"], ["name"])


class Odd:
    """A class of fields that are no names in code."""

    def __init__(self, **fields):
        vars(self).update(fields)


tree_util.register_dataclass(Odd, ["class", "a b"], ["1"])


def test_expected_dataclasses_do_not_hide_others():
    """Code is made for a structure that is met often; it looks at types, data and children."""
    expected = [Layer(1, 2, "x"), Layer(3, (4, 5), "y")]
    for _ in range(200):
        leaves, structure = tree_flatten(expected)
        assert structure.unflatten(leaves) == expected
    assert leaves == [1, 2, 3, 4, 5]
    for other in ([Layer(1, 2, "x"), Layer(3, (4, 5), "z")], [Layer(1, 2, "x"), Layer(3, 4, "y")]):
        leaves, found = tree_flatten(other)
        assert found != structure
        assert found.unflatten(leaves) == other


def test_fields_of_dataclasses_may_be_odd_strings():
    odd = [Odd(**{"class": 1, "a b": (2,), "1": "data"})]
    for _ in range(200):
        leaves, structure = tree_flatten(odd)
        assert vars(structure.unflatten(leaves)[0]) == vars(odd[0])
    assert leaves == [1, 2]


def test_what_was_made_and_what_was_rebuilt_are_both_expected():
    """The keys of one are in the user's order, those of the other are sorted."""
    made = [{"w": (1, 2), "b": 3, "a": [4]}, (5, 6)]
    rebuilt = tree_util.tree_map(lambda x: x, made)
    assert list(made[0]) != list(rebuilt[0])
    for _ in range(200):
        for tree in (made, rebuilt):
            assert tree_flatten(tree) == ([4, 3, 1, 2, 5, 6], tree_structure(tree))
    match = tree_structure(made).node.match
    assert match(made) == match(rebuilt) == [4, 3, 1, 2, 5, 6]
    third = [{"b": 3, "w": (1, 2), "a": [4]}, (5, 6)]
    others = [{"w": (1, 2), "b": 3, "c": [4]}, (5, 6)], [{"w": (1, 2), "b": 3}, (5, 6)]
    assert [match(other) for other in (third, *others)] == [None] * 3
    assert tree_leaves(third) == [4, 3, 1, 2, 5, 6]
    assert tree_leaves(others[0]) == [3, 4, 1, 2, 5, 6]


def test_expected_defaultdicts_do_not_hide_others():
    expected = defaultdict(list, {"b": 1, "a": (2,)})
    for _ in range(200):
        assert tree_flatten(expected)[0] == [2, 1]
    structure = tree_structure(expected)
    for other in ({"b": 1, "a": (2,)}, defaultdict(dict, expected), defaultdict(list, {"b": 1})):
        assert tree_structure(other) != structure
    assert structure.unflatten([2, 1]).default_factory is list
    assert tree_flatten(defaultdict(list, {"a": (2,), "b": 1})) == ([2, 1], structure)


class Freely:
    """A container whose flatten function gives what it is told to."""

    def __init__(self, children, data):
        self.children = children
        self.data = data


tree_util.register_pytree_node(
    Freely, lambda f: (f.children(), f.data), lambda data, children: Freely(children, data)
)


@pytest.mark.parametrize("data", [None, "s", 3, ("a", (1, None)), [1]], ids=repr)
@pytest.mark.parametrize("kind", [tuple, list, iter])
def test_expected_custom_nodes_do_not_hide_others(kind, data):
    def tree(items, other_data=data):
        return [Freely(lambda: kind(items), other_data), 9]

    structures = {repr(tree_structure(tree((i, i + 1)))) for i in range(200)}
    assert len(structures) == 1
    assert tree_leaves(tree((4, 5))) == [4, 5, 9]
    assert tree_leaves(tree((4, [5]))) == [4, 5, 9]
    assert tree_leaves(tree((4, 5, 6))) == [4, 5, 6, 9]
    assert tree_leaves([Freely(lambda: [4, 5], data), 9]) == [4, 5, 9]
    for other in ("t", True, 3.0, ("a", (True, None)), None):
        structure = tree_structure(tree((4, 5), other))
        assert (structure == tree_structure(tree((4, 5)))) == (other == data)
        assert repr(structure.node.children[0].data) == repr(other)
    with pytest.raises(ValueError, match="children"):
        tree_leaves([Freely(lambda: 3, data), 9])


def test_structures_that_look_alike_from_outside_are_all_expected():
    trees = [[{"a": n}, [n] * n] for n in range(12)]
    expected = [[n] * (n + 1) for n in range(12)]
    for _ in range(200):
        assert [tree_leaves(tree) for tree in trees] == expected
    assert len({id(tree_structure(tree)) for tree in trees}) == 12
    assert sum(tree_structure(tree).node.match is not None for tree in trees) == 12


def test_a_few_leaves_whose_type_becomes_a_container():
    class Late:
        """A leaf until it is registered."""

    pair = (Late(), 1)
    for _ in range(200):
        assert tree_leaves(pair) == list(pair)
    tree_util.register_pytree_node(Late, lambda _: ((7, 8), None), lambda *_: Late())
    assert tree_leaves(pair) == [7, 8, 1]


DEEP = {
    "lists": lambda inside, i: [inside, i],
    "tuples": lambda inside, i: (i, inside),
    "dicts": lambda inside, i: {"a": inside, "b": i},
    "points": lambda inside, i: Point(i, inside),
    "tagged": lambda inside, i: Tagged([i, inside], "tag"),
    "defaultdicts": lambda inside, i: defaultdict(list, {1: inside, 2: i}),
}


@pytest.mark.parametrize("depth", [55, 59, 100, 300])
@pytest.mark.parametrize("grow", DEEP.values(), ids=DEEP)
def test_deep_structures_are_compiled_too(grow, depth):
    tree = "leaf"
    for i in range(depth):
        tree = grow(tree, i)
    leaves, treedef = tree_flatten(tree)
    for _ in range(200):
        assert tree_flatten(tree) == (leaves, treedef)
        rebuilt = treedef.unflatten(leaves)
    assert treedef.node.match is not None and treedef.node.compiled is not None
    assert tree_flatten(rebuilt) == (leaves, treedef)


def test_deep_structures_are_rebuilt_in_order():
    made = []

    class Noted:
        """Notes when it is made."""

    def unflatten(data, children):
        made.append(data)
        return Noted()

    def flatten(noted):
        return noted.children, noted.data

    def make(data, *children):
        noted = Noted()
        noted.data, noted.children = data, children
        return noted

    tree_util.register_pytree_node(Noted, flatten, unflatten)
    deep = make("inner", 1.0)
    for _ in range(100):
        deep = [deep]
    treedef = tree_structure(make("outer", make("first", 2.0), deep))
    for _ in range(200):
        made.clear()
        treedef.unflatten([2.0, 1.0])
        assert made == ["first", "inner", "outer"]


def test_leaves_of_structure_are_those_of_flatten_or_none():
    tree = Point({"w": 1, "b": [2, 3]}, Tagged((4, None), "tag"))
    leaves, treedef = tree_flatten(tree)
    found = [leaves_of_structure(tree, treedef) for _ in range(100)]
    assert found[0] is None
    assert found[-1] == leaves
    assert leaves_of_structure(Point({"w": 1, "b": [2]}, tree.y), treedef) is None
    assert leaves_of_structure(Point(tree.x, Tagged((4, None), "other")), treedef) is None


def test_structures_die_with_their_users():
    class Data:
        pass

    data = Data()
    treedef = tree_structure(Tagged(1, data))
    refs = weakref.ref(treedef.node), weakref.ref(data)
    del treedef, data
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_unhashable_data_is_compared_but_not_hashed():
    left, right = tree_structure(Tagged(1, {"a": 1})), tree_structure(Tagged(1, {"a": 1}))
    assert left == right
    assert hash(left) == hash(right)
    assert left != tree_structure(Tagged(1, {"a": 2}))


def test_data_that_cannot_be_compared_is_named():
    class Odd:
        def __ne__(self, other):
            raise TypeError("no")

        __hash__ = None

    with pytest.raises(ValueError, match="^Exception raised while checking equality of metadata"):
        assert tree_structure(Tagged(1, Odd())) == tree_structure(Tagged(1, Odd()))


@pytest.mark.parametrize("answer", [0, 1, "x", []])
def test_is_leaf_must_answer_with_a_bool(answer):
    with pytest.raises(ValueError, match="^is_leaf predicate returned a non-boolean value"):
        tree_leaves((1, 2), is_leaf=lambda x: answer)


def test_is_leaf_sees_every_subtree_from_the_outside():
    seen = []
    tree_leaves({"a": [1, None]}, is_leaf=seen.append)
    assert seen == [{"a": [1, None]}, [1, None], 1, None]


@pytest.mark.parametrize(
    ("leaves", "message"),
    [
        ([1], "Too few leaves for PyTreeDef; expected 2, got 1"),
        ([1, 2, 3], "Too many leaves for PyTreeDef; expected 2."),
    ],
)
def test_number_of_leaves_is_checked(leaves, message):
    with pytest.raises(ValueError) as caught:
        tree_structure((0, [0])).unflatten(leaves)
    assert str(caught.value) == message


def test_stop_iteration_of_a_mapped_function_is_not_swallowed():
    def stop(_):
        raise StopIteration

    with pytest.raises(StopIteration):
        tree_util.tree_map(stop, (1, [2]))


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_structures_survive_pickling(tree):
    treedef = tree_structure(tree)
    assert pickle.loads(pickle.dumps(treedef)) is treedef


def test_parts_of_a_structure():
    treedef = tree_structure({"b": 1, "a": (2, None)})
    assert (treedef.num_leaves, treedef.num_nodes) == (2, 5)
    assert treedef.node_data() == (dict, ["a", "b"])
    assert [str(child) for child in treedef.children()] == ["PyTreeDef((*, None))", "PyTreeDef(*)"]
    rebuilt = tree_util.PyTreeDef.from_node_data_and_children(
        tree_util.default_registry, treedef.node_data(), treedef.children()
    )
    assert rebuilt is treedef


def test_compose_and_walk():
    outer = tree_structure({"a": 1, "b": (2,)})
    assert str(outer.compose(tree_structure([0, 0]))) == "PyTreeDef({'a': [*, *], 'b': ([*, *],)})"
    folded = outer.walk(lambda children, data: (children, data), str, [1, 2])
    assert folded == (("1", (("2",), None)), ["a", "b"])
    with pytest.raises(ValueError, match="Too few leaves"):
        outer.walk(lambda *a: a, str, [1])
    with pytest.raises(ValueError, match="Too many leaves"):
        outer.walk(lambda *a: a, str, [1, 2, 3])


def test_from_iterable_tree_takes_containers_from_the_structure():
    treedef = tree_structure({"a": 1, "b": (1, 2)})
    assert treedef.from_iterable_tree([1, [2, 3]]) == {"a": 1, "b": (2, 3)}
    with pytest.raises(ValueError, match="Arity mismatch between trees"):
        treedef.from_iterable_tree([1, [2]])


@pytest.mark.parametrize("depth", [500, 5000])
def test_deep_trees_work(depth):
    leaves, treedef = tree_flatten(nest(depth))
    assert leaves == [1]
    assert treedef.num_nodes == depth + 1
    assert str(treedef).count("[") == depth
    assert hash(treedef) == hash(tree_structure(nest(depth)))
    assert tree_leaves(treedef.unflatten([2])) == [2]
    assert len(tree_util.tree_leaves_with_path(nest(depth))[0][0]) == depth


def test_trees_without_end_are_refused():
    cycle = []
    cycle.append(cycle)
    for tree in (cycle, nest(MOST_LEVELS + 1)):
        for flatten in (tree_leaves, tree_util.tree_leaves_with_path):
            with pytest.raises(RecursionError, match="levels deep, or contains itself"):
                flatten(tree)


def test_rebuilding_is_right_for_every_size_of_a_flat_container():
    for size in range(6):
        for make in (tuple, list, lambda xs: {f"k{x}": x for x in xs}):
            tree = make(range(size))
            assert tree_structure(tree).unflatten(range(size)) == tree


def test_all_leaves_sees_containers_and_none():
    assert tree_util.all_leaves([1, "x"])
    assert not tree_util.all_leaves([1, None])
    assert not tree_util.all_leaves([(1,)], is_leaf=lambda x: True)


def test_public_names_are_those_of_the_nodes():
    assert isinstance(tree_structure(1).node, Node)
    assert tree_util.treedef_is_leaf(tree_structure(None))
    assert str(tree_util.treedef_tuple([tree_structure(1)] * 2)) == "PyTreeDef((*, *))"
    with pytest.raises(TypeError, match="no constructor defined"):
        tree_util.PyTreeDef()


def test_flattening_ignores_the_recursion_limit_left_to_it():
    limit = sys.getrecursionlimit()

    def down(levels):
        return down(levels - 1) if levels else tree_leaves(nest(50))

    assert down(limit // 2) == [1]


class Sized(namedtuple("Sized", "x")):
    """A named tuple that has another length than its number of fields, or none."""

    def __len__(self):
        if self.x == 0:
            raise TypeError("no length")
        return 5


@pytest.mark.parametrize("x", [0, 1])
def test_named_tuples_may_define_their_own_length(x):
    for _ in range(5):  # the first times by walking, then by the recalled structure
        leaves, tree = tree_flatten([Sized(x), Sized(x)])
        assert leaves == [x, x]
        assert tree.unflatten(leaves) == [Sized(x), Sized(x)]
    assert tree_util.tree_map(lambda a, b: a + b, Sized(x), Sized(x)) == Sized(2 * x)
