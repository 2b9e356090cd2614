"""The hashes give the known answers of the Random123 distribution (its file kat_vectors)."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import threefry

PI = (
    *(0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
    *(0xA4093822, 0x299F31D0, 0x082EFA98, 0xEC4E6C89),
)
ONES = (0xFFFFFFFF,) * 8
ZEROS = (0,) * 8
# Hash, words of a counter, words of a key, and answers for counter and key of zeros, ones and pi.
KNOWN = [
    ("threefry", 2, 2, ZEROS, "6b200159 99ba4efe"),
    ("threefry", 2, 2, ONES, "1cb996fc bb002be7"),
    ("threefry", 2, 2, PI, "c4923a9c 483df7a0"),
    ("threefry4", 4, 4, ZEROS, "9c6ca96a e17eae66 fc10ecd4 5256a7d8"),
    ("threefry4", 4, 4, ONES, "2a881696 57012287 f6c7446e a16a6732"),
    ("threefry4", 4, 4, PI, "59cd1dbb b8879579 86b5d00c ac8b6d84"),
    ("philox2", 2, 1, ZEROS, "ff1dae59 6cd10df2"),
    ("philox2", 2, 1, ONES, "2c3f628b ab4fd7ad"),
    ("philox2", 2, 1, PI, "dd7ce038 f62a4c12"),
    ("philox4", 4, 2, ZEROS, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("philox4", 4, 2, ONES, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("philox4", 4, 2, PI, "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def in_numpy(name, key, count):
    """Hash arrays of NumPy."""
    with np.errstate(over="ignore"):
        return getattr(threefry, name)(threefry.NumpyWords, key, count)


@functools.partial(jax.jit, static_argnums=0)
def in_a_program(name, key, count):
    """Hash values of a program."""
    with jax.enable_x64(True):
        return getattr(threefry, name)(threefry.ValueWords, key, count)


@pytest.mark.parametrize("run", [in_numpy, in_a_program])
@pytest.mark.parametrize(("name", "n_count", "n_key", "words", "answer"), KNOWN)
def test_hashes_give_the_published_answers(run, name, n_count, n_key, words, answer):
    given = [np.array([word], np.uint32) for word in words]
    found = run(name, given[n_count : n_count + n_key], given[:n_count])
    assert " ".join(f"{int(np.asarray(word)[0]):08x}" for word in found) == answer
