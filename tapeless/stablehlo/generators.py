"""Random bits from a state: `rng_bit_generator`, as XLA has it on a CPU.

The state is two words of 64 bits, a key and a counter; both are read as pairs of 32-bit words, the
low one first.

    THREE_FRY           Threefry2x32: a counter makes two words
    PHILOX, DEFAULT     Philox4x32, ten rounds (Salmon et al., "Parallel random numbers: as easy as
                        1, 2, 3", 2011); a block is counter and key, and makes four words

Words follow each other; elements of 64 bits take two, narrow ones a part of one.  The new state has
the counter moved on by the number of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tapeless import dtypes, lax
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.prims.threefry import U32, U64, ValueWords, threefry
from tapeless.stablehlo.calls import Call, Rules

__all__ = ["RULES"]

# From the paper: multipliers of the two halves, and what is added to the key in each round.
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


def _halves(x: Value) -> tuple[Value, Value]:
    """x: uint64 -> the low words, the high words."""
    shift = lax.full_like(x, 32)
    high = lax.shift_right_logical(x, shift)
    return lax.convert_element_type(x, U32), lax.convert_element_type(high, U32)


def _philox(counter: Sequence[Value], key: Sequence[Value]) -> list[Value]:
    """counter: four words, key: two -> four words; arrays of one shape."""
    a, b, c, d = counter
    for number in range(_ROUNDS):
        first, second = (
            _product(x, m)
            for x, m in zip(
                (a, c),
                _MULTIPLIERS,
                strict=True,
            )
        )
        bumped = [_bumped(x, w, number) for x, w in zip(key, _WEYL, strict=True)]
        a, c = (
            lax.bitwise_xor(lax.bitwise_xor(second[1], b), bumped[0]),
            lax.bitwise_xor(lax.bitwise_xor(first[1], d), bumped[1]),
        )
        b, d = second[0], first[0]
    return [a, b, c, d]


def _product(x: Value, multiplier: int) -> tuple[Value, Value]:
    """Return the low and the high word of a product."""
    wide = lax.convert_element_type(x, U64)
    return _halves(lax.mul(wide, lax.full_like(wide, np.uint64(multiplier))))


def _bumped(key: Value, weyl: int, number: int) -> Value:
    """Return a word of the key of a round."""
    return lax.add(key, lax.full_like(key, np.uint32(weyl * number & 0xFFFFFFFF)))


def _blocks(state: Value, n: int) -> tuple[tuple[Value, Value], tuple[Value, Value]]:
    """state: (2) -> the words of the counters of n blocks, and of the key, (n) each."""
    first = lax.slice(state, (1,), (2,))
    counts = lax.add(
        lax.iota(U64, n),
        lax.broadcast_in_dim(first, (n,), (0,)),
    )
    key = lax.broadcast_in_dim(
        lax.slice(state, (0,), (1,)),
        (n,),
        (0,),
    )
    return _halves(counts), _halves(key)


def _words(
    state: Value,
    n: int,
    algorithm: str,
) -> tuple[Value, int]:
    """Return n words, and how many blocks they are taken from."""
    size = 2 if algorithm == "THREE_FRY" else 4
    n_blocks = -(-n // size)
    counter, key = _blocks(state, n_blocks)
    if size == 2:
        words: Sequence[Value] = threefry(ValueWords, key, counter)
    else:
        words = _philox((*counter, *key), key)
    columns = [lax.reshape(word, (n_blocks, 1)) for word in words]
    joined = lax.reshape(lax.concatenate(columns, 1), (n_blocks * size,))
    return lax.slice(joined, (0,), (n,)), n_blocks


def _rng_bit_generator(call: Call, state: Value) -> list[Value]:
    """state: (2), uint64 -> the next state, random bits of the second result's type."""
    if len(call.outs) != 2 or typeof(state).shape != (2,) or typeof(state).dtype != U64:
        call.refuse("the state must be two words of 64 bits")
    algorithm = call.word("rng_algorithm", "DEFAULT")
    if algorithm not in ("DEFAULT", "PHILOX", "THREE_FRY"):
        call.fail(f"unknown algorithm {algorithm}")
    out = call.outs[1]
    bits = dtypes.itemsize_bits(out.dtype)
    count = math.prod(out.shape)
    words, n_blocks = _words(state, count * (2 if bits == 64 else 1), algorithm)
    if bits == 64:
        words = lax.bitcast_convert_type(lax.reshape(words, (count, 2)), U64)
    kind = np.dtype(f"uint{bits}")
    elements = lax.convert_element_type(words, kind)
    elements = lax.bitcast_convert_type(lax.reshape(elements, out.shape), out.dtype)
    step = lax.mul(lax.iota(U64, 2), np.uint64(n_blocks))
    return [lax.add(state, step), elements]


def _rng(call: Call, *operands: Value) -> Value:
    """Refuse: the values would depend on a hidden state."""
    call.refuse("numbers from a hidden state cannot be repeated; use rng_bit_generator")


RULES: Rules = {"stablehlo.rng_bit_generator": _rng_bit_generator, "stablehlo.rng": _rng}
