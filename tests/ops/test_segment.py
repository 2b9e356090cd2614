"""Segment operations reduce the rows that share an id."""

import numpy as np
import pytest

import tapeless as jax
from tapeless import ops

DATA = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, -1.0], [2.0, 2.0]], np.float32)
IDS = np.array([0, 2, 2, 0])
FOLDS = {
    "sum": (ops.segment_sum, np.add, 0.0),
    "prod": (ops.segment_prod, np.multiply, 1.0),
    "max": (ops.segment_max, np.maximum, -np.inf),
    "min": (ops.segment_min, np.minimum, np.inf),
}


def expected(name: str, ids: np.ndarray, n: int) -> np.ndarray:
    """Fold with NumPy; ids out of range are left out."""
    _, fold, neutral = FOLDS[name]
    out = np.full((n, 2), neutral, np.float32)
    for row, i in zip(DATA, ids, strict=True):
        if 0 <= i < n:
            out[i] = fold(out[i], row)
    return out


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("bucket_size", [None, 1, 3])
def test_rows_are_reduced_by_id(name: str, bucket_size: int | None) -> None:
    found = FOLDS[name][0](DATA, IDS, 4, bucket_size=bucket_size)
    np.testing.assert_array_equal(found, expected(name, IDS, 4))


@pytest.mark.parametrize("name", FOLDS)
def test_number_of_segments_is_one_more_than_the_largest_id(name: str) -> None:
    np.testing.assert_array_equal(FOLDS[name][0](DATA, IDS), expected(name, IDS, 3))


@pytest.mark.parametrize("name", FOLDS)
def test_ids_out_of_range_are_dropped(name: str) -> None:
    ids = np.array([0, 9, -1, 1])
    np.testing.assert_array_equal(FOLDS[name][0](DATA, ids, 2), expected(name, ids, 2))


def test_sorted_and_unique_ids_are_promises_only() -> None:
    found = ops.segment_sum(DATA, np.arange(4), 4, indices_are_sorted=True, unique_indices=True)
    np.testing.assert_array_equal(found, DATA)


def test_integers_have_the_ends_of_their_range() -> None:
    empty = ops.segment_max(np.zeros(0, np.int32), np.zeros(0, np.int32), 1)
    assert int(empty[0]) == np.iinfo(np.int32).min
    for dtype in ("uint8", "int32", "uint32"):
        found = ops.segment_min(np.array([3], dtype), np.array([1]), 2)
        np.testing.assert_array_equal(found, np.array([np.iinfo(dtype).max, 3], dtype))


def test_gradients_go_to_the_rows_that_count() -> None:
    gradient = jax.grad(lambda x: (ops.segment_sum(x, IDS, 3) ** 2).sum())(DATA)
    np.testing.assert_array_equal(gradient, 2 * expected("sum", IDS, 3)[IDS])
    gradient = jax.grad(lambda x: ops.segment_max(x, IDS, 3)[2, 0])(DATA)
    np.testing.assert_array_equal(gradient[:, 0], [0, 0, 1, 0])


def test_it_is_jitted_with_a_static_number_and_mapped() -> None:
    jitted = jax.jit(ops.segment_sum, static_argnums=2)
    np.testing.assert_array_equal(jitted(DATA, IDS, 3), expected("sum", IDS, 3))
    mapped = jax.vmap(lambda column: ops.segment_sum(column, IDS, 3), 1, 1)(DATA)
    np.testing.assert_array_equal(mapped, expected("sum", IDS, 3))


def test_misuse_is_refused() -> None:
    with pytest.raises(jax.errors.ConcretizationTypeError, match="num_segments"):
        jax.jit(ops.segment_sum)(DATA, IDS)
    with pytest.raises(TypeError, match="must be integers"):
        ops.segment_sum(DATA, IDS.astype(float), 3)
    with pytest.raises(ValueError, match="leading axes"):
        ops.segment_sum(DATA, IDS[:2], 3)
    with pytest.raises(ValueError, match="non-negative"):
        ops.segment_sum(DATA, IDS, -1)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        ops.segment_sum(DATA, IDS, 2.5)
    with pytest.raises(ValueError, match="bucket_size must be positive, got 0"):
        ops.segment_sum(DATA, IDS, 3, bucket_size=0)


def test_empty_segments_of_complex_numbers_are_real() -> None:
    found = ops.segment_max(np.ones(1, np.complex64), np.array([1]), 2)
    np.testing.assert_array_equal(found, np.array([-np.inf, 1], np.complex64))


@pytest.mark.parametrize("bucket_size", [None, 2])
@pytest.mark.parametrize("shape", [(0,), (0, 2), (5, 0)])
def test_no_rows_of_truth_values_have_the_neutral_element(
    shape: tuple[int, ...], bucket_size: int | None
) -> None:
    rows, ids = np.zeros(shape, bool), np.zeros(shape[0], np.int32)
    for name, neutral in (("sum", False), ("prod", True), ("max", False), ("min", True)):
        found = FOLDS[name][0](rows, ids, 3, bucket_size=bucket_size)
        np.testing.assert_array_equal(found, np.full((3, *shape[1:]), neutral))


def test_unknown_modes_are_refused_where_there_are_no_rows_too() -> None:
    with pytest.raises(ValueError, match='Unknown gather mode "nearest"'):
        ops.segment_sum(np.zeros(0), np.zeros(0, np.int32), 3, mode="nearest")


def test_a_traced_number_of_segments_is_refused_by_name() -> None:
    with pytest.raises(jax.errors.ConcretizationTypeError, match="num_segments is a traced array"):
        jax.jit(ops.segment_sum)(np.ones(2, np.float32), np.array([0, 1]), 2)


def test_keys_are_no_numbers() -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    with pytest.raises(TypeError, match="Cannot interpret 'key<fry>' as a data type of numbers"):
        ops.segment_sum(keys, np.array([0, 1, 1]), 2)


def test_programs_do_not_grow_with_the_number_of_buckets() -> None:
    """Each bucket is a step of a loop; the last may be smaller."""

    def size(n: int) -> int:
        """Return the number of equations for n rows in buckets of 3."""
        ids, rows = np.zeros(n, np.int32), np.ones((n, 2), np.float32)
        program = jax.make_jaxpr(lambda x, ids: ops.segment_sum(x, ids, 4, bucket_size=3))
        return len(program(rows, ids).jaxpr.eqns)

    assert size(3001) == size(10)


@pytest.mark.parametrize("name", ["segment_max", "segment_min", "segment_sum", "segment_prod"])
def test_no_ids_do_not_tell_how_many_segments_there_are(name):
    function = getattr(ops, name)
    rows, ids = np.zeros(0, np.float32), np.zeros(0, np.int32)
    for call in (function, jax.jit(function)):
        with pytest.raises(ValueError, match="zero-size array"):
            call(rows, ids)
    assert function(rows, ids, 2).shape == (2,)
