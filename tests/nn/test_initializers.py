"""Initial values have the variance that their shapes ask for; their bits are kept from JAX."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless.nn import initializers

KEPT = np.load(Path(__file__).parent / "initializers.npz")
SHAPE = (3, 4, 6)
MAKERS: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda i: i.uniform(2.0),
    "normal": lambda i: i.normal(0.3),
    "truncated_normal": lambda i: i.truncated_normal(0.3),
    "lecun_uniform": lambda i: i.lecun_uniform(),
    "lecun_normal": lambda i: i.lecun_normal(),
    "glorot_uniform": lambda i: i.glorot_uniform(),
    "glorot_normal": lambda i: i.glorot_normal(),
    "he_uniform": lambda i: i.he_uniform(),
    "he_normal": lambda i: i.he_normal(in_axis=0, out_axis=1, batch_axis=2),
    "fan_out": lambda i: i.variance_scaling(2.0, "fan_out", "normal"),
    "fan_geo_avg": lambda i: i.variance_scaling(0.5, "fan_geo_avg", "uniform", (0, 1), 2),
    "orthogonal": lambda i: i.orthogonal(1.5),
    "orthogonal-column": lambda i: i.orthogonal(column_axis=0),
    "delta_orthogonal": lambda i: i.delta_orthogonal(),
    "zeros": lambda i: i.zeros,
    "ones": lambda i: i.ones,
    "constant": lambda i: i.constant(0.25),
}
# Uniform and truncated normal numbers are not complex.
OTHERS = [
    (name, dtype)
    for name in MAKERS
    for dtype in ("float16", "bfloat16", "complex64")
    if "orthogonal" not in name
    and not (dtype == "complex64" and name in ("uniform", "truncated_normal"))
]
# Sums of many terms and inverse error functions: some units in the last place of 1.
ATOL = 6e-7


def initial(system: Any, name: str, dtype: str = "float32") -> np.ndarray:
    """Return the values of a fixed key."""
    module = importlib.import_module(f"{system.__name__}.nn.initializers")
    return np.asarray(MAKERS[name](module)(system.random.key(7), SHAPE, dtype))


@pytest.mark.parametrize("name", MAKERS)
def test_values_are_those_that_jax_gave(name: str) -> None:
    found = initial(jax, name)
    assert found.shape == SHAPE
    np.testing.assert_allclose(found, KEPT[name], rtol=0, atol=ATOL)
    if name in ("uniform", "zeros", "ones", "constant", "he_uniform", "lecun_uniform"):
        np.testing.assert_array_equal(found, KEPT[name])


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "dtype"), OTHERS)
def test_other_dtypes_agree_with_jax(name: str, dtype: str) -> None:
    want = initial(importlib.import_module("jax"), name, dtype)
    found = initial(jax, name, dtype)
    kind = np.complex64 if dtype == "complex64" else np.float32
    eps = {"float16": 1e-3, "bfloat16": 8e-3, "complex64": 1e-6}[dtype]
    np.testing.assert_allclose(found.astype(kind), want.astype(kind), atol=2 * eps)


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_normal_numbers_have_the_bits_of_jax(dtype: str) -> None:
    oracle = importlib.import_module("jax")
    found, want = (
        np.asarray(system.nn.initializers.normal()(system.random.key(7), (64,), dtype))
        for system in (jax, oracle)
    )
    np.testing.assert_array_equal(found.astype("f4"), want.astype("f4"))


def test_layers_without_inputs_are_empty() -> None:
    assert initializers.lecun_normal()(jax.random.key(0), (0, 3)).shape == (0, 3)


@pytest.mark.parametrize("distribution", ["normal", "uniform", "truncated_normal"])
@pytest.mark.parametrize(
    ("mode", "fan"), [("fan_in", 600), ("fan_out", 900), ("fan_avg", 750), ("fan_geo_avg", 734.8)]
)
def test_the_variance_is_scale_over_fan(distribution: str, mode: str, fan: float) -> None:
    init = initializers.variance_scaling(2.0, mode, distribution)
    for dtype in ("float32", "complex64"):
        drawn = np.asarray(init(jax.random.key(0), (3, 200, 300), dtype))
        np.testing.assert_allclose(np.mean(np.abs(drawn) ** 2), 2.0 / fan, rtol=0.02)


def test_orthogonal_columns_are_orthonormal() -> None:
    matrix = np.asarray(initializers.orthogonal(2.0)(jax.random.key(0), (5, 3)))
    np.testing.assert_allclose(matrix.T @ matrix, 4 * np.eye(3), atol=1e-5)
    kernel = np.asarray(initializers.delta_orthogonal()(jax.random.key(0), (3, 3, 2, 4)))
    np.testing.assert_allclose(kernel[1, 1] @ kernel[1, 1].T, np.eye(2), atol=1e-5)
    assert np.count_nonzero(kernel) == np.count_nonzero(kernel[1, 1])


def test_misuse_is_refused() -> None:
    key = jax.random.key(0)
    with pytest.raises(ValueError, match="at least 2D"):
        initializers.lecun_normal()(key, (3,))
    with pytest.raises(ValueError, match="invalid mode"):
        initializers.variance_scaling(1.0, "foo", "normal")(key, (3, 3))
    with pytest.raises(ValueError, match="invalid distribution"):
        initializers.variance_scaling(1.0, "fan_in", "foo")(key, (3, 3))
    with pytest.raises(ValueError, match="at least a 2D"):
        initializers.orthogonal()(key, (3,))
    with pytest.raises(ValueError, match="3D, 4D, or 5D"):
        initializers.delta_orthogonal()(key, (3, 3))


def keep() -> None:
    """Write the values that JAX gives: `python -m tests.nn.test_initializers`."""
    oracle = importlib.import_module("jax")
    values = {name: initial(oracle, name) for name in MAKERS}
    np.savez_compressed(Path(__file__).parent / "initializers.npz", **values)


if __name__ == "__main__":
    keep()
