"""Constants and counting."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.core.aval import typeof
from tapeless.prims import create

DTYPES = ("int32", "float32", "float16", "uint8", "complex64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dimension", [0, 1])
def test_iota_counts_along_one_axis(dtype: str, dimension: int) -> None:
    """The index, converted."""
    expected = np.indices((2, 3))[dimension].astype(dtype)
    for function in (
        create.broadcasted_iota,
        jax.jit(create.broadcasted_iota, static_argnums=(0, 1, 2)),
    ):
        out = np.asarray(function(dtype, (2, 3), dimension))
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, expected)


def test_iota_checks_dtype_and_axis() -> None:
    """Bools do not count, and the axis must be there."""
    with pytest.raises(TypeError, match="iota does not accept dtype bool"):
        create.iota(bool, 3)
    with pytest.raises(ValueError, match="iota dimension must be between 0 and len\\(shape\\)"):
        create.broadcasted_iota("int32", (2, 3), 5)


def test_full_keeps_the_weak_type_of_a_python_scalar() -> None:
    """Unless a dtype is given."""
    assert str(typeof(create.full((2,), 1.5))) == "~float32[2]"
    assert str(typeof(create.full((2,), 1.5, "float16"))) == "float16[2]"
    assert str(typeof(create.full((), 3))) == "~int32[]"
    assert np.asarray(create.full((2, 2), 7, "int8")).tolist() == [[7, 7], [7, 7]]


def test_an_integer_is_the_length_of_a_vector() -> None:
    assert np.asarray(create.full(3, -2)).tolist() == [-2, -2, -2]
    assert np.asarray(create.broadcasted_iota(np.int32, 3, 0)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"Shapes must be 1D sequences .*, got 3\.0"):
        create.full(3.0, 1)


def test_full_of_nothing_and_of_arrays() -> None:
    """Empty shapes work; fill values are scalars."""
    assert np.asarray(create.full((0, 3), 1.0)).shape == (0, 3)
    with pytest.raises(TypeError, match="full must be called with scalar fill_value"):
        create.full((2,), np.ones(3, np.float32))
    with pytest.raises(TypeError, match="must have every element be nonnegative, got \\(-1,\\)"):
        create.full((-1,), 1.0)


def test_full_like_takes_shape_and_dtype_from_its_model() -> None:
    """Arrays and shape structs alike; both may be replaced."""
    model = jax.ShapeDtypeStruct((2, 3), np.int8)
    out = create.full_like(model, 4)
    assert (out.shape, str(out.dtype)) == ((2, 3), "int8")
    other = create.full_like(np.ones(3, np.float32), 2, dtype="int32", shape=(2,))
    assert (np.asarray(other).tolist(), str(other.dtype)) == ([2, 2], "int32")


def test_empty_has_the_type_asked_for() -> None:
    """Its values are nobody's business; here they are zeros."""
    out = create.empty((3,), np.float32)
    assert np.asarray(out).tolist() == [0.0, 0.0, 0.0]
