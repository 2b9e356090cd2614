"""Which Python types are containers, and how each comes apart and back together.

A tree is any nesting of containers; everything else is a leaf.  A container type is
described by one `NodeType`: how to take the children out of an instance, together with
the *data* that must be remembered besides them (the keys of a dict, the static fields of
a dataclass), and how to build an instance from data and children.

Types are looked up exactly: a subclass of ``dict`` is a leaf until it is registered.
Named tuples are the one exception, any subclass of ``tuple`` with ``_fields`` is a
container.  ``None`` is a container without children.  Dicts and defaultdicts are taken
apart in the order of their sorted keys, an ``OrderedDict`` in its own order.

There is one registry for the process, the module-level table ``_node_types``; libraries
extend it through the ``register_*`` functions.  Types cannot be registered twice, and
cannot be taken out again: structures made earlier must stay valid.  `watch` lets
the flattening code forget what it has learnt about a type that is registered late.

Invariant: ``kind.unflatten(data, children)`` is called with the children as a tuple.
"""

import dataclasses
import functools
import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from keyword import iskeyword
from types import NoneType
from typing import Any, TypeVar

from tapeless.tree.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from tapeless.util.records import record

__all__ = [
    "NodeType",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "node_type_of",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "sorted_keys",
    "static",
    "watch",
]

T = TypeVar("T")
Typ = TypeVar("Typ", bound=type[Any])
H = TypeVar("H", bound=Hashable)

Children = Sequence[Any]
KeyedChildren = Sequence[tuple[Any, Any]]


@record(eq=False)
class NodeType:
    """One container type; compared by identity.

    ``label`` is one of none, tuple, list, dict, namedtuple, custom and dataclass: it
    selects the wording of messages and the fast paths.  ``has_fixed_keys`` says that the
    keys of the children follow from the structure.  ``user_flatten`` is what ``flatten``
    calls and checks, if a user registered the type.  The fields are those of a dataclass.
    """

    python_type: type
    label: str
    flatten: Callable[[Any], tuple[Children, Any]]
    unflatten: Callable[[Any, tuple[Any, ...]], Any]
    flatten_with_keys: Callable[[Any], tuple[KeyedChildren, Any]]
    has_fixed_keys: bool = True
    user_flatten: Callable[[Any], Any] | None = None
    data_fields: tuple[str, ...] = ()
    meta_fields: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a dataclass: those that are children, then those that are data."""
        return (*self.data_fields, *self.meta_fields)

    @property
    def fields_are_names(self) -> bool:
        """Whether code can name the fields; those of any other class may be odd strings."""
        return all(name.isidentifier() and not iskeyword(name) for name in self.fields)


_node_types: dict[type, NodeType] = {}
_watchers: list[Callable[[type], None]] = []


def watch(callback: Callable[[type], None]) -> None:
    """Call ``callback(python_type)`` whenever a type becomes a container."""
    _watchers.append(callback)


def _add(kind: NodeType) -> None:
    """Enter a container type, or refuse if its Python type is known already."""
    python_type = kind.python_type
    if python_type in _node_types:
        noun = "custom dataclass" if kind.label == "dataclass" else "custom"
        raise ValueError(f"Duplicate {noun} PyTreeDef type registration for {python_type!r}.")
    _node_types[python_type] = kind
    for callback in _watchers:
        callback(python_type)


def node_type_of(python_type: type) -> NodeType | None:
    """Return how instances of a type come apart, or None if they are leaves."""
    kind = _node_types.get(python_type)
    if kind is not None:
        return kind
    if _is_namedtuple(python_type):
        return _namedtuple_type(python_type)
    return None


def _is_namedtuple(python_type: object) -> bool:
    """Say whether a class was made by ``namedtuple`` or ``NamedTuple``, or looks so."""
    is_tuple = isinstance(python_type, type) and issubclass(python_type, tuple)
    return is_tuple and hasattr(python_type, "_fields")


# --- built-in containers ---


def sorted_keys(mapping: dict[Any, Any]) -> tuple[Any, ...]:
    """Return the keys of a dict in the order in which its values are leaves."""
    try:
        return tuple(sorted(mapping))
    except Exception as error:
        message = "Comparator raised exception while sorting pytree dictionary keys."
        raise ValueError(message) from error


def _number_children(children: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Pair children with their positions, for containers that give no keys."""
    return [(FlattenedIndexKey(i), child) for i, child in enumerate(children)]


def _flatten_sequence_with_keys(sequence: Sequence[Any]) -> tuple[KeyedChildren, None]:
    """Pair the items of a list or tuple with their indices."""
    return tuple([(SequenceKey(i), item) for i, item in enumerate(sequence)]), None


def _flatten_dict(mapping: dict[Any, Any]) -> tuple[Children, tuple[Any, ...]]:
    """Take a dict apart in the order of its sorted keys."""
    keys = sorted_keys(mapping)
    return tuple([mapping[key] for key in keys]), keys


def _flatten_dict_with_keys(mapping: dict[Any, Any]) -> tuple[KeyedChildren, tuple[Any, ...]]:
    """Take a dict apart into (step, value) pairs in the order of its sorted keys."""
    keys = sorted_keys(mapping)
    return tuple([(DictKey(key), mapping[key]) for key in keys]), keys


def _unflatten_dict(keys: tuple[Any, ...], children: tuple[Any, ...]) -> dict[Any, Any]:
    """Build a dict; its order is that of the sorted keys."""
    return dict(zip(keys, children, strict=True))


def _flatten_ordered(mapping: OrderedDict[Any, Any]) -> tuple[Children, tuple[Any, ...]]:
    """Take an OrderedDict apart in its own order."""
    return list(mapping.values()), tuple(mapping)


def _flatten_ordered_with_keys(
    mapping: OrderedDict[Any, Any],
) -> tuple[KeyedChildren, tuple[Any, ...]]:
    """Take an OrderedDict apart into (step, value) pairs in its own order."""
    return [(DictKey(key), value) for key, value in mapping.items()], tuple(mapping)


def _unflatten_ordered(keys: tuple[Any, ...], children: tuple[Any, ...]) -> OrderedDict[Any, Any]:
    """Build an OrderedDict."""
    return OrderedDict(zip(keys, children, strict=True))


def _flatten_default(mapping: defaultdict[Any, Any]) -> tuple[Children, tuple[Any, ...]]:
    """Take a defaultdict apart; its factory is part of the data."""
    keys = tuple(sorted(mapping))
    return [mapping[key] for key in keys], (mapping.default_factory, keys)


def _flatten_default_with_keys(
    mapping: defaultdict[Any, Any],
) -> tuple[KeyedChildren, tuple[Any, ...]]:
    """Take a defaultdict apart into (step, value) pairs."""
    keys = tuple(sorted(mapping))
    return [(DictKey(key), mapping[key]) for key in keys], (mapping.default_factory, keys)


def _unflatten_default(data: tuple[Any, ...], children: tuple[Any, ...]) -> defaultdict[Any, Any]:
    """Build a defaultdict."""
    factory, keys = data
    return defaultdict(factory, zip(keys, children, strict=True))


def _flatten_childless(_: Any) -> tuple[Children, None]:
    """Take apart a container that has no children."""
    return (), None


def _unflatten_none(_: Any, __: tuple[Any, ...]) -> None:
    """Build None, the empty container."""
    return None


def _without_data(sequence: Children) -> tuple[Children, None]:
    """Take apart a list or tuple, which is its own sequence of children."""
    return sequence, None


def _unflatten_tuple(_: None, children: tuple[Any, ...]) -> tuple[Any, ...]:
    """Build a tuple."""
    return children


def _unflatten_list(_: None, children: tuple[Any, ...]) -> list[Any]:
    """Build a list."""
    return list(children)


@functools.lru_cache(maxsize=1024)
def _namedtuple_type(python_type: Any) -> NodeType:
    """Describe a named tuple class; its constructor takes the children one by one."""

    def flatten(value: Any) -> tuple[Children, None]:
        """Take the items as a tuple, as the class may define its own `len`."""
        return tuple(value), None

    def unflatten(_: None, children: tuple[Any, ...]) -> Any:
        """Build an instance of the named tuple."""
        return python_type(*children)

    def flatten_with_keys(value: Any) -> tuple[KeyedChildren, None]:
        """Pair the items with the names of their fields."""
        names = map(GetAttrKey, python_type._fields)
        return tuple(zip(names, value, strict=True)), None

    return NodeType(python_type, "namedtuple", flatten, unflatten, flatten_with_keys)


for _kind in (
    NodeType(NoneType, "none", _flatten_childless, _unflatten_none, _flatten_childless),
    NodeType(tuple, "tuple", _without_data, _unflatten_tuple, _flatten_sequence_with_keys),
    NodeType(list, "list", _without_data, _unflatten_list, _flatten_sequence_with_keys),
    NodeType(dict, "dict", _flatten_dict, _unflatten_dict, _flatten_dict_with_keys),
    NodeType(
        OrderedDict, "custom", _flatten_ordered, _unflatten_ordered, _flatten_ordered_with_keys
    ),
    NodeType(
        defaultdict, "custom", _flatten_default, _unflatten_default, _flatten_default_with_keys
    ),
):
    _add(_kind)


# --- registering ---


def _checked_pair(result: object, function: str, children: str) -> tuple[tuple[Any, ...], Any]:
    """Return what a user's flatten function gave, with the children as a tuple."""
    wanted = f"The {function} function for a custom PyTree node should return a ({children}, "
    if type(result) is not tuple or len(result) != 2:
        raise ValueError(f"{wanted}aux_data) tuple, got {result!r}")
    items, data = result
    if type(items) is tuple:
        return items, data
    try:
        iterator = iter(items)
    except TypeError:
        message = f"{wanted}aux_data) tuple where '{children}' is iterable, got {result!r}"
        raise ValueError(message) from None
    return tuple(iterator), data


def _custom_type(
    python_type: type,
    flatten_func: Callable[[Any], Any],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], Any] | None,
) -> NodeType:
    """Describe a user's type, checking what its functions return."""

    def flatten(value: Any) -> tuple[Children, Any]:
        """Call the user's function and check its result."""
        result = flatten_func(value)
        if type(result) is tuple and len(result) == 2 and type(result[0]) is tuple:
            return result
        return _checked_pair(result, "to_iterable", "children")

    def flatten_with_keys(value: Any) -> tuple[KeyedChildren, Any]:
        """Call the user's function with keys, or number the children."""
        if flatten_with_keys_func is None:
            children, data = flatten(value)
            return _number_children(children), data
        name = "to_iterable_with_keys"
        pairs, data = _checked_pair(flatten_with_keys_func(value), name, "key_leaf_pairs")
        for pair in pairs:
            if type(pair) is not tuple or len(pair) != 2:
                raise ValueError(
                    f"The {name} function for a custom PyTree node should return a "
                    f"(key_leaf_pairs, aux_data) tuple where 'child{pair!r}"
                )
        return list(pairs), data

    is_fixed = flatten_with_keys_func is None
    return NodeType(
        python_type,
        "custom",
        flatten,
        unflatten_func,
        flatten_with_keys,
        has_fixed_keys=is_fixed,
        user_flatten=flatten_func,
    )


def _require_registrable(function: str, nodetype: object, *callables: object) -> None:
    """Refuse to register something that is not a class, or with what cannot be called."""
    if not isinstance(nodetype, type):
        raise TypeError(f"{function} takes a type, got {nodetype!r}")
    for value in callables:
        if not callable(value):
            message = f"{function} of {nodetype!r} takes functions to flatten and unflatten"
            raise TypeError(f"{message}, got {value!r}")


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Any, Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Any, Any]] | None = None,
) -> None:
    """Make instances of a class containers.

    Args:
      nodetype: the class; subclasses are not included.
      flatten_func: instance -> (children, data); data is hashable and compares simply.
      unflatten_func: (data, children) -> instance; children may be any objects.
      flatten_with_keys_func: instance -> ((key, child) pairs, data), for key paths.

    >>> class Pair:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> register_pytree_node(Pair, lambda p: ((p.x, p.y), None), lambda _, xy: Pair(*xy))
    >>> flatten_one_level(Pair(1, 2))
    ((1, 2), None)
    """
    _require_registrable("register_pytree_node", nodetype, flatten_func, unflatten_func)
    _add(_custom_type(nodetype, flatten_func, unflatten_func, flatten_with_keys_func))


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], T],
    flatten_func: None | Callable[[T], tuple[Iterable[Any], Any]] = None,
) -> None:
    """Make instances of a class containers whose children have keys.

    Args:
      nodetype: the class; subclasses are not included.
      flatten_with_keys: instance -> ((key, child) pairs, data).
      unflatten_func: (data, children) -> instance.
      flatten_func: instance -> (children, data), faster where keys are not wanted.

    >>> class Box:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> register_pytree_with_keys(
    ...     Box, lambda b: (((GetAttrKey("x"), b.x),), None), lambda _, xs: Box(*xs))
    >>> flatten_one_level_with_keys(Box(1))
    ([(GetAttrKey(name='x'), 1)], None)
    """

    def flatten_without_keys(value: T) -> tuple[Iterable[Any], Any]:
        """Drop the keys."""
        pairs, data = flatten_with_keys(value)
        return tuple([child for _, child in pairs]), data

    _require_registrable("register_pytree_with_keys", nodetype, flatten_with_keys, unflatten_func)
    flatten = flatten_without_keys if flatten_func is None else flatten_func
    _add(_custom_type(nodetype, flatten, unflatten_func, flatten_with_keys))


def register_pytree_node_class(cls: Typ) -> Typ:
    """Make a class a container by its methods ``tree_flatten`` and ``tree_unflatten``.

    >>> @register_pytree_node_class
    ... class Line:
    ...     def __init__(self, start, end):
    ...         self.ends = start, end
    ...     def tree_flatten(self):
    ...         return self.ends, None
    ...     @classmethod
    ...     def tree_unflatten(cls, data, children):
    ...         return cls(*children)
    >>> flatten_one_level(Line(0, 1))
    ((0, 1), None)
    """
    unflatten = operator.attrgetter("tree_unflatten")(cls)
    register_pytree_node(cls, operator.methodcaller("tree_flatten"), unflatten)
    return cls


def register_pytree_with_keys_class(cls: Typ) -> Typ:
    """Make a class a container by its methods, with keys.

    The methods are ``tree_flatten_with_keys``, ``tree_unflatten`` and, optionally,
    ``tree_flatten``.

    >>> @register_pytree_with_keys_class
    ... class Cell:
    ...     def tree_flatten_with_keys(self):
    ...         return ((DictKey("k"), 1),), None
    ...     @classmethod
    ...     def tree_unflatten(cls, data, children):
    ...         return cls()
    >>> flatten_one_level_with_keys(Cell())
    ([(DictKey(key='k'), 1)], None)
    """
    has_plain = hasattr(cls, "tree_flatten")
    flatten_func = operator.methodcaller("tree_flatten") if has_plain else None
    with_keys = operator.methodcaller("tree_flatten_with_keys")
    unflatten = operator.attrgetter("tree_unflatten")(cls)
    register_pytree_with_keys(cls, with_keys, unflatten, flatten_func)
    return cls


def register_static(cls: type[H]) -> type[H]:
    """Make instances of a hashable class containers without children.

    The instance itself becomes part of the structure.

    >>> @register_static
    ... class Mode(str):
    ...     pass
    >>> flatten_one_level(Mode("fast"))
    ((), 'fast')
    """

    def flatten(value: H) -> tuple[tuple[()], H]:
        """Give no children, and the instance as data."""
        return (), value

    def unflatten(value: H, _: Iterable[Any]) -> H:
        """Return the instance that the structure holds."""
        return value

    register_pytree_with_keys(cls, flatten, unflatten, flatten)
    return cls


def static(**kwargs: Any) -> Any:
    """Declare a dataclass field that is part of the structure, not a child.

    Takes the arguments of ``dataclasses.field``.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     activation: str = static(default="relu")
    >>> flatten_one_level(Layer(1.0))
    ([1.0], ('relu',))
    """
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


def register_dataclass(
    nodetype: Typ,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Typ:
    """Make instances of a dataclass containers, and return the class.

    Args:
      nodetype: a dataclass, or any class when both lists of fields are given and its
        constructor takes them as keywords.
      data_fields: the fields that are children, in order; by default those not `static`.
      meta_fields: the fields that are part of the structure.
      drop_fields: fields to leave out; the constructor must have defaults for them.

    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float
    ...     y: float
    ...     name: str
    >>> _ = register_dataclass(Point, ["x", "y"], ["name"])
    >>> flatten_one_level(Point(1.0, 2.0, "p"))
    ([1.0, 2.0], ('p',))
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified when either "
            f"is specified. Got {data_fields=} {meta_fields=}."
        )
    if data_fields is None or meta_fields is None:
        data_fields, meta_fields = _declared_fields(nodetype, drop_fields)
    _check_fields(nodetype, data_fields, meta_fields, drop_fields)
    _add(_dataclass_type(nodetype, tuple(data_fields), tuple(meta_fields)))
    return nodetype


def _declared_fields(nodetype: Any, drop_fields: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the fields of a dataclass into children and structure by their metadata."""
    if not dataclasses.is_dataclass(nodetype):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields are required when nodetype is not "
            f"a dataclass. Got {nodetype=}."
        )
    kept = [field for field in dataclasses.fields(nodetype) if field.name not in drop_fields]
    data_fields = [field.name for field in kept if not field.metadata.get("static", False)]
    meta_fields = [field.name for field in kept if field.metadata.get("static", False)]
    return data_fields, meta_fields


def _check_fields(
    nodetype: Any,
    data_fields: Sequence[str],
    meta_fields: Sequence[str],
    drop_fields: Sequence[str],
) -> None:
    """Refuse field lists that overlap or do not match the constructor of a dataclass."""
    overlap = set(data_fields) & set(meta_fields)
    if overlap:
        raise ValueError(
            f"data_fields and meta_fields must not overlap. Overlapping fields: {overlap}."
        )
    if not dataclasses.is_dataclass(nodetype):
        return
    wanted = {field.name for field in dataclasses.fields(nodetype) if field.init}
    wanted.difference_update(drop_fields)
    given = set(data_fields) | set(meta_fields)
    rule = "data_fields and meta_fields must include all dataclass fields with ``init=True`` "
    if wanted - given:
        raise ValueError(
            f"{rule}and only them. Missing fields: {wanted - given}. "
            "Add them to drop_fields to suppress this error."
        )
    if given - wanted:
        raise ValueError(f"{rule}and only them. Unexpected fields: {given - wanted}.")


def _dataclass_type(
    python_type: Any, data_fields: tuple[str, ...], meta_fields: tuple[str, ...]
) -> NodeType:
    """Describe a dataclass: some fields are children, the others are data."""

    def flatten(value: Any) -> tuple[Children, tuple[Any, ...]]:
        """Read the fields."""
        children = [getattr(value, name) for name in data_fields]
        return children, tuple([getattr(value, name) for name in meta_fields])

    def flatten_with_keys(value: Any) -> tuple[KeyedChildren, tuple[Any, ...]]:
        """Read the fields, the children with their names."""
        pairs = [(GetAttrKey(name), getattr(value, name)) for name in data_fields]
        return pairs, tuple([getattr(value, name) for name in meta_fields])

    def unflatten(data: tuple[Any, ...], children: tuple[Any, ...]) -> Any:
        """Call the class with every field as a keyword."""
        fields = dict(zip(meta_fields, data, strict=True))
        fields.update(zip(data_fields, children, strict=True))
        return python_type(**fields)

    return NodeType(
        python_type,
        "dataclass",
        flatten,
        unflatten,
        flatten_with_keys,
        data_fields=data_fields,
        meta_fields=meta_fields,
    )


# --- asking ---


def is_tree_node(typ: type) -> bool:
    """Say whether instances of a type are containers.

    >>> is_tree_node(list), is_tree_node(int), is_tree_node(type(None))
    (True, False, True)
    """
    return isinstance(typ, type) and node_type_of(typ) is not None


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Take only the outermost container apart: (children, data).

    >>> flatten_one_level({"b": 1, "a": [2, 3]})
    (([2, 3], 1), ('a', 'b'))
    """
    kind = node_type_of(type(tree))
    if kind is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    return kind.flatten(tree)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    """Take only the outermost container apart: ((key, child) pairs, data).

    >>> flatten_one_level_with_keys([5])
    (((SequenceKey(idx=0), 5),), None)
    """
    kind = node_type_of(type(tree))
    if kind is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    return kind.flatten_with_keys(tree)
