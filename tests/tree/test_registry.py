"""Which types are containers, and what registering one demands."""

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from tapeless import tree_util
from tapeless.tree import registry

Point = namedtuple("Point", "x y")


def new_class(**methods):
    """Make a class that no other test has registered."""
    return type("Thing", (), methods)


@pytest.mark.parametrize(
    "container", [(), [], {}, None, Point(1, 2), OrderedDict(), defaultdict(int)]
)
def test_builtin_containers_are_nodes(container):
    assert registry.is_tree_node(type(container))


@pytest.mark.parametrize("leaf", [1, "ab", b"ab", {1}, deque(), range(3), new_class()()])
def test_everything_else_is_a_leaf(leaf):
    assert not registry.is_tree_node(type(leaf))


def test_subclasses_of_containers_are_leaves_except_named_tuples():
    class Sub(dict):
        pass

    class SubPoint(Point):
        pass

    assert not registry.is_tree_node(Sub)
    assert registry.is_tree_node(SubPoint)


def test_registering_twice_is_refused():
    cls = new_class()
    tree_util.register_pytree_node(cls, lambda x: ((), None), lambda _, __: cls())
    with pytest.raises(ValueError, match="Duplicate custom PyTreeDef type registration for"):
        tree_util.register_pytree_node(cls, lambda x: ((), None), lambda _, __: cls())


def test_a_leaf_type_becomes_a_node_when_registered():
    cls = new_class()
    value = cls()
    assert tree_util.tree_leaves([value, 1]) == [value, 1]
    tree_util.register_pytree_node(cls, lambda x: ((7, 8), None), lambda _, __: cls())
    assert tree_util.tree_leaves([value, 1]) == [7, 8, 1]


def test_a_named_tuple_registered_late_uses_its_own_functions():
    late = namedtuple("late", "a b")
    for _ in range(100):
        assert tree_util.tree_leaves([late(1, (2, 3))]) == [1, 2, 3]
    tree_util.register_pytree_node(late, lambda x: ((x.b,), x.a), lambda a, b: late(a, *b))
    assert tree_util.tree_leaves([late(1, (2, 3))]) == [2, 3]


@pytest.mark.parametrize("result", [3, (1,), ((1,), 2, 3), [(1,), 2]])
def test_flatten_function_must_return_a_pair(result):
    cls = new_class()
    tree_util.register_pytree_node(cls, lambda x: result, lambda _, __: cls())
    with pytest.raises(ValueError, match=r"should return a \(children, aux_data\) tuple, got"):
        tree_util.tree_leaves(cls())


def test_children_must_be_iterable():
    cls = new_class()
    tree_util.register_pytree_node(cls, lambda x: (1, 2), lambda _, __: cls())
    with pytest.raises(ValueError, match="where 'children' is iterable, got"):
        tree_util.tree_leaves(cls())


def test_unflatten_function_gets_a_tuple_of_children():
    seen = []
    cls = new_class()
    tree_util.register_pytree_node(cls, lambda x: (iter("ab"), "data"), lambda *a: seen.append(a))
    tree_util.tree_map(str.upper, cls())
    assert seen == [("data", ("A", "B"))]


def test_class_decorators_use_methods():
    cls = new_class(
        tree_flatten=lambda self: ((1, 2), None),
        tree_unflatten=classmethod(lambda cls, data, children: cls()),
    )
    assert tree_util.register_pytree_node_class(cls) is cls
    assert tree_util.tree_leaves(cls()) == [1, 2]


def test_class_decorator_with_keys_needs_no_plain_flatten():
    pairs = (((tree_util.DictKey("k"), 1),), None)
    cls = new_class(
        tree_flatten_with_keys=lambda self: pairs,
        tree_unflatten=classmethod(lambda cls, data, children: cls()),
    )
    tree_util.register_pytree_with_keys_class(cls)
    assert tree_util.tree_leaves_with_path(cls()) == [((tree_util.DictKey("k"),), 1)]
    assert tree_util.tree_leaves(cls()) == [1]


def test_static_instances_belong_to_the_structure():
    @tree_util.register_static
    class Mode(str):
        pass

    leaves, treedef = tree_util.tree_flatten([Mode("a"), 1])
    assert leaves == [1]
    assert treedef == tree_util.tree_structure([Mode("a"), 2])
    assert treedef != tree_util.tree_structure([Mode("b"), 2])


def make_dataclass(*extra):
    """Make a dataclass with fields a and b."""
    return dataclasses.make_dataclass("Pair", [("a", int), ("b", int), *extra])


def test_dataclass_fields_are_children_in_the_given_order():
    cls = make_dataclass()
    assert tree_util.register_dataclass(cls, ("b", "a"), ()) is cls
    assert tree_util.tree_leaves(cls(1, 2)) == [2, 1]
    assert tree_util.tree_map(str, cls(1, 2)) == cls("1", "2")


def test_static_fields_of_a_dataclass_are_data():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        w: int
        name: str = registry.static(default="n")

    assert tree_util.tree_leaves(Layer(1)) == [1]
    assert str(tree_util.tree_structure(Layer(1))) == "PyTreeDef(CustomNode(Layer[('n',)], [*]))"


@pytest.mark.parametrize(
    ("data_fields", "meta_fields", "message"),
    [
        (["a"], [], "Missing fields: {'b'}. Add them to drop_fields"),
        (["a", "b", "c"], [], "Unexpected fields: {'c'}."),
        (["a", "b"], ["b"], "Overlapping fields: {'b'}."),
    ],
)
def test_field_lists_must_match_the_constructor(data_fields, meta_fields, message):
    with pytest.raises(ValueError, match=message):
        tree_util.register_dataclass(make_dataclass(), data_fields, meta_fields)


def test_both_field_lists_are_given_or_none():
    with pytest.raises(TypeError, match="must both be specified"):
        tree_util.register_dataclass(make_dataclass(), ["a", "b"])


def test_dropped_fields_take_their_defaults():
    cls = make_dataclass(("c", int, 5))
    tree_util.register_dataclass(cls, ["a"], ["b"], drop_fields=["c"])
    assert tree_util.tree_map(str, cls(1, 2, 9)) == cls("1", 2, 5)


def test_a_plain_class_needs_field_lists():
    with pytest.raises(TypeError, match="required when nodetype is not a dataclass"):
        tree_util.register_dataclass(new_class())


def test_only_types_and_callables_can_be_registered():
    with pytest.raises(TypeError, match="takes a type"):
        tree_util.register_pytree_node(3, len, len)
    with pytest.raises(TypeError, match="takes functions"):
        tree_util.register_pytree_node(new_class(), None, len)


def test_one_level_of_a_leaf_is_refused():
    with pytest.raises(ValueError, match="can't tree-flatten type: <class 'int'>"):
        tree_util.flatten_one_level(1)
    with pytest.raises(ValueError, match="can't tree-flatten type: <class 'int'>"):
        tree_util.flatten_one_level_with_keys(1)


def test_default_registry_speaks_for_the_module():
    default = tree_util.default_registry
    assert default.flatten([1, (2,)]) == tree_util.tree_flatten([1, (2,)])
    assert default.flatten_one_level(1) is None
    assert default.flatten_one_level_with_keys([1]) == tree_util.flatten_one_level_with_keys([1])
    assert default.is_node(list)
