"""Each generator makes the keys and bits that JAX makes; kept in `generators.npz` (see below).

`python -m tests.prims.test_generators`, on a Python that has jax, keeps them anew.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeless
from tapeless.prims.generators import GENERATORS

KEPT = Path(__file__).parent / "generators.npz"
SEEDS = (0, 1, 5, 42, -1, 2**31 - 1)
CARRYING = (2**32 - 1, 2**32 - 2, 7, 2**32 - 1)


def words_of(jax: Any, keys: Any) -> np.ndarray:
    """Return the words of keys."""
    return np.asarray(jax.random.key_data(keys))


def single(jax: Any, keys: list[Any]) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Yield what single keys give."""
    random = jax.random
    yield "seed", [words_of(jax, k) for k in keys]
    yield "split", [words_of(jax, random.split(k, n)) for k in keys for n in (1, 5, (2, 3))]
    yield "fold_in", [words_of(jax, random.fold_in(k, n)) for k in keys for n in (0, 7, 2**31)]
    for shape in ((), (1,), (9,), (2, 3)):
        for dtype in ("uint8", "uint16", "uint32"):
            yield f"{dtype}-{shape}", [np.asarray(random.bits(k, shape, dtype)) for k in keys]
    with jax.enable_x64(True):
        yield "uint64", [np.asarray(random.bits(k, (2, 3), "uint64")) for k in keys]
    yield "uniform", [np.asarray(random.uniform(k, (3,))) for k in keys]
    with jax.threefry_partitionable(False):
        yield "old-split", [words_of(jax, random.split(k, 3)) for k in keys]
        yield "old-bits", [np.asarray(random.bits(k, (5,), "uint16")) for k in keys]


def mapped(jax: Any, keys: Any) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Yield what arrays of keys give: keys (4)."""
    random, numbers = jax.random, np.arange(4, dtype=np.uint32)
    grid, rows = keys.reshape(2, 2), np.arange(2, dtype=np.uint32)
    draw = lambda k: random.bits(k, (3,), "uint32")  # noqa: E731
    yield "map-bits", [np.asarray(jax.vmap(draw)(keys)), np.asarray(jax.vmap(jax.vmap(draw))(grid))]
    folds = [
        jax.vmap(random.fold_in)(keys, numbers),
        jax.vmap(lambda k: random.fold_in(k, 7))(keys),
        jax.vmap(lambda n: random.fold_in(keys[1], n))(numbers),
        jax.vmap(lambda k: jax.vmap(lambda n: random.fold_in(k, n))(rows))(keys),
        jax.vmap(lambda n: jax.vmap(lambda k: random.fold_in(k, n))(keys))(rows),
        jax.vmap(jax.vmap(random.fold_in))(grid, numbers.reshape(2, 2)),
    ]
    yield "map-fold_in", [words_of(jax, each) for each in folds]
    yield "map-split", [words_of(jax, jax.vmap(lambda k: random.split(k, 3))(keys))]


def streams(jax: Any, impl: str) -> dict[str, np.ndarray]:
    """Return what a generator of one of the systems gives, by name."""
    keys = [jax.random.key(seed, impl=impl) for seed in SEEDS]
    n_words = words_of(jax, keys[0]).size
    carrying = np.array(CARRYING[-n_words:], np.uint32)
    keys.append(jax.random.wrap_key_data(carrying, impl=impl))
    found = [*single(jax, keys), *mapped(jax, jax.random.split(keys[3], 4))]
    with jax.enable_x64(True):
        wide = [words_of(jax, jax.random.key(s, impl=impl)) for s in (2**40 + 3, -(2**40))]
    found.append(("wide-seed", wide))
    return {name: np.concatenate([x.ravel() for x in arrays]) for name, arrays in found}


@pytest.mark.parametrize("impl", sorted(GENERATORS))
def test_generators_give_the_kept_words(impl: str) -> None:
    """Seeds, children, bits of every width, and arrays of keys under vmap."""
    kept = np.load(KEPT)
    found = streams(tapeless, impl)
    names = {name.removeprefix(f"{impl}-") for name in kept.files if name.startswith(f"{impl}-")}
    assert set(found) == names
    for name, words in found.items():
        np.testing.assert_array_equal(words, kept[f"{impl}-{name}"], err_msg=name)


@pytest.mark.parametrize("impl", sorted(GENERATORS))
def test_jitted_programs_draw_what_eager_calls_draw(impl: str) -> None:
    random = tapeless.random
    key = random.key(3, impl=impl)

    def draw(key: Any) -> tuple:
        """Use the three operations."""
        child, other = random.split(key)
        return random.bits(child, (4,)), random.key_data(random.fold_in(other, 3))

    for eager, jitted in zip(draw(key), tapeless.jit(draw)(key), strict=True):
        np.testing.assert_array_equal(eager, jitted)


def main() -> None:
    """Write the file."""
    jax = importlib.import_module("jax")
    kept = {
        f"{impl}-{name}": words for impl in GENERATORS for name, words in streams(jax, impl).items()
    }
    np.savez_compressed(KEPT, **kept)


if __name__ == "__main__":
    main()
