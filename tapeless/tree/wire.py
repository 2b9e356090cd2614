"""Structures of plain containers as bytes, in the format of JAX's `serialize_using_proto`.

A structure is the list of its nodes, children before their container.  The bytes are a message of
protocol buffers:

    field 1, repeated   a node: its arity (1), its kind (2) and, of a dict, the numbers of its keys
                        (3, a message whose field 1 is the packed numbers)
    field 2, repeated   a key

A field is a tag, number * 8 + form, and a varint (form 0) or a length and as many bytes (form 2);
fields that are 0 are left out.  Keys are numbered in the order in which nodes first name them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from tapeless.errors import JaxRuntimeError

__all__ = ["Record", "build", "pack", "record_of"]

T = TypeVar("T")
NodeData = tuple[type, Any]

# The kinds of nodes, by number; a leaf has no container
_KINDS: dict[int, type | None] = {1: None, 2: list, 3: type(None), 4: tuple, 5: dict}


class Record(NamedTuple):
    """A node: the number of its kind, that of its children, and the keys of a dict."""

    kind: int
    arity: int
    keys: tuple[str, ...] = ()


def record_of(python_type: type | None, data: Any, arity: int) -> Record:
    """Return a node of a type of container, None for a leaf; data: the keys of a dict."""
    for number, plain in _KINDS.items():
        if python_type is plain:
            keys = data if plain is dict else ()
            if not all(type(key) is str for key in keys):
                raise ValueError("Only string keys are supported in proto pytree serialization.")
            return Record(number, arity, keys)
    raise ValueError(
        "User-defined nodes are not supported when serializing pytrees as protocol buffers. You "
        "should either convert the user-defined nodes to another type or use pickle instead."
    )


def pack(records: Iterable[Record]) -> bytes:
    """Return nodes, children first, as bytes."""
    numbers: dict[str, int] = {}
    nodes = b"".join(_bytes_field(1, _packed_node(record, numbers)) for record in records)
    return nodes + b"".join(_bytes_field(2, key.encode()) for key in numbers)


def _packed_node(record: Record, numbers: dict[str, int]) -> bytes:
    """Return a node as bytes; keys that are new get the next numbers."""
    arity = _varint_field(1, record.arity) if record.arity else b""
    node = arity + _varint_field(2, record.kind)
    if not record.keys:
        return node
    found = b"".join(_varint(numbers.setdefault(key, len(numbers))) for key in record.keys)
    return node + _bytes_field(3, _bytes_field(1, found))


def _varint(value: int) -> bytes:
    """Return a number in groups of 7 bits, the lowest first; all but the last have the top bit."""
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def _varint_field(number: int, value: int) -> bytes:
    """Return a field that is a number."""
    return _varint(number * 8) + _varint(value)


def _bytes_field(number: int, content: bytes) -> bytes:
    """Return a field that is bytes."""
    return _varint(number * 8 + 2) + _varint(len(content)) + content


def build(data: bytes, make: Callable[[NodeData | None, list[T]], T]) -> T:
    """Return what `make`, of the type and data of a node and of what its children became, makes."""
    if not isinstance(data, bytes):
        raise TypeError(f"deserialize_using_proto takes bytes, got {type(data).__name__}")
    done: list[T] = []
    for number, (kind, arity, keys) in enumerate(_unpacked(data)):
        if arity > len(done):
            raise ValueError(
                f"Malformed PyTreeDef: node {number} has arity {arity}, exceeding the number of "
                f"subtrees preceding it ({len(done)})."
            )
        start = len(done) - arity
        python_type = _KINDS[kind]
        named = keys if python_type is dict else None
        node_data = None if python_type is None else (python_type, named)
        done[start:] = [make(node_data, done[start:])]
    if len(done) != 1:
        raise RuntimeError("PyTreeDef traversal did not yield a singleton.")
    return done[0]


def _unpacked(data: bytes) -> list[Record]:
    """Return the nodes, children first; an error if the bytes are no message of this kind."""
    fields = list(_fields(data))
    keys = [_content(content).decode() for number, content in fields if number == 2]
    nodes = [_content(content) for number, content in fields if number == 1]
    return [_unpacked_node(node, keys) for node in nodes]


def _unpacked_node(data: bytes, keys: list[str]) -> Record:
    """Return one node."""
    kind, arity, named = 0, 0, []
    for number, content in _fields(data):
        if number == 3:
            numbers = [x for n, x in _fields(_content(content)) if n == 1]
            named = [place for x in numbers for place in _varints(_content(x))]
        elif not isinstance(content, bytes):
            kind, arity = (kind, content) if number == 1 else (content, arity)
    if kind not in _KINDS:
        raise ValueError("Malformed pytree proto (invalid node type)")
    if any(place >= len(keys) for place in named):
        raise ValueError("Malformed pytree proto (dict_key out of range).")
    return Record(kind, arity, tuple(keys[place] for place in named))


def _content(content: int | bytes) -> bytes:
    """Return the bytes of a field that must have them."""
    if isinstance(content, bytes):
        return content
    raise JaxRuntimeError("Could not deserialize PyTreeDefProto.")


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the content of each field."""
    place = 0
    while place < len(data):
        tag, place = _read_varint(data, place)
        value, place = _read_varint(data, place)
        if tag % 8 == 0:
            yield tag // 8, value
        elif tag % 8 == 2 and place + value <= len(data):
            yield tag // 8, data[place : place + value]
            place += value
        else:
            raise JaxRuntimeError("Could not deserialize PyTreeDefProto.")


def _varints(data: bytes) -> Iterator[int]:
    """Yield the numbers that bytes are made of."""
    place = 0
    while place < len(data):
        value, place = _read_varint(data, place)
        yield value


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the number at a place, and the place behind it."""
    value = shift = 0
    while place < len(data) and shift < 64:
        value |= (data[place] & 127) << shift
        place, shift = place + 1, shift + 7
        if data[place - 1] < 128:
            return value, place
    raise JaxRuntimeError("Could not deserialize PyTreeDefProto.")
