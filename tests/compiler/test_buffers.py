"""The buffer plan: lives, offsets, and the numbers that a user is told."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tapeless.compiler.buffers import assemble, describe, memory
from tapeless.core.aval import ShapedArray
from tapeless.kernel.build import KernelBuilder, KernelValue
from tests.compiler.programs import F32, aval, bind, exp, lowered, product, scan


def chain(b: KernelBuilder, x: KernelValue, length: int) -> list[KernelValue]:
    """Store x reversed, that reversed, and so on: each value lives until the next one is made."""
    values = [x]
    for _ in range(length):
        last = values[-1]
        n = last.shape[0]

        def pull(index: tuple, last: KernelValue = last, n: int = n) -> object:
            """Return the mirrored element."""
            return last.at(b.iadd(n - 1, b.imul(index[0], -1)))

        values.append(b.stored(b.virtual(last.aval, pull)))
    return values


def test_values_that_are_not_live_together_share_memory() -> None:
    b = KernelBuilder()
    x = b.buffer(ShapedArray((100,), F32))
    chain(b, x, 10)
    program = assemble("test", (x.buffer,), (), b.finish())
    assert program.arena_size == 2 * 448
    assert {offset for _, offset in program.temps} == {0, 448}


def test_values_that_are_live_together_do_not_overlap() -> None:
    rng = np.random.default_rng(0)
    b = KernelBuilder()
    start = b.buffer(ShapedArray((int(rng.integers(20, 90)),), F32))
    uses: list[tuple[int, int, int, int]] = []
    values = [start]
    for _ in range(40):
        older = values[rng.integers(max(0, len(values) - 6), len(values))]
        value = b.virtual(
            ShapedArray((int(rng.integers(20, 90)),), F32), lambda i, older=older: older.at(3)
        )
        values.append(b.stored(value))
        b.flush()
    program = assemble("test", (start.buffer,), (), b.finish())
    order = {buffer: n for n, buffer in enumerate(v.buffer for v in values)}
    last = dict(order)
    for statement in program.body:
        store = statement.body[0]
        last[store.value.buffer] = max(last[store.value.buffer], order[store.buffer])
    for buffer, offset in program.temps:
        assert offset % 64 == 0
        uses.append((order[buffer], last[buffer], offset, offset + 4 * buffer.size))
    for one, two in itertools.combinations(uses, 2):
        if one[0] <= two[1] and two[0] <= one[1]:
            assert one[3] <= two[2] or two[3] <= one[2]


def test_a_value_from_outside_a_loop_is_live_during_all_of_it() -> None:
    b = KernelBuilder()
    outside = b.buffer(ShapedArray((100,), F32))
    result = b.buffer(ShapedArray((100,), F32))

    def body(i: object) -> None:
        """Read the value early; make others later."""
        b.assign(result, outside)
        chain(b, result, 3)

    b.store(outside, 0, 1.0)
    b.loop(5, body, False)
    program = assemble("test", (result.buffer,), (), b.finish())
    offsets = dict(program.temps)
    others = [offset for buffer, offset in offsets.items() if buffer is not outside.buffer]
    assert offsets[outside.buffer] not in others
    assert len(set(others)) == 2


def test_branches_count_like_a_sequence() -> None:
    b = KernelBuilder()
    x = b.buffer(ShapedArray((100,), F32))
    which = b.const(1, np.dtype(np.int32))
    b.switch(which, [lambda: chain(b, x, 2), lambda: chain(b, x, 2)])
    assert assemble("test", (x.buffer,), (), b.finish()).arena_size == 2 * 448


def test_the_numbers_of_a_program() -> None:
    program = lowered(lambda x, y: (product(exp(x), y),), aval(64, 64), aval(64, 64))
    found = memory(program)
    size = 4 * 64 * 64
    assert (found.argument, found.output, found.temp, found.alias) == (2 * size, size, size, 0)


def test_a_donated_input_counts_as_alias() -> None:
    def function(x: object) -> tuple:
        """Set an element."""
        return (bind("dynamic_update_slice", x, np.ones(1, F32), np.int32(3)),)

    donated = memory(lowered(function, aval(100), donated=(True,)))
    kept = memory(lowered(function, aval(100)))
    assert (donated.alias, donated.output) == (400, 0)
    assert (kept.alias, kept.output) == (0, 400)


@pytest.mark.parametrize("length", [3, 300])
def test_temporaries_of_a_loop_do_not_grow_with_its_length(length: int) -> None:
    def body(c: object, x: object) -> tuple:
        """Use a product as a temporary."""
        return (product(exp(product(c, x)), x),)

    def function(c: object, xs: object) -> tuple:
        """Scan."""
        return tuple(scan(body, (), (c,), (xs,), length))

    assert memory(lowered(function, aval(64, 64), aval(length, 64, 64))).temp <= 3 * 4 * 64 * 64


def test_the_plan_is_printed() -> None:
    program = lowered(lambda x, y: (exp(product(exp(x), y)),), aval(64, 64), aval(64, 64))
    text = describe(program, {})
    assert text.splitlines()[0] == f"arena: {program.arena_size} bytes"
    assert "float32[64,64], 16384 bytes" in text
