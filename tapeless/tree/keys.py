"""Steps of a path into a tree, and how a path prints.

A leaf of a nested container is named by the steps that lead to it: the third item of the
list under ``"layers"`` is ``(DictKey("layers"), SequenceKey(2))`` and prints as
``['layers'][2]``, the text one would type in Python to reach it.

There are four kinds of step, one for each way in which Python reaches a child: an index
into a sequence, a key of a mapping, an attribute, and the position among the children of
a container that does not say how to reach them.  All four are immutable, compare by kind
and value, and are hashable when what they hold is.  A registered container may use any
other object as a step; it then prints as ``str`` of that object.

Nothing here knows what a tree is: the registry attaches steps to children, `paths`
collects them while flattening, and error messages print them.
"""

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

from tapeless.util.records import record

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "SequenceKey",
    "entry_text",
    "keystr",
]

KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath = tuple[KeyEntry, ...]


def _require(kind: str, value: object, wanted: type) -> None:
    """Refuse a step whose value has the wrong type."""
    if not isinstance(value, wanted):
        got = type(value).__name__
        raise TypeError(f"{kind} takes a value of type {wanted.__name__}, got {got}: {value!r}")


@record
class SequenceKey:
    """Step to item ``idx`` of a list or tuple.

    >>> str(SequenceKey(2))
    '[2]'
    """

    idx: int

    def __post_init__(self) -> None:
        """Check that the index is an integer."""
        _require("SequenceKey", self.idx, int)

    def __str__(self) -> str:
        """Return the subscript as Python text."""
        return f"[{self.idx!r}]"


@record
class DictKey:
    """Step to the value under ``key`` of a mapping.

    >>> str(DictKey("w"))
    "['w']"
    """

    key: Any

    def __str__(self) -> str:
        """Return the subscript as Python text."""
        return f"[{self.key!r}]"


@record
class GetAttrKey:
    """Step to attribute ``name`` of an object.

    >>> str(GetAttrKey("bias"))
    '.bias'
    """

    name: str

    def __post_init__(self) -> None:
        """Check that the name is a string."""
        _require("GetAttrKey", self.name, str)

    def __str__(self) -> str:
        """Return the attribute access as Python text."""
        return f".{self.name}"


@record
class FlattenedIndexKey:
    """Step to child number ``key`` of a container that names no better way.

    >>> str(FlattenedIndexKey(0))
    '[<flat index 0>]'
    """

    key: int

    def __post_init__(self) -> None:
        """Check that the position is an integer."""
        _require("FlattenedIndexKey", self.key, int)

    def __str__(self) -> str:
        """Return a marked position; it is not valid Python on purpose."""
        return f"[<flat index {self.key}>]"


def entry_text(entry: object) -> str:
    """Return a step without punctuation: ``w`` for ``['w']``, ``bias`` for ``.bias``."""
    match entry:
        case SequenceKey(value) | DictKey(value):
            return str(value)
        case GetAttrKey(value) | FlattenedIndexKey(value):
            return str(value)
        case _:
            return str(entry)


def keystr(keys: Sequence[Any], *, simple: bool = False, separator: str = "") -> str:
    """Return a path as text.

    Args:
      keys: the steps, outermost first.
      simple: leave out brackets, quotes and dots.
      separator: text put between the steps.

    >>> path = (DictKey("layers"), SequenceKey(0), GetAttrKey("bias"))
    >>> keystr(path)
    "['layers'][0].bias"
    >>> keystr(path, simple=True, separator="/")
    'layers/0/bias'
    """
    text_of = entry_text if simple else str
    return separator.join([text_of(entry) for entry in keys])
