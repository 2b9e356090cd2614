"""Random bits are bit for bit those of threefry2x32 with JAX's layout of counters."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless.prims import bits
from tests.support.harness import laws
from tests.support.records import Record
from tests.support.records import bits as words_of

FRY = bits.threefry_prng_impl
WORDS = ("uint32",)
INTEGERS = dict.fromkeys(("jvp", "transpose", "second"), "integers have no tangents")
WHOLE = INTEGERS | {"empty": "a key has two words"}


def threefry(key, high, low):
    """Hash counters by 20 rounds of threefry2x32, as published by Salmon and others (2011)."""
    with np.errstate(over="ignore"):
        keys = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
        x, y = high + keys[0], low + keys[1]
        for group in range(5):
            for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
                x = x + y
                y = (y << np.uint32(turn) | y >> np.uint32(32 - turn)) ^ x
            x = x + keys[(group + 1) % 3]
            y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def hashed(key, *low):
    """Hash counters whose high word is zero; the two words of each."""
    count = np.asarray(low, np.uint32)
    return threefry(key, np.zeros_like(count), count)


def of_key(function):
    """Return a function of keys as one of their words."""
    return lambda words: function(bits.random_wrap(words, impl=FRY))


RECORDS = [
    Record("threefry2x32", bits.threefry2x32_p.bind, (words_of(3),) * 4, WORDS, INTEGERS,
           reference=lambda a, b, c, d: threefry((a, b), c, d)),
    Record("random_bits", of_key(lambda key: bits.random_bits(key, 32, (3,))), (words_of(2),),
           WORDS, WHOLE, reference=lambda key: np.bitwise_xor(*hashed(key, 0, 1, 2))),
    Record("random_split", of_key(lambda key: bits.random_unwrap(bits.random_split(key, (3,)))),
           (words_of(2),), WORDS, WHOLE,
           reference=lambda key: np.stack(hashed(key, 0, 1, 2), -1)),
    Record("random_fold_in",
           lambda words, n: bits.random_unwrap(
               bits.random_fold_in(bits.random_wrap(words, impl=FRY), n)),
           (words_of(2), words_of()), WORDS, WHOLE,
           reference=lambda key, n: np.concatenate(hashed(key, n))),
    Record("random_clone", of_key(lambda key: bits.random_unwrap(bits.random_clone(key))),
           (words_of(2),), WORDS, WHOLE, reference=lambda key: key),
    Record("random_seed", lambda n: bits.random_unwrap(bits.random_seed(n, FRY)), (words_of(),),
           WORDS, INTEGERS, reference=lambda n: np.array([0, n], np.uint32)),
]  # fmt: skip
globals().update(laws(RECORDS))


def key(seed: int) -> object:
    """Return the key of a seed."""
    return bits.random_seed(seed, FRY)


@pytest.mark.parametrize(
    ("words", "count", "expected"),
    [
        # The known answers of the Random123 distribution.
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
        (
            (0x13198A2E, 0x03707344),
            (0x243F6A88, 0x85A308D3),
            (0xC4923A9C, 0x483DF7A0),
        ),
    ],
)
def test_threefry_gives_the_published_answers(words, count, expected):
    found = bits.threefry2x32_p.bind(*map(np.uint32, (*words, *count)))
    assert tuple(map(int, found)) == expected


@pytest.mark.parametrize(
    ("width", "shape", "expected"),
    [
        (32, (3,), [2098992034, 2919706841, 2646866425]),
        (8, (2, 3), [[162, 217, 249], [215, 21, 216]]),
    ],
)
def test_bits_of_a_key_are_jaxs(width, shape, expected):
    np.testing.assert_array_equal(expected, bits.random_bits(key(42), width, shape))


def test_children_of_a_key_are_jaxs():
    split = bits.random_unwrap(bits.random_split(key(42), (2,)))
    expected = [[1832780943, 270669613], [64467757, 2916123636]]
    np.testing.assert_array_equal(expected, split)
    folded = bits.random_unwrap(bits.random_fold_in(key(42), 7))
    np.testing.assert_array_equal([2547012911, 1371500959], folded)


@pytest.mark.parametrize(("seed", "words"), [(0, (0, 0)), (42, (0, 42)), (-1, (0, 2**32 - 1))])
def test_words_of_a_seed(seed, words):
    np.testing.assert_array_equal(words, bits.random_unwrap(key(seed)))


def test_compiled_bits_are_the_references():
    words = np.arange(10, dtype=np.uint32).reshape(5, 2)
    keys = bits.random_wrap(words, impl=FRY)
    for width in (8, 16, 32):
        (expected,) = bits.random_bits_p.reference(words, bit_width=width, shape=(2, 7))
        found = jax.jit(lambda k, width=width: bits.random_bits(k, width, (2, 7)))(keys)
        np.testing.assert_array_equal(expected, found)


def test_programs_print_as_jaxs():
    f = jax.make_jaxpr(lambda k: bits.random_bits(bits.random_fold_in(k, 3), 32, (3,)))
    text = str(f(key(0)))
    assert "{ lambda ; a:key<fry>[]. let" in text
    assert "b:key<fry>[] = random_fold_in a 3:u32[]" in text
    assert "c:u32[3] = random_bits[bit_width=32 shape=(3,)] b" in text


def test_a_batch_of_keys_stays_in_front():
    keys = bits.random_split(key(0), (5,))
    text = str(jax.make_jaxpr(jax.vmap(lambda k: bits.random_split(k, (3,))))(keys))
    assert "b:key<fry>[5,3] = random_split[shape=(3,)] a" in text
    folded = jax.vmap(lambda i: bits.random_fold_in(key(1), i))(np.arange(4))
    rows = [bits.random_unwrap(bits.random_fold_in(key(1), i)) for i in range(4)]
    np.testing.assert_array_equal(
        np.stack([np.asarray(r) for r in rows]), bits.random_unwrap(folded)
    )


def test_wrong_words_are_refused():
    with pytest.raises(TypeError, match="expected key_data.shape to end with"):
        bits.random_wrap(np.zeros(3, np.uint32), impl=FRY)
    with pytest.raises(TypeError, match="requires 8-, 16-, 32- or 64-bit field width"):
        bits.random_bits(key(0), 24, (3,))


def test_words_of_a_short_stream_are_counted_in_32_bits():
    # a counter of 64 bits would halve the lanes of whatever consumes the words
    drawn = jax.jit(lambda k: jax.random.uniform(k, (100,))).lower(jax.random.key(0)).compile()
    assert "uint64" not in drawn.as_text()
