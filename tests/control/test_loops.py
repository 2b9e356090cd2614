"""Loops as users write them: trees, weak types, bounds, and the words of their errors."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp

ROWS = np.arange(3, dtype=np.float32)


def test_trees_go_in_and_out():
    step = lambda c, x: ({"s": c["s"] + x[0]}, (c["s"], x[1]))  # noqa: E731
    carry, (before, same) = lax.scan(step, {"s": 0.0}, (ROWS, ROWS * 2))
    assert carry == {"s": 3.0}
    np.testing.assert_array_equal([0, 0, 1], before)
    np.testing.assert_array_equal(ROWS * 2, same)


def test_a_weak_carry_takes_the_dtype_of_the_result():
    carry, _ = lax.scan(lambda c, x: (c + x, None), 0, ROWS)
    assert (carry, carry.dtype) == (3.0, np.float32)
    assert lax.while_loop(lambda c: c < 3, lambda c: c + np.float32(1), 0).dtype == np.float32
    assert lax.fori_loop(0, 2, lambda i, c: c + np.float32(1), 0).dtype == np.float32


def test_stacked_outputs_keep_weak_types():
    _, ys = lax.scan(lambda c, x: (c, 2.0), 0.0, ROWS)
    assert ys.weak_type


def test_known_bounds_give_a_scan_and_others_a_while():
    body = lambda i, c: c + i  # noqa: E731
    known = jax.make_jaxpr(lambda c: lax.fori_loop(0, 3, body, c))(1.0)
    unknown = jax.make_jaxpr(lambda n, c: lax.fori_loop(0, n, body, c))(3, 1.0)
    assert [eqn.primitive.name for eqn in known.eqns] == ["scan"]
    assert [eqn.primitive.name for eqn in unknown.eqns] == ["while"]
    assert jax.grad(lambda c: lax.fori_loop(0, 3, lambda i, v: v * c, c))(2.0) == 32.0
    assert lax.fori_loop(3, 0, body, 1.0) == 1.0


def test_rows_are_mapped_one_by_one_or_in_blocks():
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    f = lambda row: {"s": jnp.sum(row), "r": row * 2}  # noqa: E731
    for size in (None, 2, 5, 7):
        out = lax.map(f, rows, batch_size=size)
        np.testing.assert_array_equal(rows.sum(1), out["s"])
        np.testing.assert_array_equal(rows * 2, out["r"])


def test_loops_run_in_python_when_jit_is_disabled():
    seen = []
    with jax.disable_jit():
        lax.scan(lambda c, x: (seen.append(float(x)) or c, x), 0.0, ROWS)
        lax.while_loop(lambda c: c < 2, lambda c: seen.append(c) or c + 1, 0)
    assert seen == [0.0, 1.0, 2.0, 0, 1]


def test_without_jit_loops_whose_condition_is_mapped_or_traced_are_operations():
    count = lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 1, 0)  # noqa: E731
    with jax.disable_jit():
        np.testing.assert_array_equal([0, 1, 2], jax.vmap(count)(jnp.arange(3)))
        np.testing.assert_array_equal(
            [0, 6], jax.vmap(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(np.array([1, 4]))
        )
        assert jax.eval_shape(count, 3).shape == ()
        assert [eqn.primitive.name for eqn in jax.make_jaxpr(count)(3).eqns][-1] == "while"


def test_a_body_may_return_a_list_and_so_does_the_scan():
    carry, ys = found = lax.scan(lambda c, x: [c + x, {"y": c}], 0.0, jnp.arange(3.0))
    assert type(found) is list
    assert carry == 3
    np.testing.assert_array_equal([0, 0, 1], ys["y"])


CARRY = "scan body function carry input and carry output must have"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: lax.scan(lambda c, x: (jnp.ones(2), x), np.float32(0), ROWS),
            TypeError,
            f"{CARRY} equal types, but they differ:\n\nThe input carry c has type float32[] but "
            "the corresponding output carry component has type float32[2], so the shapes do not "
            "match.\n\nRevise the function so that all output types match the corresponding "
            "input types.",
        ),
        (
            lambda: lax.scan(lambda c, x: ((1.0, 2.0), x), (1.0,), ROWS),
            TypeError,
            f"{CARRY} the same pytree structure, but they differ:\n\nThe input carry c is a tuple "
            "of length 1 but the corresponding component of the carry output is a tuple of length "
            "2, so the lengths do not match.\n\nRevise the function so that the carry output has "
            "the same pytree structure as the carry input.",
        ),
        (
            lambda: lax.scan(lambda c, x: c, 0.0, ROWS),
            TypeError,
            "scan body output must be a pair, got ~float32[]. Return the next carry and what shall "
            "be stacked, which may be None.",
        ),
        (
            lambda: lax.scan(lambda c, x: (c, x), 0.0, ROWS, length=4),
            ValueError,
            "scan got `length` argument of 4 which disagrees with leading axis sizes [3].",
        ),
        (
            lambda: lax.scan(lambda c, x: (c, x), 0.0, 3.0),
            ValueError,
            "scan got value with no leading axis to scan over: 3.0.",
        ),
        (
            lambda: lax.scan(lambda c, x: (c, x), 0.0, (ROWS, ROWS[:2])),
            ValueError,
            "scan got values with different leading axis sizes: 3, 2.",
        ),
        (
            lambda: lax.scan(lambda c, x: (c, x), 0.0),
            ValueError,
            "scan got no values to scan over and `length` not provided.",
        ),
        (
            lambda: lax.scan(3, 0.0, ROWS),
            TypeError,
            "lax.scan: f argument should be a callable.",
        ),
        (
            lambda: lax.while_loop(3, lambda c: c, 0.0),
            TypeError,
            "lax.while_loop: body_fun and cond_fun arguments should be callable.",
        ),
    ],
)
def test_errors_are_those_of_jax(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_bounds_of_two_dtypes_are_refused() -> None:
    with pytest.raises(TypeError, match="must have equal types, got int8 and int32"):
        lax.fori_loop(np.int8(0), np.int32(3), lambda i, x: x + i, 0)
    assert lax.fori_loop(np.int8(0), 3, lambda i, x: x + i, 0) == 3


def test_unroll_is_checked() -> None:
    with pytest.raises(ValueError, match="`unroll` must be a `bool` or a non-negative `int`"):
        lax.scan(lambda c, x: (c, x), 0.0, np.zeros(3, np.float32), unroll=-1)
    with pytest.raises(
        TypeError, match="`unroll` argument to `scan` must be an integer, got 'all'"
    ):
        lax.scan(lambda c, x: (c, x), 0.0, np.zeros(3, np.float32), unroll="all")


def test_blocks_of_no_rows_are_single_rows() -> None:
    x = np.arange(5.0, dtype=np.float32)
    np.testing.assert_array_equal(lax.map(lambda x: 2 * x, x, batch_size=0), 2 * x)
    with pytest.raises(TypeError, match="batch_size must be a positive integer or None, got -2"):
        lax.map(lambda x: x, x, batch_size=-2)


def test_the_counter_of_a_loop_from_a_python_number_takes_the_dtype_of_what_it_meets():
    small = np.int8(1)
    found = jax.jit(lambda n: lax.fori_loop(0, n, lambda i, x: x + i, small))(np.int32(4))
    assert (found.dtype, int(found)) == (np.int8, 7)


def test_counts_between_bounds_of_any_real_dtype() -> None:
    """As in JAX: bounds that are known lose their fractions, those of tracers keep them."""
    count = lambda low, high: lax.fori_loop(low, high, lambda i, n: n + 1, 0)  # noqa: E731
    assert int(count(0.0, 3.0)) == 3
    assert int(count(0.5, 3.2)) == 3
    assert int(count(np.float32(0), np.float32(3.5))) == 3
    assert int(count(False, True)) == 1
    assert int(jax.jit(count)(0.5, 3.2)) == 3
    assert int(jax.jit(count)(0.0, 3.5)) == 4
    with pytest.raises(TypeError, match="must have equal types, got int32 and float32"):
        count(0, 3.0)
    with pytest.raises(TypeError, match="counts in real numbers"):
        count(0j, 3j)


def test_a_traced_length_is_refused_by_its_name() -> None:
    message = "`length` argument to `scan` expects a concrete `int` value. For scan-like"
    with pytest.raises(jax.errors.ConcretizationTypeError, match=message):
        jax.jit(lambda n: lax.scan(lambda c, x: (c, x), 0.0, None, length=n))(3)


def test_batch_sizes_are_positive_integers() -> None:
    for wrong in (-2, 1.5):
        with pytest.raises(TypeError, match=f"must be a positive integer or None, got {wrong}"):
            lax.map(lambda x: x, np.zeros(4, np.float32), batch_size=wrong)


def test_what_a_body_passes_on_comes_out_as_arrays_of_the_system():
    carry, (_, ys) = lax.scan(lambda c, x: (c * 2 + x, (c, x)), 1, np.arange(3))
    assert isinstance(carry, jax.Array)
    assert isinstance(ys, jax.Array)
    assert ys.dtype == np.int32


def test_a_carry_that_is_lost_is_shown_by_its_structure():
    with pytest.raises(TypeError, match=r"PyTreeDef\(\*\)\nthe output tree structure is:\nPyTreeD"):
        lax.scan(lambda c, x: (None, x), 1.0, np.arange(3.0))


@pytest.mark.parametrize("length", [2, 2.5, "2", np.int32(2), jnp.array(2)])
def test_the_length_of_a_scan_is_what_int_makes_of_it(length: object) -> None:
    assert lax.scan(lambda c, _: (c + 1, c), 0, None, length=length)[0] == 2


def test_lengths_of_scans_that_are_none_are_refused() -> None:
    for length, error in (("a", ValueError), (-1, ValueError), ([2], TypeError), (1j, TypeError)):
        with pytest.raises(error, match=r"`length` argument to `scan` must"):
            lax.scan(lambda c, _: (c + 1, c), 0, None, length=length)


def test_bounds_beyond_their_dtype_are_refused() -> None:
    with pytest.raises(
        OverflowError, match="a bound of fori_loop must be an integer of dtype int32"
    ):
        lax.fori_loop(0, np.int64(2**40), lambda i, c: c, 0)
