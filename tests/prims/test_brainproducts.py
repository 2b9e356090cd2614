"""Products of narrow numbers: every remainder and order of axes, in matrix registers or without."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.compiler.target import host_target
from tapeless.kernel.strips import Registers
from tapeless.prims.brainproducts import pays_in_pairs, pays_in_tiles, words_of

SHAPES = [(64, 64, 64), (100, 90, 100), (40, 65, 47), (33, 64, 64), (300, 40, 129), (600, 510, 333)]
SHAPES += [(65, 77, 130), (530, 33, 2048), (40, 9, 500), (33, 300, 4200)]


def brains(*shape: int) -> np.ndarray:
    """Random numbers."""
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(ml_dtypes.bfloat16)


def exact(subscripts: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The product in float64."""
    return np.einsum(subscripts, x.astype(np.float64), y.astype(np.float64))


@pytest.mark.parametrize("subscripts", ["nk,km", "kn,km", "nk,mk", "kn,mk"])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_every_remainder_either_way_round(sizes, subscripts):
    length = dict(zip("nmk", sizes, strict=True))
    x, y = (brains(*(length[axis] for axis in part)) for part in subscripts.split(","))
    text = f"{subscripts}->nm"
    found = jnp.einsum(text, x, y, preferred_element_type=jnp.float32)
    np.testing.assert_allclose(found, exact(text, x, y), rtol=1e-5, atol=2e-4)


@pytest.mark.parametrize("text", ["bnk,bkm->bnm", "bkn,bmk->bnm", "nkb,bkm->bnm", "nbk,km->nbm"])
def test_batches_and_axes_that_are_interleaved(text):
    length = {"b": 3, "n": 50, "m": 40, "k": 70}
    first, second = text.split("->")[0].split(",")
    x, y = (brains(*(length[axis] for axis in part)) for part in (first, second))
    found = jnp.einsum(text, x, y)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(found.astype("float32"), exact(text, x, y), rtol=1e-2, atol=1e-1)


def test_infinities_and_nan_spread_as_in_any_product():
    x, y = brains(64, 64), np.ones((64, 64), ml_dtypes.bfloat16)
    x[3, 5], x[7, 9] = np.inf, np.nan
    found = np.asarray(jnp.matmul(x, y)).astype(np.float32)
    assert np.all(found[3] == np.inf)
    assert np.all(np.isnan(found[7]))
    assert np.isfinite(np.delete(found, (3, 7), axis=0)).all()


def test_gradients_are_products_too():
    x, y = brains(64, 96), brains(96, 32)
    found = jax.jit(jax.grad(lambda x: jnp.sum((x @ y).astype("float32"))))(jnp.asarray(x))
    expected = np.broadcast_to(y.astype(np.float64).sum(1), x.shape)
    np.testing.assert_allclose(np.asarray(found).astype(np.float64), expected, rtol=1e-2, atol=5e-2)


INTEGERS = [("int8", "int8"), ("uint8", "int8"), ("int16", "int16"), ("uint8", "int16")]
WIDE_INTEGERS = [("int32", "int32"), ("uint32", "uint32"), ("uint16", "uint16"), ("int8", "int32")]


def integers(dtype: str, *shape: int) -> np.ndarray:
    """Random numbers, all that there are."""
    info = np.iinfo(dtype)
    draw = np.random.default_rng(sum(shape))
    return draw.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


@pytest.mark.parametrize("dtypes", INTEGERS + WIDE_INTEGERS, ids=str)
@pytest.mark.parametrize("subscripts", ["nk,km", "kn,mk", "bnk,bkm"])
@pytest.mark.parametrize("sizes", [(16, 16, 16), (40, 64, 48), (129, 101, 33), (300, 512, 130)])
def test_products_of_integers_wrap(dtypes, subscripts, sizes):
    n, k, m = sizes
    lengths = {"b": 2, "n": n, "k": k, "m": m}
    x, y = (
        integers(dtype, *(lengths[letter] for letter in letters))
        for dtype, letters in zip(dtypes, subscripts.split(","), strict=True)
    )
    expected = np.einsum(subscripts, x.astype(np.int64), y.astype(np.int64), optimize=True)
    for preferred in (None, "int32", "uint32"):

        def product(x, y, preferred=preferred):
            return jnp.einsum(subscripts, x, y, preferred_element_type=preferred)

        found = np.asarray(jax.jit(product)(x, y))
        np.testing.assert_array_equal(found, expected.astype(found.dtype))


def test_integers_of_sixteen_bits_are_multiplied_by_pairs():
    x = integers("int8", 64, 64)
    kernels = jax.inspect(lambda x: jnp.matmul(x, x, preferred_element_type="int32"))(x).kernels
    registers = host_target().registers
    in_pairs = any("panels:shorts" in kernel.kernel.text for kernel in kernels)
    assert in_pairs == (registers is not None and registers.shorts)
    assert words_of(x.dtype, np.dtype("int32"), np.dtype("int32")) is None
    assert words_of(x.dtype, x.dtype, np.dtype("int64")) is None


def test_threads_change_no_bit():
    x, y = brains(700, 512), brains(512, 600)
    whole = np.asarray(jnp.matmul(x, y, preferred_element_type="float32"))
    parts = [jnp.matmul(x[:64], y, preferred_element_type="float32")]
    np.testing.assert_array_equal(whole[:64], parts[0])


def test_products_that_would_be_mostly_padding_are_left_to_others():
    assert pays_in_tiles(64, 64, 64)
    assert not pays_in_tiles(10_000, 8, 64)
    assert not pays_in_tiles(1, 4096, 4096)
    assert pays_in_pairs(Registers(32, 64, True), (1, 64, 64, 64))
    assert not pays_in_pairs(Registers(32, 64, True), (1, 64, 64, 65))
    assert not pays_in_pairs(Registers(32, 64), (1, 64, 64, 64))


def test_the_registers_are_used_where_there_are_some():
    x = jax.ShapeDtypeStruct((224, 64), jnp.bfloat16)  # rows that fill tiles, and strips as well
    compiled = jax.jit(jnp.matmul).lower(x, jax.ShapeDtypeStruct((64, 64), x.dtype)).compile()
    kernels = jax.inspect(jnp.matmul)(brains(64, 64), brains(64, 64)).kernels
    in_tiles = any("tiles:product" in kernel.kernel.text for kernel in kernels)
    assert in_tiles == host_target().matrices
    assert compiled.cost_analysis()["flops"] == 2 * 224 * 64**2


def test_pairs_of_terms_are_multiplied_where_an_instruction_does():
    kernels = jax.inspect(jnp.matmul)(brains(64, 64), brains(64, 64)).kernels
    target = host_target()
    brain_pairs = target.registers is not None and target.registers.brains
    in_pairs = any("panels:brains" in kernel.kernel.text for kernel in kernels)
    assert in_pairs == (brain_pairs and not target.matrices)


def test_a_factor_that_lies_by_rows_is_not_copied():
    x = np.ones((600, 512), ml_dtypes.bfloat16)
    y = np.ones((512, 64), ml_dtypes.bfloat16)
    if pays_in_pairs(host_target().registers, (1, 600, 64, 512)) and not host_target().matrices:
        product = jax.jit(lambda x, y: jnp.matmul(x, y, preferred_element_type="float32"))
        memory = product.lower(x, y).compile().memory_analysis()
        assert memory.temp_size_in_bytes == y.nbytes
