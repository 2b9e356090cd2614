"""Keep what JAX draws: `python -m tests.random.golden`, on a Python that has jax.

    streams.npz   for 20 seeds, both layouts of counters, some shapes and all dtypes: bits, uniform
                  and normal numbers, integers; children of keys
    draws.npz     for each distribution and dtype of the table, and both layouts: draws of shapes
                  (2, 3) and (5,) of each of 20 seeds

Arrays of bfloat16, which npz files do not know, are kept as their words.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.random.table import FLOATS, INTS, ROWS

__all__ = ["DRAWS", "SEEDS", "SHAPE", "STREAMS", "cases", "draw", "draws", "plain", "streams"]

FOLDER = Path(__file__).parent
LAYOUTS = ("new", "old")
STREAMS, DRAWS = FOLDER / "streams.npz", FOLDER / "draws.npz"
SEEDS = (0, 1, 2, 3, 5, 7, 42, 99, 123, 255, 256, 1000, 2**16, 2**20, 2**31 - 1, -1, -2, -42, 31, 8)
SHAPES = ((), (1,), (5,), (2, 3))
SHAPE = (2, 3)
# One shape of an even number of words, and one of an odd: the old layout treats them differently.
DRAWN = (SHAPE, (5,))


def plain(x: Any) -> np.ndarray:
    """Return an array that npz files know."""
    found = np.asarray(x)
    return found.view(np.uint16) if found.dtype.name == "bfloat16" else found


def draw(jax: Any, name: str, dtype: str, shape: tuple[int, ...] = SHAPE, seed: int = 42) -> Any:
    """Draw from a distribution of the table, in 64-bit mode where the dtype needs it."""
    with jax.enable_x64(dtype.endswith(("64", "128")) and dtype != "complex64"):
        return np.asarray(ROWS[name].draw(jax.random, jax.random.key(seed), shape, dtype))


def draws(jax: Any, name: str, dtype: str, layout: str) -> np.ndarray:
    """Draw both shapes with all seeds, in the "new" or "old" layout of counters: (20 n)."""
    with jax.threefry_partitionable(layout == "new"):
        found = [draw(jax, name, dtype, shape, seed) for shape in DRAWN for seed in SEEDS]
    return np.concatenate([x.ravel() for x in found])


def cases() -> list[tuple[str, str, str]]:
    """Return (name, dtype, layout) of all draws that are kept."""
    return [(*case, layout) for row in ROWS.values() for case in row.cases() for layout in LAYOUTS]


def streams(jax: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (name, words or numbers) of all seeds, per layout, operation and dtype."""
    random = jax.random
    operations = {
        **{f"bits-{d}": lambda k, s, d=d: random.bits(k, s, d) for d in INTS if d[0] == "u"},
        **{f"uniform-{d}": lambda k, s, d=d: random.uniform(k, s, d) for d in FLOATS},
        **{f"normal-{d}": lambda k, s, d=d: random.normal(k, s, d) for d in FLOATS},
        **{f"randint-{d}": lambda k, s, d=d: random.randint(k, s, 2, 99, d) for d in INTS},
        "split": lambda k, s: random.key_data(random.split(k, s or (1,))),
        "fold_in": lambda k, s: random.key_data(random.fold_in(k, len(s))),
    }
    for layout in (True, False):
        with jax.threefry_partitionable(layout):
            for name, operation in operations.items():
                with jax.enable_x64(name.endswith("64")):
                    found = [operation(random.key(n), s) for n in SEEDS for s in SHAPES]
                    words = [plain(x).ravel() for x in found]
                yield f"{name}-{'new' if layout else 'old'}", np.concatenate(words)


def main() -> None:
    """Write both files."""
    jax = importlib.import_module("jax")
    np.savez_compressed(STREAMS, **dict(streams(jax)))
    kept = {"-".join(case): plain(draws(jax, *case)) for case in cases()}
    np.savez_compressed(DRAWS, **kept)


if __name__ == "__main__":
    main()
