"""Scatters obey the laws of `tests/support/harness.py`; they write in place, also under grad."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import binary, scatter, updates
from tapeless.prims.indexing import ScatterDimensionNumbers
from tests.support.harness import laws
from tests.support.records import FLOATS, INTEGERS, Record, fixed, normal

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ROWS = ScatterDimensionNumbers((1,), (0,), (0,))
BOXES = ScatterDimensionNumbers((1, 2), (), (1, 0))
PAIRED = ScatterDimensionNumbers((), (1,), (1,), (0,), (0,))
INDEXED = {"empty": "there is nothing to scatter into"}
APART = fixed([[0], [2]], "int32")
TWICE = fixed([[1], [1], [2]], "int32")
FAR = fixed([[0], [2], [7], [-1]], "int32")


def put(function, numbers=ROWS, **options) -> object:
    """Return the scatter with fixed parameters."""
    return lambda x, i, u: function(x, i, u, numbers, **options)


def record(name, call, i, n, dtypes=("float32",), **options) -> Record:
    """Return the record of a scatter of n rows: differentiated by operand and updates."""
    makers = (normal(3, 4), i, normal(n, 4))
    return Record(name, call, makers, dtypes, INDEXED, differentiable=(0, 2), **options)


UNIQUE = {"unique_indices": True}
WIDE = (*FLOATS, *INTEGERS, "complex64")
RECORDS = [
    record("set", put(scatter.scatter, **UNIQUE), APART, 2, WIDE),
    record("set-twice", put(scatter.scatter), TWICE, 3),
    record("set-drop", put(scatter.scatter), FAR, 4),
    record("set-clip", put(scatter.scatter, mode="clip"), FAR, 4),
    record("add", put(scatter.scatter_add), TWICE, 3, WIDE),
    record("add-drop", put(scatter.scatter_add), FAR, 4),
    record("add-clip", put(scatter.scatter_add, mode="clip"), FAR, 4),
    record("sub", put(scatter.scatter_sub), TWICE, 3, WIDE),
    record("mul", put(scatter.scatter_mul, **UNIQUE), APART, 2, WIDE, ulps=8),
    record("min", put(scatter.scatter_min), TWICE, 3),
    record("max", put(scatter.scatter_max), TWICE, 3, ("float32", "int32")),
    Record(
        "add-boxes",
        put(scatter.scatter_add, BOXES, mode="clip"),
        (normal(3, 4), fixed([[0, 0], [2, 1], [1, 9]], "int32"), normal(3, 2, 2)),
        ("float32",),
        INDEXED,
        differentiable=(0, 2),
    ),
    Record(
        "add-paired",
        put(scatter.scatter_add, PAIRED),
        (normal(3, 4), fixed([[0], [2], [1]], "int32"), normal(3)),
        ("float32",),
        INDEXED,
        differentiable=(0, 2),
    ),
]
globals().update(laws(RECORDS))


def test_gradient_of_products_needs_unique_indices():
    f = put(scatter.scatter_mul)
    i = np.array([[1], [1]])
    with pytest.raises(NotImplementedError, match="only implemented if `unique_indices=True`"):
        jax.jvp(lambda u: f(X, i, u), (X[:2],), (X[:2],))


def test_gradient_of_a_minimum_is_shared_among_equals():
    x, i, u = np.zeros(2, np.float32), np.array([[0], [0]]), np.zeros(2, np.float32)
    f = put(scatter.scatter_min, ScatterDimensionNumbers((), (0,), (0,)))
    _, pullback = jax.vjp(lambda x, u: f(x, i, u), x, u)
    ct_x, ct_u = pullback(np.ones(2, np.float32))
    np.testing.assert_allclose([1 / 3, 1], ct_x, rtol=1e-6)
    np.testing.assert_allclose([1 / 3, 1 / 3], ct_u, rtol=1e-6)


@pytest.mark.parametrize("rows", [3, 50])
def test_updates_may_read_what_is_overwritten(rows):
    x = np.arange(4.0 * rows, dtype=np.float32).reshape(rows, 4)
    places = (np.arange(rows, dtype=np.int32).reshape(rows, 1) + 1) % rows

    def rotate(x):
        """Write every row of x + 1 into the next one."""
        moved = binary.add(x, np.float32(1))
        return scatter.scatter(moved, places, moved, ROWS, unique_indices=True)

    np.testing.assert_array_equal(np.roll(x + 1, 1, axis=0), jax.jit(rotate)(x))


@pytest.mark.parametrize(
    ("numbers", "rows", "shape", "text"),
    [
        (((1,), (0,), (0,)), (2, 1), (2, 5), "Bounds of the window dimensions of updates must not"),
        (((1,), (0,), (0,)), (2, 1), (3, 4), "Bounds of the scatter dimensions of updates must be"),
        (((1,), (0,), (0,)), (2, 1), (2, 4, 1), "Updates tensor must be of rank 2; got 3."),
        (
            ((1,), (), (0,)),
            (2, 1),
            (2, 4),
            "Scatter op has window of size 1; doesn't match",
        ),
        (((1,), (3,), (0,)), (2, 1), (2, 4), "Invalid inserted_window_dims set in scatter op"),
        (((1,), (0,), (0, 1)), (2, 1), (2, 4), "Scatter op has 2 elements in scatter_dims_to_oper"),
        (
            ((1,), (0,), (5,)),
            (2, 1),
            (2, 4),
            "Invalid scatter_dims_to_operand_dims mapping;",
        ),
        (
            ((1,), (0,), (0, 0)),
            (2, 2),
            (2, 4),
            "scatter_dims_to_operand_dims in scatter op must",
        ),
        (((5,), (0,), (0,)), (2, 1), (2, 4), "Invalid update_window_dims set in scatter op; valid"),
    ],
)
def test_dimension_numbers_that_do_not_fit_are_refused(numbers, rows, shape, text):
    i, u = np.zeros(rows, np.int32), np.ones(shape, np.float32)
    with pytest.raises(TypeError) as caught:
        scatter.scatter(X, i, u, ScatterDimensionNumbers(*numbers))
    assert text in str(caught.value)


def test_dtypes_must_agree():
    with pytest.raises(TypeError, match="requires arguments to have the same dtypes"):
        scatter.scatter_add(X, np.zeros((2, 1), np.int32), np.ones((2, 4), np.float16), ROWS)


def order_of(n_updates):
    """Return the order in which single updates of a target with one table are combined."""
    blocks = n_updates // (updates.STREAMS * updates.STREAMED)
    length = updates.STREAMED * (blocks - 1 | 1) if blocks else 0
    by_turns = np.arange(updates.STREAMS * length).reshape(updates.STREAMS, length).T.ravel()
    return [*by_turns, *range(by_turns.size, n_updates)]


@pytest.mark.parametrize("mode", ["clip", "drop"])
@pytest.mark.parametrize("n_updates", [500, 2000])
@pytest.mark.parametrize("segments", [25, 300])
def test_updates_are_combined_in_order_or_by_turns_of_their_streams(segments, n_updates, mode):
    draw = np.random.default_rng(0)
    places = np.sort(draw.integers(-2, segments + 2, n_updates))
    values = draw.normal(size=n_updates).astype(np.float32)
    expected = np.ones(segments, np.float32)
    for i in order_of(n_updates):
        place, value = places[i], values[i]
        inside = place + segments if place < 0 else place
        if mode == "clip":
            inside = min(max(inside, 0), segments - 1)
        if 0 <= inside < segments:
            expected[inside] += value
    start = np.ones(segments, np.float32)
    add = jax.jit(lambda x, i, v: x.at[i].add(v, mode=mode))
    np.testing.assert_array_equal(expected, add(jax.numpy.asarray(start), places, values))
