"""The kernel builder: fusion by pulling, nests, reductions, carries, memory hazards.

The programs are read as text (`listing`), which is what a reader of `TAPELESS_SHOW=kernels` sees.
"""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.core.aval import ShapedArray
from tapeless.dtypes import key_dtype
from tapeless.kernel.build import KernelBuilder, KernelValue
from tapeless.kernel.graph import loads_in
from tapeless.kernel.ir import Loop, Op, Reduce, Store
from tapeless.kernel.parts import Pair, Parts
from tapeless.kernel.pprint import listing

F32 = np.dtype(np.float32)


def given(b: KernelBuilder, *shape: int, dtype: object = F32) -> KernelValue:
    """Return an input."""
    aval = ShapedArray(shape, dtype)
    return KernelValue(b, aval, buffer=b.new_buffer(aval, "input"))


def doubled(b: KernelBuilder, x: KernelValue) -> KernelValue:
    """Return 2 x."""
    return b.virtual(x.aval, lambda index: b.mul(x.at(*index), 2.0))


def summed(b: KernelBuilder, x: KernelValue) -> KernelValue:
    """Return the sums over the last axis."""
    aval = x.aval.update(shape=x.shape[:-1])

    def pull(index: tuple) -> object:
        """Sum a row."""
        return b.fold(x.shape[-1:], lambda inner: x.at(*index, *inner), "add", 0)

    return b.virtual(aval, pull)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_few_extremes_are_compared_in_pairs(n: int) -> None:
    b = KernelBuilder()
    x = given(b, n)
    found = b.fold((n,), lambda index: x.at(*index), "max", x.at(0))

    def depth(node: object) -> int:
        """The number of comparisons that wait for each other."""
        return 1 + max(map(depth, node.args)) if isinstance(node, Op) else 0

    assert depth(found) <= 1 + (n - 1).bit_length()
    assert len(loads_in((found,))) == n


def test_a_chain_is_one_flat_loop() -> None:
    b = KernelBuilder()
    b.stored(doubled(b, doubled(b, given(b, 6, 7))))
    (loop,) = b.finish()
    assert (loop.extent, len(loop.body)) == (42, 1)


def test_siblings_share_a_nest_and_their_expressions() -> None:
    b = KernelBuilder()
    y = doubled(b, given(b, 40))
    b.stored(y)
    b.stored(doubled(b, y))
    (loop,) = b.finish()
    first, second = loop.body
    assert second.value.args[0] is first.value


def test_a_pull_at_another_index_closes_the_nest() -> None:
    b = KernelBuilder()
    y = b.stored(doubled(b, given(b, 40)))
    b.stored(b.virtual(y.aval, lambda index: y.at(b.iadd(39, b.imul(index[0], -1)))))
    first, second = b.finish()
    assert second.body[0].value.buffer is first.body[0].buffer


def test_a_broadcast_keeps_its_loops_apart() -> None:
    b = KernelBuilder()
    x, row = given(b, 4, 5, 6), given(b, 4)
    b.stored(b.virtual(x.aval, lambda i: b.add(x.at(*i), row.at(i[0]))))
    (loop,) = b.finish()
    assert (loop.extent, loop.body[0].extent) == (4, 30)


def test_a_sum_over_everything_is_one_loop() -> None:
    b = KernelBuilder()
    x = given(b, 5, 6, 7)
    total = b.fold(x.shape, lambda index: x.at(*index), "add", 0)
    assert (total.extent, total.var in total.elements[0].free) == (210, True)
    assert not any(isinstance(e, Reduce) for e in total.elements)


def test_a_sum_over_outer_and_inner_axes_is_nested() -> None:
    b = KernelBuilder()
    x = given(b, 20, 30, 40)
    j = b.index("j", 30)
    total = b.fold((20, 40), lambda index: x.at(index[0], j, index[1]), "add", 0)
    inner = total.elements[0]
    assert (total.extent, inner.extent) == (20, 40)
    assert total.free == {j}


def test_few_elements_are_summed_without_a_loop() -> None:
    b = KernelBuilder()
    x = given(b, 3)
    text = listing((Store(x.buffer, b.affine(0), summed(b, x).at()),))
    assert "add(" not in text
    assert text.count("+") == 3


def test_equal_sums_are_one_node() -> None:
    b = KernelBuilder()
    x = given(b, 50)
    assert summed(b, x).at() is summed(b, doubled_back(b, x)).at()


def doubled_back(b: KernelBuilder, x: KernelValue) -> KernelValue:
    """Return x by way of another virtual value."""
    return b.virtual(x.aval, lambda index: x.at(*index))


def test_sums_inside_sums_use_different_variables() -> None:
    b = KernelBuilder()
    x = given(b, 50, 50)
    total = summed(b, summed(b, x)).at()
    assert total.elements[0].var is not total.var


def test_reshape_of_virtual_is_affine_when_axes_match() -> None:
    b = KernelBuilder()
    y = b.reshape(doubled(b, given(b, 4, 6, 10)), ShapedArray((24, 10), F32))
    b.stored(y)
    (loop,) = b.finish()
    assert loop.extent == 240


def test_reshape_of_stored_is_a_view() -> None:
    b = KernelBuilder()
    x = given(b, 4, 6)
    assert b.reshape(x, ShapedArray((24,), F32)).buffer is x.buffer


def test_small_arrays_are_stored_element_by_element() -> None:
    b = KernelBuilder()
    b.stored(doubled(b, given(b, 3)))
    statements = b.finish()
    assert [type(s) for s in statements] == [Store] * 3
    assert all(s.buffer.space == "local" and not s.index.terms for s in statements)


def test_complex_elements_are_interleaved_pairs() -> None:
    b = KernelBuilder()
    x = given(b, 30, dtype=np.complex64)
    assert x.buffer.shape == (30, 2)
    product = b.mul(x.at(3), x.at(4))
    assert isinstance(product, Pair)
    assert [load.index.const for load in (*x.at(3),)] == [6, 7]
    assert b.abs(x.at(0)).dtype == F32


def test_keys_are_words() -> None:
    b = KernelBuilder()
    x = given(b, 30, dtype=key_dtype("threefry2x32", "fry", (2,)))
    assert type(x.at(2)) is Parts
    chosen = b.select(b.const(True, np.dtype(bool)), x.at(1), x.at(2))
    assert tuple(chosen) == tuple(x.at(1))


def test_loads_around_a_store_differ() -> None:
    b = KernelBuilder()
    y = b.buffer(ShapedArray((30,), F32))
    before = y.at(3)
    b.store(y, 3, 1.0)
    assert y.at(3) is not before
    assert y.at(3) is y.at(3)


def test_loads_before_and_inside_a_loop_differ() -> None:
    b = KernelBuilder()
    y = b.buffer(ShapedArray((30,), F32))
    outside, inside = y.at(3), []
    b.loop(5, lambda i: inside.append(y.at(3)))
    assert inside[0] is not outside


def carried(b: KernelBuilder, init: list, body: object) -> str:
    """Return the text of a loop over carries; `body` gives the new values from the old ones."""
    carries = b.carries(init)
    b.loop(9, lambda i: b.update_carries(carries, body(*b.read_carries(carries))), False)
    loop = next(s for s in b.finish() if isinstance(s, Loop) and not s.independent)
    return listing((loop,))


def test_scalar_carries_are_evaluated_before_they_are_stored() -> None:
    b = KernelBuilder()
    one = ShapedArray((), F32)
    init = [b.constant(0.0, one), b.constant(1.0, one)]
    text = carried(b, init, lambda x, y: [y, b.virtual(one, lambda i: b.add(x.at(), y.at()))])
    lines = [line.strip() for line in text.splitlines()[1:]]
    targets = [line[0] for line in lines if not line.startswith("%")]
    assert targets == ["x", "x", "l", "l"]


def test_a_large_carry_is_updated_in_place() -> None:
    b = KernelBuilder()
    text = carried(b, [given(b, 100)], lambda x: [doubled(b, x)])
    assert text.count("for") == 2
    assert "[i" in text.splitlines()[-1]


def test_a_shifted_carry_goes_through_a_temporary() -> None:
    b = KernelBuilder()

    def rolled(x: KernelValue) -> list[KernelValue]:
        """Reverse x."""
        return [b.virtual(x.aval, lambda i: x.at(b.iadd(99, b.imul(i[0], -1))))]

    text = carried(b, [given(b, 100)], rolled)
    assert text.count("for") == 3


def test_large_carries_are_stored_in_an_order_without_hazards() -> None:
    b = KernelBuilder()
    carries = b.carries([given(b, 100), given(b, 100)])

    def body(i: object) -> None:
        """Take over the second value, and change it."""
        x, y = b.read_carries(carries)
        b.update_carries(carries, [y, doubled(b, y)])

    b.loop(9, body, False)
    (nest,) = b.finish()[-1].body
    first, second = nest.body
    # The first carry takes the second one's old value, hence it is stored first.
    assert (first.buffer, second.buffer) == carries.buffers
    assert first.value.buffer is second.buffer


def test_a_swap_of_large_carries_needs_one_copy() -> None:
    b = KernelBuilder()
    text = carried(b, [given(b, 100), given(b, 100)], lambda x, y: [y, x])
    assert len([line for line in text.splitlines() if "] = " in line]) == 3


def test_what_reads_itself_elsewhere_and_another_carry_is_the_one_that_is_copied() -> None:
    b = KernelBuilder()

    def new(x: KernelValue, y: KernelValue) -> list[KernelValue]:
        """Double x; add x to y reversed."""

        def pull(index: tuple) -> object:
            """Add two elements."""
            (i,) = index
            return b.add(x.at(i), y.at(b.index_add(99, b.index_mul(i, -1))))

        return [doubled(b, x), b.virtual(y.aval, pull)]

    text = carried(b, [given(b, 100), given(b, 100)], new)
    assert len([line for line in text.splitlines() if "] = " in line]) == 3


def test_rows_that_are_stored_are_read_back() -> None:
    b = KernelBuilder()
    x, ys = given(b, 50), b.buffer(ShapedArray((9, 50), F32))
    row = doubled(b, x)
    b.loop(9, lambda i: b.assign_row(ys, i, row))
    assert row.at(3).buffer is ys.buffer


def test_a_wrong_number_of_indices_is_an_internal_error() -> None:
    b = KernelBuilder()
    with pytest.raises(TypeError, match="bug in tapeless"):
        given(b, 3, 4).at(0)


def test_overwritten_memory_is_not_read_again() -> None:
    class Greedy(KernelBuilder):
        """Thinks that everything may be overwritten."""

        def may_overwrite(self, value: KernelValue) -> bool:
            """Say yes."""
            return True

    b = Greedy()
    x = b.stored(doubled(b, given(b, 100)))
    y = b.writable(x)
    assert y.buffer.space == "temp"
    with pytest.raises(ValueError, match="reused"):
        x.at(0)
