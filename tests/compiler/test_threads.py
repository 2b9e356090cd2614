"""The worker pool: the same bits for every number of threads, forks, and many callers at once."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tapeless.compiler.linker import runtime
from tapeless.compiler.target import host_target
from tapeless.kernel.ir import Loop
from tapeless.util.processors import thread_count
from tests.compiler.native import F32, Work
from tests.compiler.test_emit import numbers


def long_program(size: int) -> tuple[Work, np.ndarray]:
    """A program with a shared loop and a shared sum; and its input."""
    work = Work()
    source = numbers(size)
    x, i, k = work.input(source), work.index("i", size), work.index("k", size)
    y, z = work.output((size,), F32), work.output((), F32)
    most = work.fold("max", work.get(x, k), k, size, -np.inf)
    total = work.fold("add", work.sub(work.get(x, k), most), k, size, 0.0)
    work.body.append(Loop(i, size, (work.put(y, (i,), work.sub(work.get(x, i), most)),)))
    work.body.append(work.put(z, (), total))
    return work, source


@pytest.fixture
def with_threads() -> object:
    """A function that sets the number of threads until the end of the test."""
    yield lambda count: runtime().limit(count - 1)
    runtime().limit(thread_count() - 1)


@pytest.mark.parametrize("size", [1 << 20, 3_000_017])
def test_results_do_not_depend_on_the_number_of_threads(size: int, with_threads: object) -> None:
    work, source = long_program(size)
    assert "tapeless_parallel" in work.emit(host_target()).needs
    results = []
    for count in (1, 2, 5):
        with_threads(count)
        results.append([array.copy() for array in work.run()])
    np.testing.assert_array_equal(results[0][0], source - source.max())
    for other in results[1:]:
        np.testing.assert_array_equal(results[0][0], other[0])
        assert results[0][1] == other[1]


def test_values_of_the_surrounding_loop_are_captured() -> None:
    work = Work()
    source = numbers(3, 700_000)
    x, y = work.input(source), work.output(source.shape, F32)
    i, j = work.index("i", 3), work.index("j", 700_000)
    factor = work.convert(work.index_add(work.index_mul(i, 2), 1), F32)
    store = work.put(y, (i, j), work.mul(work.get(x, i, j), factor))
    work.body.append(Loop(i, 3, (Loop(j, 700_000, (store,)),), independent=False))
    factors = np.array([[1], [3], [5]], F32)
    np.testing.assert_array_equal(work.run()[0], source * factors)


def test_a_local_buffer_inside_the_loop_is_private() -> None:
    work = Work()
    source = numbers(3000, 500)
    x, y = work.input(source), work.output((3000,), F32)
    scratch, zero = work.local((), F32), work.affine(0)
    i, j = work.index("i", 3000), work.index("j", 500)
    step = work.add(work.load(scratch, zero), work.get(x, i, j))
    body = (
        work.put(scratch, (), work.const(0.0, F32)),
        Loop(j, 500, (work.put(scratch, (), step),), independent=False),
        work.put(y, (i,), work.load(scratch, zero, after=1)),
    )
    work.body.append(Loop(i, 3000, body))
    assert "tapeless_parallel" in work.emit(host_target()).needs
    expected = np.zeros(3000, F32)
    for column in source.T:
        expected += column
    np.testing.assert_array_equal(work.run()[0], expected)


def test_short_loops_stay_in_the_calling_thread() -> None:
    work = Work()
    x, i = work.input(numbers(1000)), work.index("i", 1000)
    y = work.output((1000,), F32)
    work.body.append(Loop(i, 1000, (work.put(y, (i,), work.get(x, i)),)))
    assert "tapeless_parallel" not in work.emit(host_target()).needs


def test_many_python_threads_call_at_once(with_threads: object) -> None:
    with_threads(3)
    work, _ = long_program(1 << 20)
    native = work.compile()
    native.run(work.pointers())
    expected = [array.copy() for b, array in work.arrays.items() if b.space == "output"]
    failures = []

    def call() -> None:
        mine, _ = long_program(1 << 20)
        for _ in range(10):
            native.run(mine.pointers())
            results = [array for b, array in mine.arrays.items() if b.space == "output"]
            if not all(map(np.array_equal, results, expected)):
                failures.append(results)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_what_all_chunks_need_is_computed_once_by_the_caller() -> None:
    work = Work()
    source = numbers(1_000_001)
    x, i, k = work.input(source), work.index("i", source.size), work.index("k", source.size)
    y = work.output(source.shape, F32)
    total = work.fold("add", work.get(x, k), k, source.size, 0.0)
    work.body.append(Loop(i, source.size, (work.put(y, (i,), work.mul(work.get(x, i), total)),)))
    functions = work.emit(host_target()).text.split("define ")
    (task,) = [text for text in functions if "fmul" in text]
    assert "fadd" not in task
    exact = source * source.sum(dtype=np.float64)
    np.testing.assert_allclose(work.run()[0], exact, rtol=1e-3)


FORK = """
import os, sys
sys.path.insert(0, {root!r})
from tests.compiler.native import np
from tests.compiler.test_threads import long_program, runtime
runtime().limit(2)
work, source = long_program(1 << 20)
work.run()
child = os.fork()
if child == 0:
    fresh, source = long_program(1 << 20)
    good = np.array_equal(fresh.run()[0], source - source.max())
    os._exit(0 if good else 1)
assert os.waitpid(child, 0)[1] == 0
assert np.array_equal(work.run()[0], source - source.max())
"""


def test_a_forked_child_computes_with_its_own_workers() -> None:
    script = FORK.format(root=str(Path(__file__).parents[2]))
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)
