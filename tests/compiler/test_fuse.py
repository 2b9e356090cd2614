"""The fusion plan: what is stored and what never exists in memory."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless.compiler import cost
from tapeless.compiler.fuse import plan_program
from tapeless.compiler.program import Program
from tapeless.control import remat  # noqa: F401 - registers the primitive
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.primitive import registry
from tests.compiler.programs import (
    F32,
    aval,
    bind,
    broadcast,
    exp,
    lowered,
    nests,
    product,
    run,
    scan,
    staged,
    total,
)


def reasons(jaxpr: Jaxpr) -> list[tuple[str, str]]:
    """Return, in program order, the operations whose results are stored, and why."""
    plan = plan_program(jaxpr, True)
    found = []
    for eqn in plan.jaxpr.eqns:
        found += [(eqn.primitive.name, plan.reasons[v]) for v in eqn.outvars if v in plan.reasons]
    return found


def test_elementwise_chains_are_one_loop() -> None:
    program = lowered(
        lambda x, y: (exp(bind("add", bind("mul", x, y), x)),), aval(90, 7), aval(90, 7)
    )
    assert nests(program) == [((630,), 1)]
    assert program.arena_size == 0


def test_results_over_one_space_share_a_loop() -> None:
    def function(x: object, y: object) -> tuple:
        """Return three results with a common part."""
        s = exp(bind("add", x, y))
        return bind("mul", s, x), bind("mul", s, y), bind("neg", x)

    assert nests(lowered(function, aval(90, 7), aval(90, 7))) == [((630,), 3)]


def test_log_sum_exp_is_a_loop_over_rows_and_one_for_the_logarithms() -> None:
    def function(x: object) -> tuple:
        """Subtract the maximum, add up the exponentials."""
        top = total(x, (1,), "reduce_max")
        rest = exp(bind("sub", x, broadcast(top, (90, 70), (0,))))
        return (bind("add", top, bind("log", total(rest, (1,)), accuracy=None)),)

    program = lowered(function, aval(90, 70))
    assert nests(program) == [((90,), 2), ((90,), 1)]
    assert program.arena_size == 2 * 384


def test_softmax_stores_its_exponentials_once() -> None:
    def function(x: object) -> tuple:
        """Divide exponentials by their sum."""
        rest = exp(bind("sub", x, broadcast(total(x, (1,), "reduce_max"), (90, 70), (0,))))
        return (bind("div", rest, broadcast(total(rest, (1,)), (90, 70), (0,))),)

    assert [name for name, _ in reasons(staged(function, aval(90, 70)))] == ["exp", "div"]


def test_pairwise_distances_are_never_stored() -> None:
    def function(x: object) -> tuple:
        """Return the sums of distances of each point."""
        left, right = broadcast(x, (90, 90, 3), (0, 2)), broadcast(x, (90, 90, 3), (1, 2))
        offset = bind("sub", left, right)
        square = total(bind("mul", offset, offset), (2,))
        return (total(bind("sqrt", square, accuracy=None), (1,)),)

    program = lowered(function, aval(90, 3))
    assert nests(program) == [((90,), 1)]
    assert program.arena_size == 0


def test_a_row_that_every_row_needs_is_stored_when_it_is_expensive() -> None:
    def function(expensive: bool) -> object:
        """Return a function that adds a row to all rows."""
        make = exp if expensive else (lambda v: bind("neg", v))
        return lambda x, v: (bind("add", x, broadcast(make(v), (90, 70), (1,))),)

    def stored(expensive: bool) -> list[str]:
        """Return what is stored."""
        return [name for name, _ in reasons(staged(function(expensive), aval(90, 70), aval(70)))]

    assert stored(True) == ["exp", "add"]
    assert stored(False) == ["add"]


def test_a_column_that_its_row_needs_is_not_stored() -> None:
    def function(x: object, v: object) -> tuple:
        """Add a column to all columns."""
        return (bind("add", x, broadcast(exp(v), (90, 70), (0,))),)

    assert [name for name, _ in reasons(staged(function, aval(90, 70), aval(90)))] == ["add"]


def test_operands_of_a_library_call_are_stored_and_its_result_is_read() -> None:
    def function(x: object, y: object) -> tuple:
        """Multiply large matrices between elementwise work."""
        return (exp(product(exp(x), y)),)

    jaxpr = staged(function, aval(200, 200), aval(200, 200))
    assert reasons(jaxpr) == [("exp", "needed in memory"), ("exp", "result")]


def test_a_stencil_of_cheap_values_recomputes_and_of_expensive_ones_stores() -> None:
    def function(operation: object) -> object:
        """Return a function that adds shifted copies."""

        def shifted(x: object) -> tuple:
            """Add three shifted copies of a value."""
            y = operation(x)
            parts = [
                bind("slice", y, start_indices=(i,), limit_indices=(i + 98,), strides=None)
                for i in range(3)
            ]
            return (bind("add", bind("add", parts[0], parts[1]), parts[2]),)

        return shifted

    cheap = reasons(staged(function(lambda x: bind("neg", x)), aval(100)))
    expensive = reasons(staged(function(exp), aval(100)))
    assert [name for name, _ in cheap] == ["add"]
    assert [name for name, _ in expensive] == ["exp", "add"]


def test_large_expressions_are_cut() -> None:
    def function(x: object) -> tuple:
        """Apply many operations."""
        for i in range(500):
            x = bind("add", bind("mul", x, F32(0.5)), F32(i))
        return (x,)

    program = lowered(function, aval(10_000))  # too large to be made step by step
    assert 10 < len(nests(program)) < 60
    # Two temporaries take turns.
    assert program.arena_size <= 2 * 40_032


def test_a_padded_array_is_read_where_it_lies() -> None:
    def function(x: object) -> tuple:
        """Add the neighbours of each element, zero outside."""
        p = bind("pad", x, F32(0), padding_config=((1, 1, 0), (1, 1, 0)))

        def cut(i: int, j: int) -> object:
            """Return one neighbour."""
            return bind(
                "slice", p, start_indices=(i, j), limit_indices=(i + 90, j + 70), strides=None
            )

        left, right = bind("add", cut(1, 0), cut(1, 2)), bind("add", cut(0, 1), cut(2, 1))
        return (bind("add", left, right),)

    assert reasons(staged(function, aval(90, 70))) == [("add", "result")]
    x = np.random.default_rng(0).normal(size=(90, 70)).astype(F32)
    p = np.pad(x, 1)
    expected = (p[1:-1, :-2] + p[1:-1, 2:]) + (p[:-2, 1:-1] + p[2:, 1:-1])
    np.testing.assert_array_equal(jax.jit(lambda x: function(x)[0])(x), expected)


def test_views_handed_to_a_loop_are_not_stored() -> None:
    def function(x: object) -> tuple:
        """Scan over the columns of x."""
        columns = bind("transpose", x, permutation=(1, 0))
        zero = broadcast(F32(0), (90,), ())
        return tuple(scan(lambda c, x: (bind("add", c, x),), (), (zero,), (columns,), 70))

    assert reasons(staged(function, aval(90, 70))) == [("scan", "result")]


def test_work_handed_to_a_loop_is_stored() -> None:
    def function(x: object) -> tuple:
        """Scan over computed rows."""
        zero = broadcast(F32(0), (90,), ())
        return tuple(scan(lambda c, x: (bind("add", c, x),), (), (zero,), (exp(x),), 70))

    stored = reasons(staged(function, aval(70, 90)))
    assert stored == [("exp", "operand of a program"), ("scan", "result")]


def test_a_plan_takes_linear_time() -> None:
    def evaluations(n: int) -> int:
        """Count the nodes of a program of n steps, each of which uses two values twice."""

        def function(x: object, y: object) -> tuple:
            """Mix two values."""
            for _ in range(n):
                x, y = bind("add", x, y), bind("mul", x, y)
            return x, y

        plan = plan_program(staged(function, aval(100), aval(100)), True)
        return len(plan.stored)

    assert evaluations(400) <= 2.5 * evaluations(200) + 4
    assert np.isfinite(evaluations(400))


def test_results_of_a_checkpointed_program_are_stored() -> None:
    inner = staged(lambda x: (exp(x),), aval(900))

    def function(x: object) -> tuple:
        """Use the result of a nested program twice."""
        (y,) = registry["remat2"].bind(
            x, jaxpr=inner, policy=None, prevent_cse=True, differentiated=False
        )
        return bind("mul", y, broadcast(total(y, (0,)), (900,), ())), bind("neg", y)

    found = dict(reasons(staged(function, aval(900))))
    assert found["remat2"] == "result of a program"


def test_what_is_summed_along_rows_and_columns_is_computed_twice_and_not_stored() -> None:
    def pairs(n: int) -> Jaxpr:
        """Sum a function of all pairs over either axis."""

        def function(x: object) -> tuple:
            """Use the inverse distance twice."""
            rows = broadcast(x, (n, n), (0,))
            columns = broadcast(x, (n, n), (1,))
            square = bind("integer_pow", bind("sub", rows, columns), y=2)
            inverse = bind("rsqrt", square)
            return total(inverse, (0,)), total(bind("neg", inverse), (1,))

        return staged(function, aval(n))

    large = [var.aval.shape for var in plan_program(pairs(1500), True).stored]
    small = [var.aval.shape for var in plan_program(pairs(100), True).stored]
    assert (1500, 1500) not in large  # 9 MB, of which columns would be read
    assert (100, 100) in small  # in the cache


def rolled(x: object, axis: int) -> object:
    """Move the first of 90 elements along an axis to the end."""
    first, rest = registry["split"].bind(x, sizes=(1, 89), axis=axis)
    return bind("concatenate", rest, first, dimension=axis)


def test_rolled_arrays_are_read_where_they_lie() -> None:
    def function(x: object) -> tuple:
        """Add an array rolled along either axis."""
        return (bind("add", rolled(x, 0), rolled(x, 1)),)

    x = np.arange(8100, dtype=F32).reshape(90, 90)
    assert lowered(function, x).arena_size == 0
    (found,) = run(function, x)
    np.testing.assert_array_equal(np.roll(x, -1, 0) + np.roll(x, -1, 1), found)


def test_a_loop_replaces_an_array_by_one_that_is_rolled() -> None:
    def function(x: object) -> tuple:
        """Roll along both axes, three times."""
        return tuple(scan(lambda c: (rolled(rolled(c, 0), 1),), (), (x,), (), 3))

    x = np.arange(8100, dtype=F32).reshape(90, 90)
    (found,) = run(function, x)
    np.testing.assert_array_equal(np.roll(x, (-3, -3), (0, 1)), found)


def test_what_is_reduced_is_joined_in_memory() -> None:
    def function(x: object) -> tuple:
        """Sum the rows of a product with a rolled array."""
        return (total(bind("mul", rolled(x, 1), x), (1,)),)

    assert ("concatenate", "in pieces") in reasons(staged(function, aval(90, 90)))
    x = np.arange(8100, dtype=F32).reshape(90, 90) / 100
    (found,) = run(function, x)
    np.testing.assert_allclose((np.roll(x, -1, 1) * x).sum(1), found, rtol=1e-5)


def test_what_is_read_at_places_of_its_own_is_joined_in_memory() -> None:
    def windows(x: object, places: object, size: int) -> object:
        """Cut a window out of each row with mirrored ends, at places that are read."""
        x = jax.numpy.pad(x, ((0, 0), (8, 8)), mode="reflect")
        cut = jax.vmap(lambda row, place: jax.lax.dynamic_slice(row, (place,), (size,)))
        return cut(x, places)

    def stored(size: int) -> list:
        """Return what is stored for windows of a size."""
        jaxpr = jax.make_jaxpr(lambda x, places: windows(x, places, size))
        return reasons(jaxpr(np.zeros((40, 100), F32), np.zeros(40, np.int32)).jaxpr)

    assert ("concatenate", "in pieces") in stored(100)
    assert ("concatenate", "in pieces") not in stored(10)  # more work than to choose
    x = np.arange(4000, dtype=F32).reshape(40, 100)
    places = np.arange(40, dtype=np.int32) % 17
    wide = np.pad(x, ((0, 0), (8, 8)), mode="reflect")
    for size in (100, 10):
        found = jax.jit(windows, static_argnums=2)(x, places, size)
        for row, place, window in zip(wide, places, found, strict=True):
            np.testing.assert_array_equal(row[place : place + size], window)


def there_and_back(x: object) -> tuple:
    """Multiply the sines of a long chain, from the last one to the first."""
    values = [x]
    for number in range(150):
        values.append(bind("sin", bind("add", values[-1], np.float32(number))))
    result = values.pop()
    for value in reversed(values):
        result = bind("mul", result, bind("cos", value))
    return (result,)


def test_what_ended_nests_have_computed_is_stored_and_not_computed_again() -> None:
    def n_sines(program: Program) -> int:
        """Count the sines that are computed for each element."""
        return round(cost.costs(program)["transcendentals"] / program.inputs[-1].size)

    x = np.linspace(0.1, 0.9, 32, dtype=F32)
    small = lowered(there_and_back, x)
    assert n_sines(small) == 300
    huge = staged(there_and_back, aval(1 << 19))
    assert "computed before" not in dict(reasons(huge)).values()  # would not stay in the cache
    value, values = np.float64(x), []
    for number in range(150):
        values.append(value)
        value = np.sin(value + number)
    expected = value * np.prod(np.cos(values), axis=0)
    (found,) = run(there_and_back, x)
    np.testing.assert_allclose(expected, found, rtol=1e-4)


def roots(x: object) -> tuple:
    """Go towards the root of an equation by Newton's steps, whose terms need each other."""
    root = x
    for _ in range(8):
        sine, cosine = bind("sin", root), bind("cos", root)
        error = bind("sub", bind("sub", root, bind("mul", sine, F32(0.3))), x)
        slope = bind("sub", F32(1), bind("mul", cosine, F32(0.3)))
        root = bind("sub", root, bind("div", error, slope))
    return (root,)


def test_dear_values_that_no_cache_holds_are_stored_and_made_block_by_block() -> None:
    program = lowered(roots, aval(1 << 20))
    sines = cost.costs(program)["transcendentals"] / (1 << 20)
    assert sines < 20  # 16 as one expression, 36 if every nest computes what it needs
    assert program.arena_size < 1 << 16
    x = np.linspace(0.1, 0.9, 1 << 19, dtype=F32)
    (found,) = run(roots, x)
    np.testing.assert_allclose(found - 0.3 * np.sin(found), x, rtol=1e-5)


def small_products(x: object, y: object) -> object:
    """Multiply matrices."""
    numbers = (((2,), (1,)), ((0,), (0,)))
    kind = np.dtype(F32)
    params = {"precision": None, "preferred_element_type": kind, "out_sharding": None}
    return bind("dot_general", x, y, dimension_numbers=numbers, **params)


def neighbours(x: object) -> tuple:
    """Multiply the exponentials of matrices at odd places by those before them."""
    grown = exp(x)
    parts = []
    for start in (0, 1):
        corner = {"start_indices": (start, 0, 0), "limit_indices": (x.shape[0], 3, 3)}
        parts.append(bind("slice", grown, **corner, strides=(2, 1, 1)))
    return (small_products(*parts),)


def test_what_slices_are_cut_from_is_stored_and_not_the_slices() -> None:
    found = reasons(staged(neighbours, aval(64, 3, 3)))
    assert [name for name, _ in found] == ["exp", "dot_general"]
    x = np.linspace(-1, 1, 64 * 9, dtype=F32).reshape(64, 3, 3)
    (out,) = run(neighbours, x)
    np.testing.assert_allclose(np.exp(x[::2]) @ np.exp(x[1::2]), out, rtol=1e-6)


def test_a_small_slice_of_much_is_stored_itself() -> None:
    def function(x: object) -> tuple:
        """Multiply a few of the exponentials."""
        corner = {"start_indices": (0, 0, 0), "limit_indices": (8, 3, 3), "strides": None}
        few = bind("slice", exp(x), **corner)
        return (small_products(few, few),)

    assert "exp" not in dict(reasons(staged(function, aval(64, 3, 3))))


def interleaved(x: object, y: object) -> tuple:
    """Put x[0], x[0] + y[1], x[1] + y[2], ... and y between."""
    n = x.shape[0]
    first = bind("slice", x, start_indices=(0,), limit_indices=(1,), strides=None)
    moved = bind("slice", x, start_indices=(0,), limit_indices=(n - 1,), strides=None)
    rest = bind("slice", y, start_indices=(1,), limit_indices=(n,), strides=None)
    joined = bind("concatenate", first, bind("add", moved, rest), dimension=0)
    even = bind("pad", joined, F32(0), padding_config=((0, 1, 1),))
    odd = bind("pad", y, F32(0), padding_config=((1, 0, 1),))
    return (bind("add", even, odd),)


def test_joined_parts_are_interleaved_in_one_pass() -> None:
    program = lowered(interleaved, aval(50), aval(50))
    assert program.arena_size == 0
    assert nests(program)[-1] == ((49,), 2)
    x, y = np.arange(50, dtype=F32), np.arange(50, dtype=F32) * 100
    wanted = np.stack([np.append(x[:1], x[:-1] + y[1:]), y], axis=1).ravel()
    (found,) = run(interleaved, x, y)
    np.testing.assert_array_equal(wanted, found)


def test_a_reshape_of_what_is_stretched_is_made_in_the_shape_before() -> None:
    def function(x: object, y: object) -> tuple:
        """Return the Kronecker product: no place in it has to be divided."""
        shape = (20, 30, 20, 30)
        outer = bind("mul", broadcast(x, shape, (0, 2)), broadcast(y, shape, (1, 3)))
        return (bind("reshape", outer, new_sizes=(600, 600), dimensions=None, sharding=None),)

    avals = aval(20, 20), aval(30, 30)
    assert reasons(staged(function, *avals))[0] == ("mul", "reshaped")
    x, y = np.arange(400.0, dtype=F32).reshape(20, 20), np.arange(900.0, dtype=F32).reshape(30, 30)
    np.testing.assert_array_equal(run(function, x, y)[0], np.kron(x, y))


def test_a_reshape_of_what_lies_straight_is_one_loop() -> None:
    def function(x: object) -> tuple:
        """Return exponentials in another shape."""
        return (bind("reshape", exp(x), new_sizes=(70, 90), dimensions=None, sharding=None),)

    assert nests(lowered(function, aval(90, 70))) == [((6300,), 1)]


def test_words_of_keys_are_made_together() -> None:
    split = jax.make_jaxpr(lambda key: jax.random.split(key, 50))(jax.random.PRNGKey(0))
    assert ("random_split", "keys of words") in reasons(split.jaxpr)
