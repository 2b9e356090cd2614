"""Reductions over named axes are those over the mapped axis."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import binary, named_axes, reduce
from tests.support.harness import laws
from tests.support.records import Record, normal

X = np.arange(1, 17, dtype=np.float32).reshape(4, 4)


WIDE = ("float32", "float64", "complex64", "complex128")
EXTREME = dict.fromkeys(("jvp", "transpose", "second"), "it has no derivative, in JAX either")
ROWS = {"empty": "there is no axis without rows"}


def over_rows(function):
    """Return the function of an array whose rows are mapped over the axis "i"."""
    return lambda x: jax.vmap(lambda row: function(row, "i"), axis_name="i")(x)


def fold_of_rows(fold):
    """Return the function that gives each row the fold of all."""
    return lambda x: np.broadcast_to(fold(x, 0), x.shape).astype(x.dtype)


RECORDS = [
    Record("psum", over_rows(lambda x, i: named_axes.psum(x * x, i)), (normal(4, 2),), WIDE, ROWS,
           reference=lambda x: fold_of_rows(np.sum)(x * x)),
    Record("pmax", over_rows(named_axes.pmax), (normal(4, 2),), without=EXTREME | ROWS,
           reference=fold_of_rows(np.max)),
    Record("pmin", over_rows(named_axes.pmin), (normal(4, 2),), without=EXTREME | ROWS,
           reference=fold_of_rows(np.min)),
    Record("axis_index",
           over_rows(lambda x, i: x * named_axes.axis_index(i).astype(x.dtype)), (normal(4, 2),),
           WIDE, ROWS, reference=lambda x: x * np.arange(4).reshape(4, 1).astype(x.dtype)),
]  # fmt: skip
globals().update(laws(RECORDS))


def mapped(function, x=X, **options) -> np.ndarray:
    """Map a function over the first axis, called "i"."""
    return np.asarray(jax.vmap(function, axis_name="i", **options)(x))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (named_axes.psum, X.sum(0)),
        (named_axes.pmean, X.mean(0)),
        (named_axes.pmax, X.max(0)),
        (named_axes.pmin, X.min(0)),
    ],
)
def test_rows_are_folded(function, expected):
    np.testing.assert_allclose(np.tile(expected, (4, 1)), mapped(lambda x: function(x, "i")))


def test_index_and_size():
    np.testing.assert_array_equal(np.arange(4), mapped(lambda x: named_axes.axis_index("i")))
    np.testing.assert_array_equal([4] * 4, mapped(lambda x: named_axes.psum(1, "i")))
    assert jax.vmap(lambda x: named_axes.axis_size("i"), axis_name="i", out_axes=None)(X) == 4


def test_a_row_without_a_batch_counts_size_times():
    out = mapped(lambda x: named_axes.psum(np.float32(2), "i"))
    np.testing.assert_array_equal([8] * 4, out)


def test_two_names_are_resolved_one_by_one():
    inner = jax.vmap(lambda x: named_axes.psum(x, ("i", "j")), axis_name="j")
    np.testing.assert_array_equal(np.full((4, 4), X.sum()), mapped(inner))


def test_other_axes_are_rows():
    out = jax.vmap(lambda x: mapped_sum(x), 1, 1)(X)
    np.testing.assert_array_equal(np.tile(X.sum(0), (4, 1)), out)


def mapped_sum(x):
    """Sum over the rows of x, for every row."""
    return jax.vmap(lambda row: named_axes.psum(row, "i"), axis_name="i")(x)


def test_programs_print_as_jaxs():
    text = str(jax.make_jaxpr(jax.vmap(lambda x: named_axes.pmean(x, "i"), axis_name="i"))(X))
    assert "b:f32[4] = psum[axes=(0,) axis_index_groups=None] a" in text
    assert "c:f32[4] = div b 4.0:f32[]" in text


def test_gradients_inside_and_outside_of_the_map():
    def energy(x):
        """Sum the products of the rows with the sum of rows."""
        rows = jax.vmap(lambda r: binary.mul(r, named_axes.psum(r, "i")), axis_name="i")(x)
        return reduce.reduce_sum(rows, (0, 1))

    np.testing.assert_allclose(np.tile(2 * X.sum(0), (4, 1)), jax.grad(energy)(X))


def test_unbound_names_and_groups_are_refused():
    with pytest.raises(NameError, match="unbound axis name: k"):
        mapped(lambda x: named_axes.psum(x, "k"))
    groups = [[0, 1], [2, 3]]
    with pytest.raises(NotImplementedError, match="axis_index_groups not supported in vmap"):
        mapped(lambda x: named_axes.psum(x, "i", axis_index_groups=groups))


def test_groups_that_repeat_a_row_are_refused() -> None:
    total = lambda x: jax.lax.psum(x, "i", axis_index_groups=[[0, 0], [2, 3]])  # noqa: E731
    with pytest.raises(ValueError, match="must cover all indices exactly once"):
        jax.vmap(total, axis_name="i")(np.zeros(4, np.float32))
