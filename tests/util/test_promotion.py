"""The lattice of dtypes: joins by example, and the laws of a join on all nodes."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from tapeless.util import elements
from tapeless.util.promotion import TypePromotionError, join

NODES = [elements.BOOL, int, float, complex]
NODES += [*elements.SIGNED, *elements.UNSIGNED, *elements.WIDE_FLOATS, *elements.COMPLEX]


def narrow(x64):
    """Return the nodes that exist without x64, or all."""
    return [node for node in NODES if x64 or node not in elements.HALVED]


@pytest.mark.parametrize(
    ("nodes", "x64", "expected"),
    [
        (("int8", "uint8"), False, "int16"),
        (("int32", "uint32"), False, "int32"),
        (("int32", "uint32"), True, "int64"),
        (("int64", "uint64"), True, float),
        (("bfloat16", "float16"), False, "float32"),
        (("float32", complex), False, "complex64"),
        (("float64", "complex64"), True, "complex128"),
        (("bool", int), False, int),
        ((int, "int8"), False, "int8"),
    ],
)
def test_joins(nodes, x64, expected):
    named = [np.dtype(node) if isinstance(node, str) else node for node in nodes]
    assert join(named, False, x64) == expected


@pytest.mark.parametrize("x64", [False, True])
def test_a_join_is_commutative_and_associative(x64):
    for a, b in itertools.combinations(narrow(x64), 2):
        assert join((a, b), False, x64) == join((b, a), False, x64)
    for a, b, c in itertools.combinations(narrow(x64), 3):
        left = join((join((a, b), False, x64), c), False, x64)
        assert left == join((a, join((b, c), False, x64)), False, x64)


def test_strict_mode_joins_only_with_weak_nodes():
    assert join((np.dtype("int8"), int), True, False) == "int8"
    assert join((np.dtype("float16"), int), True, False) == "float16"
    with pytest.raises(TypePromotionError, match=r"\('int32', 'float32'\).*=strict"):
        join((np.dtype("int32"), np.dtype("float32")), True, False)


@pytest.mark.parametrize(
    ("narrow_type", "message"),
    [
        (ml_dtypes.float8_e4m3fn, "8-bit floats do not support implicit"),
        (ml_dtypes.int4, "4-bit integers do not support implicit"),
    ],
)
def test_narrow_types_join_with_nothing_else(narrow_type, message):
    with pytest.raises(TypePromotionError, match=message):
        join((np.dtype(narrow_type), np.dtype("float32")), False, False)


def test_what_is_no_node_is_refused():
    with pytest.raises(ValueError, match="not a valid dtype for JAX type promotion"):
        join((np.dtype("float32"), elements.float0), False, False)
