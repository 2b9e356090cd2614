"""Products too long for one look at signals: tiles of rows, columns and terms, and their rests."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp
from tapeless.compiler.lower import lower_jaxpr
from tapeless.prims import blas, dot
from tapeless.runtime import callrecords


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let little be long: a tile has some hundred multiplications."""
    monkeypatch.setattr(blas, "LONGEST", 1 << 15)
    monkeypatch.setattr(blas, "FEWEST_ROWS", 8)
    monkeypatch.setattr(blas, "MOST_TERMS", 48)
    for choice in ("pays_in_panels", "pays_in_place", "pays_apart"):  # these need no library
        monkeypatch.setattr(dot.panels, choice, lambda *given: False)
    monkeypatch.setattr(callrecords, "load", lambda key: None)
    monkeypatch.setattr(callrecords, "save", lambda key, found: None)


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return integers, whose products are exact in every order of the terms."""
    return np.random.default_rng(len(shape)).integers(-3, 4, shape).astype(dtype)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("flips", ["nk,km", "kn,km", "nk,mk", "kn,mk"])
@pytest.mark.parametrize("sizes", [(100, 130, 111), (7, 129, 300), (101, 40, 90), (300, 500, 3)])
def test_tiles_make_up_the_product(dtype: str, flips: str, sizes: tuple[int, int, int]) -> None:
    extents = dict(zip("nkm", sizes, strict=True))
    x, y = (numbers(tuple(extents[c] for c in part), dtype) for part in flips.split(","))
    out = jax.jit(lambda x, y: jnp.einsum(f"{flips}->nm", x, y))(x, y)
    np.testing.assert_array_equal(out, np.einsum(f"{flips}->nm", x, y))


@pytest.mark.usefixtures("short")
def test_every_product_of_a_batch_is_tiled() -> None:
    x, y = numbers((3, 50, 60), "float32"), numbers((3, 60, 70), "float32")
    np.testing.assert_array_equal(jax.jit(lambda x, y: x @ y)(x, y), x @ y)


@pytest.mark.usefixtures("short")
def test_sums_of_many_terms_are_made_run_by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "LARGE", 1 << 10)
    x, y = numbers((5, 12_345), "float32"), numbers((12_345, 6), "float32")
    np.testing.assert_array_equal(jax.jit(lambda x, y: x @ y)(x, y), x @ y)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("shapes", [((100, 130), (130, 111)), ((7, 4000), (4000, 500))])
def test_no_call_is_longer_than_what_is_called_long(
    shapes: tuple[tuple[int, int], tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []
    matrices = blas.Multiply.matrices

    def noted(self: blas.Multiply, sizes: tuple[int, int, int], *rest: object) -> None:
        called.append(int(np.prod(sizes)))
        matrices(self, sizes, *rest)

    monkeypatch.setattr(blas.Multiply, "matrices", noted)
    x, y = (jax.ShapeDtypeStruct(shape, "float32") for shape in shapes)
    lower_jaxpr(jax.make_jaxpr(lambda x, y: x @ y)(x, y))
    assert called and max(called) <= blas.LONGEST
