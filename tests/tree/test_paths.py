"""Key paths and their text."""

from collections import OrderedDict, defaultdict, namedtuple

import pytest

from tapeless import tree_util
from tapeless.tree_util import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, keystr

Point = namedtuple("Point", "x y")


class Own:
    """A container that gives a key of its own kind."""


tree_util.register_pytree_with_keys(
    Own, lambda own: (((GetAttrKey("q"), 1), ("r", 2)), None), lambda _, __: Own()
)

CASES = [
    (1, [""]),
    ([1, (2,)], ["[0]", "[1][0]"]),
    ({"b": 1, "a": {3: 2}}, ["['a'][3]", "['b']"]),
    (Point(1, [2]), [".x", ".y[0]"]),
    (OrderedDict(z=1), ["['z']"]),
    (defaultdict(int, q=1), ["['q']"]),
    ([None, 1], ["[1]"]),
    ([Own()], ["[0].q", "[0]r"]),
    (tree_util.Partial(max, 1, a=2), ["[<flat index 0>][0]", "[<flat index 1>]['a']"]),
]


@pytest.mark.parametrize(("tree", "texts"), CASES, ids=[str(texts) for _, texts in CASES])
def test_paths_read_like_python(tree, texts):
    for _ in range(2):
        pairs, treedef = tree_util.tree_flatten_with_path(tree)
        assert [keystr(path) for path, _ in pairs] == texts
        assert ([leaf for _, leaf in pairs], treedef) == tree_util.tree_flatten(tree)


def test_simple_text_leaves_punctuation_out():
    path = (DictKey("a"), SequenceKey(1), GetAttrKey("x"), FlattenedIndexKey(2), "other")
    assert keystr(path, simple=True, separator="/") == "a/1/x/2/other"


def test_is_leaf_may_take_the_path():
    seen = []

    def is_leaf(path, subtree):
        seen.append((keystr(path), subtree))
        return path == (DictKey("a"),)

    tree = {"a": [1], "b": 2}
    pairs = tree_util.tree_leaves_with_path(tree, is_leaf, is_leaf_takes_path=True)
    assert pairs == [((DictKey("a"),), [1]), ((DictKey("b"),), 2)]
    assert seen == [("", tree), ("['a']", [1]), ("['b']", 2)]


def test_map_with_path_passes_path_and_subtrees():
    tree = {"a": [1, 2]}
    mapped = tree_util.tree_map_with_path(lambda p, x, y: (keystr(p), x, y), tree, {"a": [3, (4,)]})
    assert mapped == {"a": [("['a'][0]", 1, 3), ("['a'][1]", 2, (4,))]}


@pytest.mark.parametrize(
    ("key", "text", "code"),
    [
        (SequenceKey(1), "[1]", "SequenceKey(idx=1)"),
        (DictKey("a"), "['a']", "DictKey(key='a')"),
        (GetAttrKey("x"), ".x", "GetAttrKey(name='x')"),
        (FlattenedIndexKey(2), "[<flat index 2>]", "FlattenedIndexKey(key=2)"),
    ],
)
def test_keys_print_compare_and_never_change(key, text, code):
    assert (str(key), repr(key)) == (text, code)
    assert eval(code) == key
    assert hash(eval(code)) == hash(key)
    with pytest.raises(AttributeError):
        setattr(key, type(key).__match_args__[0], 3)


def test_keys_check_what_they_hold():
    for make in (lambda: SequenceKey("a"), lambda: GetAttrKey(1), lambda: FlattenedIndexKey("a")):
        with pytest.raises(TypeError, match="takes a value of type"):
            make()


@pytest.mark.parametrize("result", [3, (3, None), (((1, 2, 3),), None), ((1, 2), None)])
def test_flatten_with_keys_must_return_pairs(result):
    cls = type("Thing", (), {})
    tree_util.register_pytree_with_keys(cls, lambda x: result, lambda _, __: cls())
    with pytest.raises(ValueError, match="^The to_iterable_with_keys function for a custom"):
        tree_util.tree_leaves_with_path(cls())
