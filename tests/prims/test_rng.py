"""Bits by the state of a generator: known answers, and JAX's."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tests.parity.expressions import check_value
from tests.support.harness import laws
from tests.support.records import Record, bits

STATE = np.array([1, 2, 3, 4], np.uint32)
ROWS = np.arange(12, dtype=np.uint32).reshape(3, 4)


def philox(state):
    """Draw 8 words by 10 rounds of philox4x32, as published by Salmon and others (2011)."""
    words = []
    for block in range(2):
        low, high = map(int, state[:2])
        count = int(state[2]) + (int(state[3]) << 32) + block
        a, b, c, d = count & 0xFFFFFFFF, count >> 32 & 0xFFFFFFFF, low, high
        for _ in range(10):
            first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
            a, c = second >> 32 ^ b ^ low, first >> 32 ^ d ^ high
            b, d = second & 0xFFFFFFFF, first & 0xFFFFFFFF
            low, high = low + 0x9E3779B9 & 0xFFFFFFFF, high + 0xBB67AE85 & 0xFFFFFFFF
        words += [a, b, c, d]
    count = int(state[2]) + (int(state[3]) << 32) + 2
    moved = [*map(int, state[:2]), count & 0xFFFFFFFF, count >> 32 & 0xFFFFFFFF]
    return np.array(moved, np.uint32), np.array(words, np.uint32)


RECORDS = [
    Record(
        "rng_bit_generator",
        lambda state: lax.rng_bit_generator(state, (8,)),
        (bits(4),),
        ("uint32",),
        dict.fromkeys(("jvp", "transpose", "second"), "integers have no tangents")
        | {
            "empty": "a state has four words",
            "vmap": "the state of the first row draws for all, in JAX too",
        },
        reference=philox,
    )
]
globals().update(laws(RECORDS))


def test_states_follow_each_other():
    """Bits drawn in two parts of whole blocks are bits drawn at once."""
    _, whole = lax.rng_bit_generator(STATE, (16,))
    middle, first = lax.rng_bit_generator(STATE, (8,))
    _, second = lax.rng_bit_generator(middle, (8,))
    np.testing.assert_array_equal(np.concatenate([first, second]), whole)
    assert len(set(whole.tolist())) == 16


def test_in_programs():
    state, bits = jax.jit(lambda s: lax.rng_bit_generator(s, (2, 3)))(STATE)
    expected = lax.rng_bit_generator(STATE, (2, 3))
    np.testing.assert_array_equal(state, expected[0])
    np.testing.assert_array_equal(bits, expected[1])


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match=r"needs a state of type uint32\[4\], got uint32\[2\]"):
        lax.rng_bit_generator(STATE[:2], (3,))
    with pytest.raises(ValueError, match="3 is not a valid RandomAlgorithm"):
        lax.rng_bit_generator(STATE, (3,), algorithm=3)


def test_threefry_numbers_its_blocks():
    """Words of neighbouring blocks are neighbours, and the state counts the blocks."""
    state, words = lax.rng_bit_generator(STATE, (6,), algorithm=1)
    np.testing.assert_array_equal(state, [1, 2, 6, 4])
    later = np.array([1, 2, 4, 4], np.uint32)
    np.testing.assert_array_equal(lax.rng_bit_generator(later, (4,), algorithm=1)[1], words[2:])


VALUES = [
    "jax.lax.rng_bit_generator(s, (3,))",
    "jax.lax.rng_bit_generator(s, (5, 2))",
    "jax.lax.rng_bit_generator(s, (9,), dtype=np.uint16)",
    "jax.lax.rng_bit_generator(s, (3,), dtype=np.uint8)",
    "jax.lax.rng_bit_generator(s, (3,), np.uint32, jax.lax.RandomAlgorithm.RNG_PHILOX)",
    "jax.lax.rng_bit_generator(np.array([1, 2, 2**32 - 1, 4], np.uint32), (5,))",
    "jax.lax.rng_bit_generator(s, (0,))",
    "jax.vmap(lambda k: jax.lax.rng_bit_generator(k, (2,)))(rows)",
    "jax.vmap(lambda k: jax.lax.rng_bit_generator(k, (3,), dtype=np.uint16), 1)(rows.T)",
    "jax.vmap(jax.vmap(lambda k: jax.lax.rng_bit_generator(k, (2,))), 1)(np.stack([rows, rows]))",
    "jax.lax.rng_bit_generator(s, (3,), dtype=np.float32)",
    *(
        f"jax.lax.rng_bit_generator({arguments}, algorithm=jax.lax.RandomAlgorithm.RNG_THREE_FRY)"
        for arguments in (
            *("s, ()", "s, (4,)", "s, (7,)", "s, (3, 3)", "s, (2, 5)", "s, (3, 5)", "s, (3, 4, 2)"),
            *("s, (0, 5)", "s, (3, 3), np.uint16", "s, (5,), np.uint8"),
            "np.array([1, 2, 2**32 - 1, 4], np.uint32), (3, 5)",
        )
    ),
    "[int(a) for a in jax.lax.RandomAlgorithm]",
]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.oracle
@pytest.mark.parametrize("text", VALUES)
def test_result_is_jaxs(oracle, text):
    check_value(jax, oracle, text, {"s": STATE, "rows": ROWS})


@pytest.mark.oracle
def test_wide_bits_are_jaxs(oracle):
    with jax.enable_x64(True), oracle.enable_x64(True):
        check_value(jax, oracle, "jax.lax.rng_bit_generator(s, (5,), np.uint64)", {"s": STATE})
        names = {"s": STATE, "wide": np.array([1, 2], np.uint64)}
        for algorithm in (1, 2):
            for arguments in ("s, (3, 2), np.uint64", "wide, (5,)", "wide, (3,), np.uint64"):
                text = f"jax.lax.rng_bit_generator({arguments}, algorithm={algorithm})"
                check_value(jax, oracle, text, names)
