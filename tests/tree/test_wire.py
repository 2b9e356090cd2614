"""Structures of plain containers are written as JAX writes them, and read again."""

import importlib
from collections import OrderedDict
from typing import Any

import pytest

import tapeless as jax
from tapeless import tree
from tapeless.tree_util import PyTreeDef, default_registry

TREES = [
    1,
    None,
    [],
    {},
    [1, (2, None), {"a": 3}],
    {"b": 1, "a": {"b": 2, "c": (3, None, [])}},
    {"é": 1, "": 2},
    [[1] * 300, {str(n): n for n in range(200)}],
]


def read(data: bytes) -> PyTreeDef:
    """Return the structure that bytes describe."""
    return PyTreeDef.deserialize_using_proto(default_registry, data)


@pytest.mark.parametrize("example", TREES, ids=range(len(TREES)))
def test_what_is_written_is_read(example: Any) -> None:
    treedef = tree.structure(example)
    assert read(treedef.serialize_using_proto()) == treedef


def test_a_structure_that_jax_wrote() -> None:
    data = (
        b"\n\x02\x10\x01\n\x02\x10\x03\n\x04\x08\x02\x10\x04\n\t\x08\x01\x10\x05\x1a\x03\n\x01\x00"
    )
    assert read(data + b"\x12\x01a") == tree.structure({"a": (1, None)})


@pytest.mark.oracle
@pytest.mark.parametrize("example", TREES, ids=range(len(TREES)))
def test_the_bytes_are_those_of_jax(example: Any) -> None:
    peer = importlib.import_module("jax")
    want = peer.tree.structure(example).serialize_using_proto()
    assert tree.structure(example).serialize_using_proto() == want


@pytest.mark.parametrize(
    ("example", "words"),
    [({1: 2}, "Only string keys"), (OrderedDict(a=1), "use pickle instead")],
)
def test_other_containers_are_refused(example: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tree.structure(example).serialize_using_proto()


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"hello", jax.errors.JaxRuntimeError, "Could not deserialize"),
        (b"\n\x05\x10\x01", jax.errors.JaxRuntimeError, "Could not deserialize"),
        (b"", RuntimeError, "did not yield a singleton"),
        (b"\n\x02\x10\x01" * 2, RuntimeError, "did not yield a singleton"),
        (b"\n\x04\x08\x02\x10\x04", ValueError, "node 0 has arity 2, exceeding"),
        (b"\n\x02\x10\x09", ValueError, "invalid node type"),
        (b"\n\x02\x10\x01\n\t\x08\x01\x10\x05\x1a\x03\n\x01\x05", ValueError, "out of range"),
        ("text", TypeError, "takes bytes, got str"),
    ],
)
def test_other_bytes_are_refused(data: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        read(data)
