"""Lowering: programs give NumPy's values, whatever was fused; results are where the program says.

The random programs mix elementwise work, reductions, broadcasts, transposes and reshapes, with
several results, so that values are shared, pulled at different indices and stored in all ways.
"""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless.compiler.lower import lower_jaxpr
from tapeless.control.cond import cond_p
from tapeless.core.jaxpr import Jaxpr, Literal
from tests.compiler.programs import (
    F32,
    aval,
    bind,
    broadcast,
    exp,
    lowered,
    product,
    run,
    run_program,
    scan,
    staged,
    statements,
    total,
)

INT32 = {"new_dtype": np.dtype(np.int32), "weak_type": False, "sharding": None}
RNG = np.random.default_rng(5)


def array(*shape: int) -> np.ndarray:
    """Return random numbers."""
    return RNG.standard_normal(shape).astype(F32)


def reference(jaxpr: Jaxpr, args: list) -> list[np.ndarray]:
    """Evaluate a program with the primitives' NumPy references."""
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*jaxpr.consts, *args), strict=True))

    def read(atom: object) -> np.ndarray:
        """Return the value of an atom."""
        return np.asarray(atom.val, atom.aval.dtype) if type(atom) is Literal else values[atom]

    for eqn in jaxpr.eqns:
        outs = eqn.primitive.reference(*map(read, eqn.invars), **eqn.params)
        values.update(zip(eqn.outvars, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def random_program(rng: np.random.Generator, n_eqns: int) -> Jaxpr:
    """Return a program on two matrices of random operations, with up to three results."""

    def function(x: object, y: object) -> tuple:
        """Apply the operations."""
        square, row = [x, y], [total(x, (0,))]
        for _ in range(n_eqns):
            kind = rng.integers(8)
            a, b = (square[i] for i in rng.integers(len(square), size=2))
            v = row[rng.integers(len(row))]
            if kind < 2:
                square.append(bind(("add", "mul")[kind], a, b))
            elif kind == 2:
                square.append(bind("logistic", a, accuracy=None))
            elif kind == 3:
                square.append(bind("transpose", a, permutation=(1, 0)))
            elif kind == 4:
                axis = int(rng.integers(2))
                name = ("reduce_sum", "reduce_max")[rng.integers(2)]
                row.append(bind("tanh", total(a, (axis,), name), accuracy=None))
            elif kind == 5:
                square.append(bind("sub", a, broadcast(v, (20, 20), (int(rng.integers(2)),))))
            elif kind == 6:
                flat = bind("reshape", a, new_sizes=(400,), dimensions=None, sharding=None)
                flat = bind("rev", flat, dimensions=(0,))
                square.append(
                    bind("reshape", flat, new_sizes=(20, 20), dimensions=None, sharding=None)
                )
            else:
                row.append(bind("mul", v, row[-1]))
        return square[-1], row[-1], square[rng.integers(len(square))]

    return staged(function, aval(20, 20), aval(20, 20))


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_give_numpys_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jaxpr = random_program(rng, 4 + 3 * seed)
    args = [rng.uniform(-1, 1, (20, 20)).astype(F32) for _ in range(2)]
    expected = reference(jaxpr, args)
    for want, got in zip(
        expected, run_program(lower_jaxpr(jaxpr), args, jaxpr.out_avals), strict=True
    ):
        scale = max(1.0, float(np.abs(want).max()))
        np.testing.assert_allclose(got / scale, want / scale, atol=3e-5)


@pytest.mark.parametrize("shape", [(), (3,), (0,), (4, 0), (1, 1), (2, 1, 3), (17, 5)])
def test_any_shape_is_lowered(shape: tuple[int, ...]) -> None:
    x = array(*shape)
    (got,) = run(lambda x: (bind("add", x, x),), x)
    np.testing.assert_array_equal(got, x + x)


def test_captured_arrays_are_hidden_arguments() -> None:
    table = array(50)
    program = lowered(lambda x: (bind("mul", x, table),), aval(50))
    assert program.consts[0] is table
    assert len(program.inputs) == 2
    x = array(50)
    np.testing.assert_array_equal(run_program(program, [x], [aval(50)])[0], x * table)


def test_an_array_captured_twice_is_passed_once() -> None:
    table = array(50)

    def body(c: object) -> tuple:
        """Use the table inside a loop."""
        return (bind("mul", c, table),)

    program = lowered(lambda x: scan(body, (), (bind("add", x, table),), (), 3), aval(50))
    assert len(program.consts) == 1


def test_a_result_that_is_an_input_is_forwarded() -> None:
    program = lowered(lambda x, y: (y, bind("add", x, y), x), aval(50), aval(50))
    assert program.results == (1, 2, 0)
    assert len(program.outputs) == 1


def test_equal_results_share_memory() -> None:
    program = lowered(lambda x: (bind("neg", x), bind("neg", x)), aval(50))
    assert program.results == (1, 1)


def test_a_literal_result_is_stored() -> None:
    assert run(lambda x: (1.5,), array(3)) == [1.5]


def test_a_small_result_is_stored_in_its_output() -> None:
    x = array(4)
    out, other = run(lambda x: (bind("neg", x), exp(bind("neg", x))), x)
    np.testing.assert_array_equal(out, -x)
    np.testing.assert_allclose(other, np.exp(-x), rtol=1e-6)


def test_products_by_library_and_by_loops_agree_with_numpy() -> None:
    for n in (3, 20, 100):
        x, y = array(n, n), array(n, n)
        (got,) = run(lambda x, y: (product(exp(x), y),), x, y)
        np.testing.assert_allclose(got, np.exp(x) @ y, rtol=2e-4, atol=2e-4)


def test_a_scan_stores_rows_and_carries() -> None:
    xs, weights = array(7, 40), array(40, 40) / F32(6)

    def body(w: object, h: object, x: object) -> tuple:
        """One step of a recurrent network."""
        new = bind("tanh", bind("add", product(w, h), x), accuracy=None)
        return new, new

    h, ys = run(lambda w, h, xs: scan(body, (w,), (h,), (xs,), 7), weights, array(40) * 0, xs)
    state = np.zeros(40, F32)
    for step in range(7):
        state = np.tanh(weights @ state + xs[step])
        np.testing.assert_allclose(ys[step], state, atol=1e-5)
    np.testing.assert_allclose(h, state, atol=1e-5)


def test_a_carried_array_is_written_in_place() -> None:
    n = 300

    def body(x: object, i: object) -> tuple:
        """Set one element."""
        one = broadcast(bind("mul", i, 2), (1,), ())
        return (bind("dynamic_update_slice", x, one, i),)

    steps = np.arange(n, dtype=np.int32)
    (got,) = run(lambda x, i: scan(body, (), (x,), (i,), n), steps * 0, steps)
    np.testing.assert_array_equal(got, 2 * steps)
    program = lowered(lambda x, i: scan(body, (), (x,), (i,), n), steps, steps)
    (loop,) = [s for s in program.body if not getattr(s, "independent", True)]
    assert not any(getattr(s, "extent", 0) == n for s in statements(loop.body))


def test_an_array_read_later_in_the_step_is_copied_first() -> None:
    n = 30

    def body(x: object, i: object) -> tuple:
        """Set one element, and return the old array's sum, too."""
        one = broadcast(i, (1,), ())
        new = bind("dynamic_update_slice", x, one, i)
        return new, total(bind("mul", x, x), (0,))

    steps = np.arange(n, dtype=np.int32)
    got, sums = run(lambda x, i: scan(body, (), (x,), (i,), n), steps * 0, steps)
    np.testing.assert_array_equal(got, steps)
    np.testing.assert_array_equal(sums, np.cumsum(steps**2) - steps**2)


def test_an_operand_used_again_is_not_overwritten() -> None:
    x = array(100)

    def function(x: object) -> tuple:
        """Change a copy of y, then use y."""
        y = exp(x)
        kept = total(y, (0,))
        changed = bind("dynamic_update_slice", y, np.zeros(1, F32), np.int32(3))
        return bind("add", changed, bind("rev", y, dimensions=(0,))), kept

    got, _ = run(function, x)
    y = np.exp(x)
    changed = y.copy()
    changed[3] = 0
    np.testing.assert_allclose(got, changed + y[::-1], rtol=1e-5)


def test_a_donated_input_is_overwritten() -> None:
    def function(x: object) -> tuple:
        """Set an element."""
        return (bind("dynamic_update_slice", x, np.ones(1, F32), np.int32(3)),)

    program = lowered(function, aval(100), donated=(True,))
    assert program.outputs == ()
    assert program.results == (len(program.consts),)
    x = array(100)
    (got,) = run(function, x, donated=(True,))
    assert got[3] == 1
    np.testing.assert_array_equal(np.delete(got, 3), np.delete(x, 3))


def test_long_programs_are_lowered_without_recursion() -> None:
    def function(x: object, y: object) -> tuple:
        """Apply thousands of operations."""
        for i in range(1500):
            x = bind("add", bind("mul", x, F32(0.9)), x if i % 3 else y)
        return (x,)

    jaxpr = staged(function, aval(30), aval(30))
    args = [array(30), array(30)]
    want = reference(jaxpr, args)[0]
    (got,) = run_program(lower_jaxpr(jaxpr), args, jaxpr.out_avals)
    np.testing.assert_allclose(got, want, rtol=1e-3)


def test_doubling_chains_do_not_grow_exponentially() -> None:
    def function(x: object) -> tuple:
        """Use each value twice, at two indices."""
        for _ in range(60):
            x = bind("mul", bind("add", x, bind("rev", x, dimensions=(0,))), F32(0.5))
        return (x,)

    x = array(50)
    (got,) = run(function, x)
    np.testing.assert_allclose(got, (x + x[::-1]) / 2, atol=1e-5)


def test_an_elementwise_result_goes_where_a_donated_operand_is() -> None:
    def function(x: object, g: object) -> tuple:
        """Step against a gradient."""
        return (bind("sub", x, bind("mul", g, F32(0.1))),)

    x, g = array(100), array(100)
    program = lowered(function, x, g, donated=(True, False))
    assert (program.outputs, program.results) == ((), (0,))
    (got,) = run(function, x, g, donated=(True, False))
    np.testing.assert_allclose(got, x - F32(0.1) * g, rtol=1e-6)


def test_a_donated_input_that_is_read_later_or_elsewhere_is_kept() -> None:
    def twice(x: object) -> tuple:
        """Use x after the first result."""
        return bind("neg", x), exp(x)

    def mirrored(x: object) -> tuple:
        """Read x at other positions."""
        return (bind("add", x, bind("rev", x, dimensions=(0,))),)

    x = array(100)
    first, second = run(twice, x, donated=(True,))
    np.testing.assert_allclose(first, -x)
    np.testing.assert_allclose(second, np.exp(x), rtol=1e-6)
    (got,) = run(mirrored, x, donated=(True,))
    np.testing.assert_allclose(got, x + x[::-1])
    assert len(lowered(mirrored, x, donated=(True,)).outputs) == 1


def test_a_branch_that_passes_an_array_on_costs_nothing() -> None:
    n = 200

    def change(x: object, i: object) -> tuple:
        """Set one element."""
        return (bind("dynamic_update_slice", x, broadcast(i, (1,), ()), i),)

    def body(x: object, i: object) -> tuple:
        """Change every third element."""
        index = bind("convert_element_type", bind("eq", bind("rem", i, 3), 0), **INT32)
        branches = tuple(
            staged(f, aval(n, dtype=np.int32), aval(dtype=np.int32)) for f in (keep, change)
        )
        return tuple(cond_p.bind(index, x, i, branches=branches))

    def keep(x: object, i: object) -> tuple:
        """Do nothing."""
        return (x,)

    steps = np.arange(n, dtype=np.int32)
    (got,) = run(lambda x, i: scan(body, (), (x,), (i,), n), steps * 0, steps)
    np.testing.assert_array_equal(got, np.where(steps % 3 == 0, steps, 0))
    program = lowered(lambda x, i: scan(body, (), (x,), (i,), n), steps, steps)
    (loop,) = [s for s in program.body if not getattr(s, "independent", True)]
    assert not any(getattr(s, "extent", 0) == n for s in statements(loop.body))


@pytest.mark.parametrize("which", [0, 1, 2, 7])
def test_branches_see_their_operands_unchanged(which: int) -> None:
    x, y = array(100), array(100)

    def function(i: object, x: object, y: object) -> tuple:
        """Swap, pass on, or compute."""
        x, y = bind("neg", x), bind("neg", y)
        branches = (
            lambda x, y: (y, x),
            lambda x, y: (x, y),
            lambda x, y: (bind("add", x, bind("rev", y, dimensions=(0,))), x),
        )
        programs = tuple(staged(branch, aval(100), aval(100)) for branch in branches)
        return tuple(cond_p.bind(i, x, y, branches=programs))

    got = run(function, np.int32(which), x, y)
    want = [(-y, -x), (-x, -y), (-x - y[::-1], -x)][min(which, 2)]
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("flag", [True, False])
def test_what_a_branch_stores_is_not_there_for_others(flag: bool) -> None:
    """The row is a view, which one branch wants in memory; the other one did not put it there."""

    def function(flag: jax.Array, x: jax.Array) -> tuple:
        """Choose what to do with a row, and use it behind the choice."""
        row = x[1]
        branches = (lambda y: lax.optimization_barrier(y) * 3, lambda y: y.at[0].set(y[1]))
        return lax.cond(flag, *branches, row), row * 2

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    chosen, double = jax.jit(function)(flag, x)
    np.testing.assert_array_equal(chosen, x[1] * 3 if flag else x[1, [1, 1, 2]])
    np.testing.assert_array_equal(double, x[1] * 2)
