"""A program as kernels: where they begin, what they do, and how long they take."""

from __future__ import annotations

import numpy as np
import pytest

from tapeless.compiler.engine import compile_program
from tapeless.compiler.kernels import clocked, durations, kernels_of, lives_of
from tests.compiler.programs import F32, aval, bind, exp, lowered, product, scan, total

N, FEW = 80, 7  # columns that are too few for panels, so that BLAS computes the product


def softened() -> tuple:
    """Return the program of a product, its exponential, and the sum of that."""
    return lowered(lambda x, y: (total(exp(product(x, y)), (0, 1)),), aval(N, N), aval(N, FEW))


def test_a_call_and_the_loops_after_it_are_kernels():
    kernels = kernels_of(softened())
    assert [kernel.number for kernel in kernels] == list(range(len(kernels)))
    assert {kernel.kind for kernel in kernels[:-1]} == {"call"}
    assert kernels[-1].kind == "loops"
    assert "exp(" in kernels[-1].text
    assert sum(kernel.flops for kernel in kernels[:-1]) == 2 * N**2 * FEW
    assert kernels[-1].transcendentals == N * FEW
    assert kernels[-1].touched == 4 * (N * FEW + 1)


def test_scalars_belong_to_the_kernel_that_follows():
    first = kernels_of(softened())[0]
    assert first.text.splitlines()[0].endswith("= 1.0")
    assert "gemm" in first.text


def test_a_loop_of_the_program_is_one_kernel():
    program = lowered(lambda x: tuple(scan(lambda c: (bind("sin", c),), (), (x,), (), 50)), aval(N))
    assert "in order" in kernels_of(program)[-1].text


def test_lives_reach_from_the_first_kernel_that_needs_a_buffer_to_the_last():
    program = softened()
    lives = {life.buffer: life for life in lives_of(program)}
    end = len(kernels_of(program)) - 1
    (temporary, offset), *_ = program.temps
    assert (lives[temporary].first, lives[temporary].last) == (0, end)
    assert (lives[temporary].size, lives[temporary].offset) == (4 * N * FEW, offset)
    assert lives[program.outputs[0]].first == lives[program.outputs[0]].last == end
    assert all(lives[buffer].last < end for buffer in program.inputs)


def test_clocks_change_no_result_and_add_up_to_the_time_of_the_call():
    program = softened()
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(N, size)).astype(F32) / N for size in (N, FEW))
    measured = clocked(program)
    times = np.zeros(measured.outputs[-1].shape, np.int64)
    plain, out = np.zeros((2, 1), F32)
    compile_program(program).run([x.ctypes.data, y.ctypes.data, plain.ctypes.data])
    compile_program(measured).run([a.ctypes.data for a in (x, y, out, times)])
    assert out == plain == pytest.approx(np.exp(x @ y).sum(), rel=1e-5)
    found = durations(times)
    assert found.shape == (len(kernels_of(program)),)
    assert (found >= 0).all()
    moments = times[:, 0] * 10**9 + times[:, 1]
    assert found.sum() == moments[-1] - moments[0]


def test_a_program_without_kernels_has_no_times():
    program = lowered(lambda x: (x,), aval(3))
    assert kernels_of(program) == ()
    assert durations(np.array([[1, 5]])).shape == (0,)
