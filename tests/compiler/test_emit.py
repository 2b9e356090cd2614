"""Loops, branches and calls: what the statements of a program do, against NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tapeless.compiler.plan import Costs
from tapeless.compiler.target import host_target, named_target
from tapeless.kernel.ir import Call, Const, If, Loop, Store, While
from tests.compiler.native import F32, F64, I32, I64, Work

named = pytest.mark.parametrize
DTYPES = [np.dtype(t) for t in ("?", "i1", "i2", "i4", "i8", "u1", "u4", "f2", "f4", "f8")]


def numbers(*shape: int, dtype: np.dtype = F32, seed: int = 0) -> np.ndarray:
    """Random numbers, small enough to add up exactly when they are integers."""
    random = np.random.default_rng(seed)
    if dtype.kind == "f":
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2 if dtype.kind == "b" else 50, shape).astype(dtype)


def copy_loop(work: Work, source: np.ndarray, step: int, start: int, length: int) -> None:
    """Write a strided part of `source` to a new output."""
    x, i = work.input(source), work.index("i", length)
    y = work.output((length,), source.dtype)
    value = work.load(x, work.index_add(work.index_mul(i, step), start))
    work.body.append(Loop(i, length, (work.put(y, (i,), value),)))


@named("dtype", DTYPES, ids=str)
def test_every_length_is_copied_and_nothing_else_is_touched(dtype: np.dtype) -> None:
    lanes = host_target().vector_bytes // dtype.itemsize
    lengths = (
        range(2 * lanes + 2) if dtype.itemsize >= 4 else (0, 1, 3, lanes - 1, lanes, lanes + 1)
    )
    for length in lengths:
        work = Work()
        source = numbers(length, dtype=dtype)
        x, i = work.input(source), work.index("i", length)
        y = work.output((length + 3,), dtype, 1)
        work.body.append(Loop(i, length, (work.put(y, (work.index_add(i, 1),), work.get(x, i)),)))
        (result,) = work.run()
        expected = np.ones(length + 3, dtype)
        expected[1 : length + 1] = source
        np.testing.assert_array_equal(result, expected)


@named("step", [1, -1, 2, 3, -2, 5, 0])
@named("length", [1, 4, 7, 16, 33, 200])
def test_strided_reads(step: int, length: int) -> None:
    for dtype in (F32, F64, np.dtype(np.int8)):
        work = Work()
        size = abs(step) * length + 4
        start = size - 1 if step < 0 else 2
        source = numbers(size, dtype=dtype)
        copy_loop(work, source, step, start, length)
        np.testing.assert_array_equal(work.run()[0], source[start + step * np.arange(length)])


@named("step", [1, -1, 2, -3])
@named("length", [1, 5, 16, 33, 130])
def test_strided_writes(step: int, length: int) -> None:
    work = Work()
    source = numbers(length)
    size = abs(step) * length
    start = size - 1 if step < 0 else 0
    x, i = work.input(source), work.index("i", length)
    y = work.output((size,), F32, -1)
    place = work.index_add(work.index_mul(i, step), start)
    work.body.append(Loop(i, length, (Store(y, place, work.get(x, i)),)))
    expected = np.full(size, -1, F32)
    expected[start + step * np.arange(length)] = source
    np.testing.assert_array_equal(work.run()[0], expected)


@named("length", [3, 16, 50])
def test_gather_and_scatter_by_computed_indices(length: int) -> None:
    work = Work()
    order = np.random.default_rng(1).permutation(length)
    source = numbers(length)
    x, p, i = work.input(source), work.input(order), work.index("i", length)
    y, z = work.output((length,), F32), work.output((length,), F32)
    pick = work.get(p, i)
    stores = (work.put(y, (i,), work.load(x, pick)), Store(z, work.affine(pick), work.get(x, i)))
    work.body.append(Loop(i, length, stores))
    gathered, scattered = work.run()
    np.testing.assert_array_equal(gathered, source[order])
    expected = np.empty_like(source)
    expected[order] = source
    np.testing.assert_array_equal(scattered, expected)


@named("length", [1, 6, 16, 37])
def test_guarded_loads_read_zero_and_touch_nothing(length: int) -> None:
    work = Work()
    source = numbers(length)
    x, i = work.input(source), work.index("i", length + 40)
    y = work.output((length + 40,), F32, -1)
    shifted = work.index_add(i, -20)
    inside = work.and_(work.ge(shifted, 0), work.lt(shifted, length))
    value = work.load(x, shifted, guard=inside)
    work.body.append(Loop(i, length + 40, (work.put(y, (i,), value),)))
    np.testing.assert_array_equal(work.run()[0], np.pad(source, 20))


@named("independent", [True, False])
def test_guarded_stores_leave_the_rest(independent: bool) -> None:
    work = Work()
    source = numbers(45)
    x, i = work.input(source), work.index("i", 45)
    y = work.output((45,), F32, 7)
    value = work.get(x, i)
    store = work.put(y, (i,), value, guard=work.gt(value, 0.0))
    work.body.append(Loop(i, 45, (store,), independent=independent))
    np.testing.assert_array_equal(work.run()[0], np.where(source > 0, source, 7))


@named("length", [16, 45])
def test_a_guard_of_all_lanes_is_a_branch_and_no_mask(length: int) -> None:
    work = Work()
    wanted, source = np.array([1, -1, 2], np.float32), numbers(3 * length).reshape(3, length)
    flags, x = work.input(wanted), work.input(source)
    i, j = work.index("i", 3), work.index("j", length)
    y = work.output((length,), F32, 7)
    guard = work.gt(work.get(flags, i), 0.0)
    store = work.put(y, (j,), work.get(x, i, j), guard=guard, accumulate="add")
    work.body.append(Loop(i, 3, (Loop(j, length, (store,)),), independent=False))
    if length == 16:
        assert "masked.store" not in work.emit(host_target()).text
    np.testing.assert_array_equal(work.run()[0], 7 + source[0] + source[2])


@named("length", [9, 23, 31, 32])
@named("in_place", [True, False])
def test_rows_in_place_end_without_a_masked_store(length: int, in_place: bool) -> None:
    """The next row's loads would wait for it; rows of another array do not."""
    work = Work()
    source = numbers(50 * length).reshape(50, length)
    x, i, j = work.input(source), work.index("i", 50), work.index("j", length)
    y = work.output((50, length), F32, 2)
    read = work.get(y if in_place else x, i, j)
    body = Loop(j, length, (work.put(y, (i, j), work.mul(read, work.get(x, i, j))),))
    work.body.append(Loop(i, 50, (body,), independent=False))
    has_mask = "masked.store" in work.emit(named_target("x86-64-v3")).text
    assert has_mask == (not in_place and length % 8 > 1)  # one element is a number
    expected = source * (F32.type(2) if in_place else source)
    np.testing.assert_array_equal(work.run()[0], expected)


def test_rows_in_place_end_so_whatever_is_computed_before_them() -> None:
    work = Work()
    scales = np.linspace(0.5, 1.5, 50, dtype=F32)
    z, i, j = work.input(scales), work.index("i", 50), work.index("j", 3)
    y = work.output((50, 3), F32, 2)
    scale = work.get(z, i)
    for _ in range(12):
        scale = work.sub(work.mul(scale, scale), 1.25)
    body = Loop(j, 3, (work.put(y, (i, j), work.mul(work.get(y, i, j), scale)),))
    work.body.append(Loop(i, 50, (body,), independent=False))
    assert "masked.store" not in work.emit(named_target("x86-64-v3")).text
    expected = scales
    for _ in range(12):
        expected = expected * expected - F32.type(1.25)
    np.testing.assert_allclose(work.run()[0], np.broadcast_to(2 * expected[:, None], (50, 3)))


@named("independent", [True, False])
@named("combine", ["add", "mul", "min", "max"])
def test_accumulating_stores(combine: str, independent: bool) -> None:
    functions = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    work = Work()
    source = numbers(37)
    x, i = work.input(source), work.index("i", 37)
    y = work.output((37,), F32, 0.5)
    store = work.put(y, (i,), work.get(x, i), accumulate=combine)
    work.body.append(Loop(i, 37, (store,), independent=independent))
    np.testing.assert_array_equal(work.run()[0], functions[combine](source, F32.type(0.5)))


def test_accumulating_into_one_element_keeps_every_iteration() -> None:
    work = Work()
    source = numbers(37, dtype=I32)
    x, i = work.input(source), work.index("i", 37)
    y = work.output((), I32, 5)
    store = work.put(y, (), work.get(x, i), accumulate="add")
    work.body.append(Loop(i, 37, (store,), independent=False))
    assert work.run()[0] == source.sum() + 5


@named("shape", [(3, 5), (4, 16), (7, 33), (20, 3), (1, 40)])
def test_nested_loops_broadcast_and_transpose(shape: tuple[int, int]) -> None:
    n, m = shape
    work = Work()
    a, b = numbers(n, m), numbers(m, seed=1)
    x, v = work.input(a), work.input(b)
    i, j = work.index("i", n), work.index("j", m)
    y, z = work.output((n, m), F32), work.output((m, n), F32)
    value = work.mul(work.get(x, i, j), work.get(v, j))
    body = (work.put(y, (i, j), value), work.put(z, (j, i), value))
    work.body.append(Loop(i, n, (Loop(j, m, body),)))
    product, transposed = work.run()
    np.testing.assert_array_equal(product, a * b)
    np.testing.assert_array_equal(transposed, (a * b).T)


@named("length", [3, 8, 9, 30])
@named("reverse", [False, True])
def test_a_recurrence_runs_in_order(reverse: bool, length: int) -> None:
    work = Work()
    source = numbers(length)
    x, i = work.input(source), work.index("i", length)
    state, zero = work.local((), F32), work.affine(0)
    y = work.output((length,), F32)
    total = work.add(work.mul(work.load(state, zero, after=1), 0.5), work.get(x, i))
    body = (Store(state, zero, total), work.put(y, (i,), work.load(state, zero, after=2)))
    work.body.append(Store(state, zero, work.const(0.0, F32)))
    work.body.append(Loop(i, length, body, independent=False, reverse=reverse))
    expected, total = np.zeros(length, F32), F32.type(0)
    for k in reversed(range(length)) if reverse else range(length):
        total = expected[k] = total * F32.type(0.5) + source[k]
    np.testing.assert_array_equal(work.run()[0], expected)


def test_a_value_is_that_of_the_moment_of_use() -> None:
    work = Work()
    state, zero = work.local((), I64), work.affine(0)
    y = work.output((3,), I64)
    read = work.load(state, zero)
    work.body += [
        Store(state, zero, work.const(4, I64)),
        work.put(y, (0,), read),
        Store(state, zero, work.add(read, 1)),
        work.put(y, (1,), read),
        If(work.const(1, I32), ((), (Store(state, zero, work.const(9, I64)),))),
        work.put(y, (2,), read),
    ]
    np.testing.assert_array_equal(work.run()[0], [4, 5, 9])


@named("extent", [0, 1, 7, 40])
def test_loops_of_computed_length(extent: int) -> None:
    work = Work()
    n, i = work.input(np.array(extent)), work.index("i")
    y = work.output((40,), I64, -1)
    body = (work.put(y, (i,), work.mul(i, 3)),)
    work.body.append(Loop(i, work.get(n), body))
    expected = np.full(40, -1)
    expected[:extent] = 3 * np.arange(extent)
    np.testing.assert_array_equal(work.run()[0], expected)


@named("which", [0, 1, 2])
def test_a_branch_is_chosen(which: int) -> None:
    work = Work()
    w = work.input(np.array(which, np.int32))
    y = work.output((3,), I32)
    branches = tuple((work.put(y, (n,), work.const(n + 10, I32)),) for n in range(3))
    work.body.append(If(work.get(w), branches))
    expected = np.zeros(3, np.int32)
    expected[which] = which + 10
    np.testing.assert_array_equal(work.run()[0], expected)


def collatz(work: Work, start: int) -> None:
    """Count the steps from `start` to 1."""
    n, steps, zero = work.local((), I64), work.local((), I64), work.affine(0)
    y = work.output((), I64)
    now = work.load(n, zero, after=1)
    half, odd = work.div(now, 2), work.add(work.mul(now, 3), 1)
    following = work.select(work.eq(work.and_(now, 1), 0), half, odd)
    work.body += [
        Store(n, zero, work.load(work.input(np.array(start)), zero)),
        Store(steps, zero, work.const(0, I64)),
        While(
            (),
            work.ne(now, 1),
            (
                Store(n, zero, following),
                Store(steps, zero, work.add(work.load(steps, zero, after=1), 1)),
            ),
        ),
        Store(y, zero, work.load(steps, zero, after=2)),
    ]


@named("start, steps", [(1, 0), (2, 1), (27, 111), (97, 118)])
def test_a_while_loop_may_run_zero_times_or_many(start: int, steps: int) -> None:
    work = Work()
    collatz(work, start)
    assert work.run()[0] == steps


def test_while_reads_what_its_body_wrote_and_keeps_invariants() -> None:
    work = Work()
    source = numbers(50)
    x, zero = work.input(source), work.affine(0)
    count, total, y = work.local((), I64), work.local((), F32), work.output((), F32)
    k = work.index("k", 50)
    everything = work.fold("max", work.get(x, k), k, 50, -np.inf)
    here = work.load(count, zero, after=1)
    element = work.load(x, here)
    work.body += [
        Store(count, zero, work.const(0, I64)),
        Store(total, zero, work.const(0.0, F32)),
        While(
            (),
            work.lt(here, 50),
            (
                Store(total, zero, work.add(work.load(total, zero), work.sub(element, everything))),
                Store(count, zero, work.add(here, 1)),
            ),
        ),
        Store(y, zero, work.load(total, zero, after=3)),
    ]
    expected = F32.type(0)
    for value in source:
        expected += value - source.max()
    assert work.run()[0] == expected


@named("effort", [0, 1])
def test_a_temporary_lives_in_the_arena(effort: int) -> None:
    work = Work()
    source = numbers(100)
    x, i, j = work.input(source), work.index("i", 100), work.index("j", 100)
    first, second = work.temp((100,), F32), work.temp((100,), F32)
    y = work.output((100,), F32)
    double = work.mul(work.get(x, i), 2.0)
    stores = (work.put(first, (i,), double), work.put(second, (i,), work.neg(double)))
    work.body.append(Loop(i, 100, stores))
    value = work.sub(
        work.get(first, j), work.load(second, work.index_add(work.index_mul(j, -1), 99))
    )
    work.body.append(Loop(j, 100, (work.put(y, (j,), value),)))
    np.testing.assert_array_equal(work.run(effort)[0], 2 * source + 2 * source[::-1])


def test_a_host_call_gets_its_arguments_and_may_fail() -> None:
    seen = []
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    )

    @kind
    def host(whole: int, part: int, number: int, value: float) -> int:
        seen.append((part - whole, number, value))
        return int(value > 2)

    for value, fails in ((1.5, False), (2.5, True)):
        work = Work()
        work.symbols["host:probe"] = ctypes.cast(host, ctypes.c_void_p).value
        y = work.output((4,), F64)
        args = (y, (y, work.affine(2)), work.const(7, I64), work.const(value, F64))
        work.body.append(Call("host:probe", args, (), (y,)))
        if fails:
            # A failure that left no exception is a signal whose handler raised before the callback.
            with pytest.raises(KeyboardInterrupt, match="as a callback began"):
                work.run()
        else:
            work.run()
    assert seen == [(16, 7, 1.5), (16, 7, 2.5)]


def test_blas_is_called_through_its_address() -> None:
    work = Work()
    x, y = work.input(numbers(5, dtype=F64)), work.output((5,), F64, 1.0)
    n, one, scale = work.local((), I32), work.local((), I32), work.local((), F64)
    zero = work.affine(0)
    work.body += [
        Store(n, zero, work.const(5, I32)),
        Store(one, zero, work.const(1, I32)),
        Store(scale, zero, work.const(3.0, F64)),
        Call("blas:daxpy", (n, scale, x, one, y, one), (n, scale, x, one), (y,)),
    ]
    np.testing.assert_allclose(work.run()[0], 3 * work.arrays[x] + 1)


def test_rare_lanes_take_the_slow_way() -> None:
    for source in (np.arange(40, dtype=F32), np.zeros(40, F32), np.full(40, 50, F32)):
        work = Work()
        x, i = work.input(source), work.index("i", 40)
        y = work.output((40,), F32)
        value = work.get(x, i)
        slow, fast = work.mul(value, 2.0), work.add(value, 1.0)
        chosen = work.rare(work.gt(value, 30.0), slow, fast)
        work.body.append(Loop(i, 40, (work.put(y, (i,), chosen),)))
        np.testing.assert_array_equal(work.run()[0], np.where(source > 30, source * 2, source + 1))


def test_loop_variables_are_values_too() -> None:
    for dtype in (np.dtype(np.int8), I32, np.dtype(np.uint32), I64, F32, F64):
        work = Work()
        i, j = work.index("i", 3), work.index("j", 45)
        y = work.output((3, 45), dtype)
        value = work.convert(work.at(y, i, j), dtype)
        work.body.append(Loop(i, 3, (Loop(j, 45, (work.put(y, (i, j), value),)),)))
        np.testing.assert_array_equal(work.run()[0].ravel(), np.arange(135).astype(dtype))


def test_a_long_chain_of_operations_needs_no_recursion() -> None:
    work = Work()
    x = work.input(np.array(1.0, F32))
    value = work.get(x)
    for _ in range(5000):
        value = work.add(value, 1.0)
    y = work.output((), F32)
    work.body.append(work.put(y, (), value))
    assert work.run(effort=0)[0] == 5001


def test_an_unbound_variable_is_reported() -> None:
    work = Work()
    y = work.output((3,), I64)
    work.body.append(work.put(y, (0,), work.affine(work.index("lost"))))
    with pytest.raises(ValueError, match="lost is not bound"):
        work.run()


def kitchen_sink(work: Work) -> list[np.ndarray]:
    """A program with most kinds of code; the results that NumPy gives."""
    a, b = numbers(6, 37), numbers(37, seed=2, dtype=np.dtype(np.float16))
    x, h = work.input(a), work.input(b)
    i, j, k = work.index("i", 6), work.index("j", 37), work.index("k", 37)
    y, z, s = work.output((6, 37), F32), work.output((37,), b.dtype), work.output((37,), F32)
    most = work.fold("max", work.get(x, i, k), k, 37, -np.inf)
    work.body.append(
        Loop(i, 6, (Loop(j, 37, (work.put(y, (i, j), work.sub(work.get(x, i, j), most)),)),))
    )
    half = work.get(h, j)
    work.body.append(Loop(j, 37, (work.put(z, (j,), work.add(half, half)),)))
    column = work.fold("add", work.get(x, i, j), i, 6, 0.0)
    guarded = work.load(x, work.index_mul(j, 2), guard=work.lt(j, 20))
    work.body.append(Loop(j, 37, (work.put(s, (j,), work.add(column, guarded)),)))
    total = np.zeros(37, F32)
    for row in a:
        total += row
    extra = np.where(np.arange(37) < 20, a.ravel()[2 * np.arange(37)], 0)
    return [a - a.max(1, keepdims=True), b + b, total + extra]


@named("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_lower_levels_compute_the_same(level: str) -> None:
    if named_target(level).vector_bytes > host_target().vector_bytes:
        pytest.skip("this machine cannot run the level")
    work = Work()
    expected = kitchen_sink(work)
    for result, wanted in zip(work.run_for(named_target(level)), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_constants_of_every_dtype() -> None:
    for dtype, value in ((F32, 0.1), (F64, 0.1), (F32, -np.inf), (I64, -(2**63)), (F32, np.nan)):
        work = Work()
        y = work.output((20,), dtype)
        i = work.index("i", 20)
        work.body.append(Loop(i, 20, (work.put(y, (i,), Const(value, dtype)),)))
        np.testing.assert_array_equal(work.run()[0], np.full(20, value, dtype))


@named("dtype", [F32, F64, np.dtype(np.uint8)], ids=str)
@named("step", [2, 3, 4, 5, 8, 9, 16, 18])
@named("length", [4, 7, 16, 35, 150])
def test_interleaved_sequences_are_split_and_merged(
    length: int, step: int, dtype: np.dtype
) -> None:
    work = Work()
    source = numbers(length, step, dtype=dtype)
    x, i = work.input(source), work.index("i", length)
    y = work.output((length + 2, step), dtype, 9)
    parts = [work.get(x, i, part) for part in range(step)]
    stores = [work.put(y, (work.index_add(i, 1), part), parts[part - 1]) for part in range(step)]
    work.body.append(Loop(i, length, tuple(stores)))
    expected = np.full((length + 2, step), 9, dtype)
    expected[1:-1] = np.roll(source, 1, axis=1)
    np.testing.assert_array_equal(work.run()[0], expected)


def test_interleaved_stores_that_read_each_other_stay_in_order() -> None:
    work = Work()
    i = work.index("i", 40)
    y = work.output((40, 2), F32, 3.0)
    first = work.put(y, (i, 0), work.add(work.get(y, i, 1), 1.0))
    second = work.put(y, (i, 1), work.mul(work.get(y, i, 0, after=1), 2.0))
    work.body.append(Loop(i, 40, (first, second)))
    np.testing.assert_array_equal(work.run()[0], np.broadcast_to([4.0, 8.0], (40, 2)))


def test_what_a_check_runs_when_it_fails_is_not_counted_as_work() -> None:
    work = Work()
    which = work.const(0, I32)

    def cost(symbol: str) -> float:
        """The cost of a branch that calls a routine."""
        return Costs().statement(If(which, ((), (Call(symbol, (), (), ()),))))

    assert cost("fault:0") < 10 < cost("host:0")


@pytest.mark.parametrize("n_columns", [1, 15, 16, 63, 64, 65, 130, 1000])
def test_sums_of_recipes_down_columns(n_columns: int) -> None:
    work = Work()
    source = numbers(50, n_columns) / 50
    x, y = work.input(source), work.output((n_columns,), F32)
    j, k = work.index("j", n_columns), work.index("k", 50)
    total = work.fold("add", work.op("exp", work.get(x, k, j)), k, 50, 0.0)
    work.body.append(Loop(j, n_columns, (work.put(y, (j,), total),)))
    np.testing.assert_allclose(work.run()[0], np.exp(source).sum(0), rtol=1e-5)


def test_what_lanes_of_a_gather_have_in_common_is_in_its_address() -> None:
    """The row is added once to the address, not to the place of each lane."""
    work = Work()
    source = numbers(50 * 64).reshape(50, 64)
    places = np.arange(64, dtype=np.int64)[::-1] // 3
    x, p = work.input(source), work.input(places)
    i, j = work.index("i", 50), work.index("j", 64)
    y = work.output((50, 64), F32, 0)
    body = Loop(j, 64, (work.put(y, (i, j), work.get(x, i, work.get(p, j))),))
    work.body.append(Loop(i, 50, (body,)))
    text = work.emit(named_target("x86-64-v4")).text
    assert "masked.gather" in text
    assert "insertelement" not in text
    np.testing.assert_array_equal(work.run()[0], source[:, places])


@named(("target", "n_bytes"), [("x86-64-v3", 32), ("x86-64-v4", 64)])
def test_the_stack_of_vectors_is_laid_on_lines_of_the_cache(target: str, n_bytes: int) -> None:
    """What finds no register would lie across two lines, by chance, for 2.6 times the time."""
    work = Work()
    x, i = work.input(numbers(640)), work.index("i", 640)
    y = work.output((640,), F32, 0)
    work.body.append(Loop(i, 640, (work.put(y, (i,), work.op("sin", work.get(x, i))),)))
    text = work.emit(named_target(target)).text
    heads = [line for line in text.splitlines() if line.startswith("define")]
    assert all(f"alignstack({n_bytes})" in line for line in heads)
