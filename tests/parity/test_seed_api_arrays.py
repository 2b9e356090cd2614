"""The interface that the two seed chapters stand on: arrays, `numpy` and `lax`.

See `test_seed_api.py`. A class is a section; each test asserts one statement.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax, random
from tests.parity.seed import M, V, message, text

FLAGS = np.array([True, False, True])


class TestArrays:
    """2: arrays."""

    def test_attributes_are_those_of_numpy(self):
        a = jnp.asarray(M)
        assert (a.shape, a.ndim, a.size, a.T.shape) == ((2, 3), 2, 6, (3, 2))
        assert a.dtype == jnp.float32
        names = (str(x.dtype) for x in (a, random.PRNGKey(0), random.key(0)))
        assert list(names) == ["float32", "uint32", "key<fry>"]

    def test_shapes_are_known_while_tracing(self):
        shapes = []
        jax.jit(lambda a: shapes.append((a.shape, a.ndim, a.size)) or a)(M)
        assert shapes == [((2, 3), 2, 6)]

    def test_methods(self):
        a = jnp.asarray(M)
        assert (a.sum(), a.mean(), a.max(), a.min()) == (15.0, 2.5, 5.0, 0.0)
        assert a.reshape(3, 2).shape == a.reshape((3, -1)).shape == (3, 2)
        assert a.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        assert (a > -1).all()
        assert a.block_until_ready() is a

    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_methods_reduce_along_axes(self, axis):
        a = jnp.asarray(M)
        np.testing.assert_array_equal(a.sum(axis), M.sum(axis))
        np.testing.assert_array_equal(a.mean(axis=axis), M.mean(axis))

    @pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
    def test_conversions_also_of_traced_arrays(self, dtype):
        for a in (V, V.astype(np.int32), V > 1):
            found = jax.jit(lambda a: jnp.asarray(a).astype(dtype))(a)
            np.testing.assert_array_equal(found, a.astype(dtype))
            assert found.dtype == dtype

    @pytest.mark.parametrize("where", [1, slice(0, 2), np.array([2, 0])])
    def test_updates_return_new_arrays(self, where):
        a, expected = jnp.asarray(V), V.copy()
        expected[where] = 9.0
        np.testing.assert_array_equal(a.at[where].set(9.0), expected)
        np.testing.assert_array_equal(a, V)

    def test_updates_add_at_repeated_places_and_set_flags(self):
        np.testing.assert_array_equal(jnp.zeros(2).at[np.array([0, 0, 1])].add(1.0), [2, 1])
        np.testing.assert_array_equal(jnp.asarray(FLAGS).at[0].set(False), [False, False, True])

    @pytest.mark.parametrize(
        "where",
        [0, -1, slice(1, None), slice(None, None, -1), None, ..., (0, 0), (slice(None), 1),
         np.array([1, 0, 1]), (..., None)],
        ids=str,
    )  # fmt: skip
    def test_indexing_is_that_of_numpy(self, where):
        np.testing.assert_array_equal(jnp.asarray(M)[where], M[where])

    def test_indices_may_be_traced(self):
        ids = np.array([2, 0, 2])
        np.testing.assert_array_equal(jax.jit(lambda a, i: a[i])(V, ids), V[ids])

    def test_iteration_unpacking_and_length(self):
        a = jnp.asarray(M)
        assert len(a) == 2
        assert [row.shape for row in a] == [(3,), (3,)]
        x, y = jax.jit(lambda pair: (lambda x, y: (y, x))(*pair))(V[:2])
        assert (x, y) == (2.0, 1.0)

    @pytest.mark.parametrize("other", [2, 2.0, np.float64(2), V + 1, jnp.float32(2)], ids=str)
    def test_operators_with_all_kinds_of_operands_stay_in_float32(self, other):
        a = jnp.asarray(V)
        for found, expected in (
            (a + other, V + other), (other - a, other - V), (a * other, V * other),
            (other / a, other / V), (a // other, V // other), (a % other, V % other),
            (a**other, V**other), (-a, -V),
        ):  # fmt: skip
            assert found.dtype == jnp.float32
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        for found, expected in ((a < other, V < other), (a == other, V == other)):
            np.testing.assert_array_equal(found, expected)

    def test_products_and_flags(self):
        np.testing.assert_array_equal(jnp.asarray(M) @ V, M @ V)
        np.testing.assert_array_equal(jnp.asarray(FLAGS) & ~FLAGS, [False] * 3)

    def test_a_square_is_an_integer_power(self):
        assert "integer_pow[y=2]" in text(lambda x: x**2, V)

    def test_scalars_become_python_numbers(self):
        a = jnp.asarray(2.5)
        assert (float(a), int(a), bool(a)) == (2.5, 2, True)

    def test_scalars_are_formatted(self):
        a = jnp.float32(2.5)
        assert (f"{a:.2f}", f"{a}", "%.3f" % a) == ("2.50", "2.5", "2.500")  # noqa: UP031
        assert (sum(jnp.asarray(V)), abs(-a)) == (6.0, 2.5)

    @pytest.mark.parametrize(
        ("value", "printed"),
        [
            (True, "True"), (np.float32(-4.6), "-4.6"), (6.0, "6.0"), (1024, "1024"),
            (V, "[1. 2. 3.]"),
        ],
        ids=str,
    )  # fmt: skip
    def test_arrays_print_as_in_numpy(self, value, printed):
        assert str(jnp.asarray(value)) == printed

    def test_long_arrays_are_broken_at_75_characters(self):
        lines = str(jnp.arange(0, 1, 0.01)).splitlines()
        assert max(map(len, lines)) <= 75
        assert str(jnp.array([[0.0, 10.0], [1e20, 1.0]])).startswith("[[0.e+00 1.e+01]")

    def test_representations_tell_dtype_and_weakness(self):
        assert repr(jnp.float32(1)) == "Array(1., dtype=float32)"
        assert repr(jnp.asarray(1.0)) == "Array(1., dtype=float32, weak_type=True)"
        assert repr(jnp.array([0.0, 5.0, 10.0])) == "Array([ 0.,  5., 10.], dtype=float32)"

    def test_numpy_converts_and_computes(self):
        a = jnp.asarray(V)
        assert np.asarray(a, np.float64).dtype == np.float64
        assert np.allclose(a, V)
        assert not np.isnan(a).any()
        assert np.array_equal(np.sqrt(a), np.sqrt(V))
        assert np.array_equal(np.argsort(a), [0, 1, 2])
        assert np.ravel(jnp.asarray(M)).shape == (6,)
        assert np.isneginf(jnp.array([-jnp.inf]))[0]

    def test_python_scalars_do_not_widen_and_weak_integers_may_become_floats(self):
        assert (jnp.ones(2, jnp.float16) * 2.5).dtype == jnp.float16
        assert lax.scan(lambda c, x: (c + x, None), 0, V)[0].dtype == jnp.float32

    def test_default_dtypes(self):
        found = [jnp.array(1.5), jnp.array(1), jnp.sum(jnp.asarray(FLAGS)), jnp.sqrt(jnp.array(4))]
        assert [str(x.dtype) for x in found] == ["float32", "int32", "int32", "float32"]

    def test_traced_values_refuse_python_control_flow(self):
        for f, error in (
            (lambda x: 1 if x else 2, jax.errors.TracerBoolConversionError),
            (lambda x: len(range(x)), jax.errors.TracerIntegerConversionError),
            (float, jax.errors.ConcretizationTypeError),
        ):
            message(error, jax.jit(f), 1)


class TestNumpy:
    """3: numpy."""

    def test_arrays_from_lists_scalars_and_tracers(self):
        assert jnp.array([[1, 2], [3, 4]]).shape == (2, 2)
        assert jnp.array([1, 2], jnp.float32).dtype == jnp.float32
        found = jax.jit(lambda v, x: jnp.array([v, -(2.0**2) * x]))(1.0, 3.0)
        np.testing.assert_array_equal(found, [1, -12])
        assert jnp.asarray(V, jnp.int32).dtype == jnp.int32

    def test_filled_arrays(self):
        assert (jnp.zeros(2).shape, jnp.ones((2, 3)).shape, jnp.full(3, 7)[0]) == ((2,), (2, 3), 7)
        assert jnp.zeros((), jnp.int32).dtype == jnp.int32
        np.testing.assert_array_equal(jnp.ones_like(M), np.ones((2, 3)))

    def test_ranges(self):
        assert (jnp.arange(3).dtype, jnp.arange(3.0).dtype) == (jnp.int32, jnp.float32)
        np.testing.assert_array_equal(jnp.arange(1, 4, dtype=jnp.float32), V)
        np.testing.assert_allclose(jnp.linspace(0, 1, 5), [0, 0.25, 0.5, 0.75, 1])

    def test_joining_and_splitting(self):
        assert jnp.concatenate([V, V]).shape == (6,)
        assert jnp.stack([V, V]).shape == (2, 3)
        assert [x.shape for x in jnp.split(jnp.arange(8), 4)] == [(2,)] * 4

    @pytest.mark.parametrize(
        "name", ["sum", "mean", "max", "var", "median", "cumsum", "any", "all"]
    )
    def test_reductions_take_axes_by_position_by_name_and_from_the_end(self, name):
        ours, theirs = getattr(jnp, name), getattr(np, name)
        for found, expected in (
            (ours(M, axis=1), theirs(M, axis=1)),
            (ours(M, 0), theirs(M, 0)),
            (ours(M, axis=-1), theirs(M, axis=-1)),
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-6)

    @pytest.mark.parametrize("name", ["sin", "cos", "tanh", "exp", "log", "sqrt", "abs"])
    def test_functions_of_one_element(self, name):
        np.testing.assert_allclose(getattr(jnp, name)(V), getattr(np, name)(V), rtol=1e-6)

    def test_functions_of_two_elements(self):
        np.testing.assert_array_equal(jnp.add(V, 1), V + 1)
        np.testing.assert_array_equal(jnp.maximum(V, 2), [2, 2, 3])
        np.testing.assert_array_equal(jnp.minimum(V, 2), [1, 2, 2])
        np.testing.assert_array_equal(jnp.clip(V, 2), [2, 2, 3])

    def test_functions_are_branches_and_operators_as_they_are(self):
        assert lax.cond(True, jnp.sin, jnp.cos, 0.0) == 0.0
        np.testing.assert_array_equal(lax.associative_scan(jnp.add, V), [1, 3, 6])

    def test_products(self):
        for x, y in ((V, V), (M, V), (V[:2], M), (M, M.T)):
            np.testing.assert_array_equal(jnp.dot(x, y), np.dot(x, y))
        np.testing.assert_array_equal(jnp.tensordot(M, V, axes=1), M @ V)

    def test_three_ways_to_write_a_batched_product_are_one_program(self):
        a, b = np.ones((2, 3, 4), np.float32), np.ones((2, 4, 5), np.float32)
        ways = (jax.vmap(jnp.matmul), lambda a, b: jnp.einsum("bnk,bkm->bnm", a, b), jnp.matmul)
        assert len({text(way, a, b) for way in ways}) == 1
        for way in ways:
            np.testing.assert_array_equal(way(a, 2 * b), a @ (2 * b))

    def test_norms_of_matrices_and_rows(self):
        assert np.isclose(jnp.linalg.norm(M), np.linalg.norm(M))
        np.testing.assert_allclose(jnp.linalg.norm(M, axis=1), np.linalg.norm(M, axis=1))

    def test_choices(self):
        np.testing.assert_array_equal(jnp.where(FLAGS, V, 0.0), [1, 0, 3])
        np.testing.assert_array_equal(jnp.select([V < 2, V < 3], [V, 10 * V], 0.0), [1, 20, 0])

    def test_vectorize_adds_axes_in_front(self):
        jacobian = jnp.vectorize(jax.jacfwd(lambda x: x * x[0]), signature="(n)->(m,n)")
        found = jacobian(np.full((4, 5, 2), [2, 3], np.float32))
        np.testing.assert_array_equal(found, np.broadcast_to([[4, 0], [3, 2]], (4, 5, 2, 2)))

    def test_sorting_and_deleting(self):
        x = np.array([3.0, 1.0, 2.0], np.float32)
        np.testing.assert_array_equal(jnp.argsort(x), [1, 2, 0])
        np.testing.assert_array_equal(jnp.sort(x), V)
        np.testing.assert_array_equal(jnp.delete(jnp.asarray(V), 1), [1, 3])

    def test_allclose_has_the_tolerances_of_numpy_and_no_equal_nans(self):
        assert jnp.allclose(1.0, 1.0 + 9e-6)
        assert not jnp.allclose(1.0, 1.0 + 2e-5)
        assert jnp.allclose(0.0, 9e-9)
        assert not jnp.allclose(0.0, 2e-8)
        assert not jnp.allclose(jnp.nan, jnp.nan)
        assert jnp.allclose(1.0, 1.1, rtol=0.2, atol=0)

    def test_questions(self):
        assert jnp.array_equal(V, V)
        assert not jnp.isnan(V).any()
        assert jnp.isfinite(V).all()
        assert jnp.issubdtype(jnp.int32, jnp.integer)
        assert jax.tree.map(jnp.shape, {"a": M, "b": 1.0}) == {"a": (2, 3), "b": ()}

    def test_types_of_scalars_make_strong_scalars(self):
        assert not jnp.int32(0).weak_type
        assert (jnp.float32(2).dtype, jnp.inf, jnp.pi) == (jnp.float32, np.inf, np.pi)

    def test_a_large_mask_value_overflows_in_half_precision_only(self):
        assert jnp.isneginf(jnp.float32(-1e9).astype(jnp.float16))
        assert jnp.isfinite(jnp.float32(-1e9).astype(jnp.bfloat16))
        assert jnp.finfo(jnp.float16).min == np.finfo(np.float16).min

    def test_randn_does_not_exist(self):
        found = message(AttributeError, lambda: jnp.randn)
        assert found == "module 'jax.numpy' has no attribute 'randn'"


class TestScan:
    """4: scan."""

    def test_it_returns_the_carry_and_the_stacked_results(self):
        carry, ys = lax.scan(lambda c, x: (c + x, c * x), 0.0, V)
        np.testing.assert_array_equal(ys, [0, 2, 9])
        assert carry == 6.0

    def test_without_xs_the_body_gets_none_and_the_length_is_needed(self):
        seen = []
        carry, ys = lax.scan(lambda c, x: (c * 2, seen.append(x)), 1.0, None, length=4)
        assert (carry, ys, seen) == (16.0, None, [None])

    def test_the_body_is_traced_once(self):
        calls = []
        lax.scan(lambda c, x: (calls.append(x.shape) or c, x), 0.0, np.ones((50, 2)))
        assert calls == [(2,)]

    def test_all_parts_may_be_trees(self):
        def body(c, x):
            return (c[0] + x["a"], c[1] * x["b"][0]), (c[0], {"y": c[1]})

        carry, ys = lax.scan(body, (0.0, 1.0), {"a": V, "b": (V,)})
        assert carry == (6.0, 6.0)
        np.testing.assert_array_equal(ys[1]["y"], [1, 1, 2])

    def test_in_reverse_results_keep_their_places(self):
        np.testing.assert_array_equal(
            lax.scan(lambda c, x: (c + x, c + x), 0.0, V, reverse=True)[1], [6, 5, 3]
        )

    @pytest.mark.parametrize("unroll", [4, True])
    def test_unrolling_changes_no_result(self, unroll):
        body = lambda c, x: (c * 0.5 + x, c)  # noqa: E731
        xs = np.arange(10, dtype=np.float32)
        for found, expected in zip(
            lax.scan(body, 0.0, xs, unroll=unroll), lax.scan(body, 0.0, xs), strict=True
        ):
            np.testing.assert_array_equal(found, expected)

    def test_unrolling_shows_on_a_line_of_its_own(self):
        program = text(lambda xs: lax.scan(lambda c, x: (c + x, c), 0.0, xs, unroll=4), V)
        assert "unroll=4" in [line.strip() for line in program.splitlines()]

    def test_the_length_must_agree(self):
        f = lambda: lax.scan(lambda c, x: (c, x), 0.0, np.ones(5), length=4)  # noqa: E731
        wanted = "scan got `length` argument of 4 which disagrees with leading axis sizes [5]."
        assert message(ValueError, f) == wanted

    def test_a_body_of_one_argument_has_the_message_of_python(self):
        found = message(TypeError, lax.scan, lambda c: c, 0.0, None, length=2)
        assert found.endswith("<lambda>() takes 1 positional argument but 2 were given")

    @pytest.mark.parametrize(
        ("init", "body", "second"),
        [
            (
                jnp.int32(0), lambda c, x: (c + 1.5, x),
                "The input carry c has type int32[] but the corresponding output carry component "
                "has type float32[], so the dtypes do not match.",
            ),
            (
                jnp.float32(0), lambda c, x: (jnp.stack([c, c]), x),
                "The input carry c has type float32[] but the corresponding output carry component "
                "has type float32[2], so the shapes do not match.",
            ),
        ],
    )  # fmt: skip
    def test_carries_must_keep_their_types(self, init, body, second):
        paragraphs = message(TypeError, lax.scan, body, init, V).split("\n\n")
        first = "scan body function carry input and carry output must have equal types, but they"
        assert paragraphs[0].startswith(first)
        assert paragraphs[1] == second

    def test_carries_must_keep_their_structure(self):
        paragraphs = message(TypeError, lax.scan, lambda c, x: ((c, c), x), 0.0, V).split("\n\n")
        assert "must have the same pytree structure" in paragraphs[0]
        # The class is that of this package: no module pretends to be another one.
        assert re.match(r"The input carry c is a <class '[\w.]+ShapedArray'> but", paragraphs[1])
        assert "is a <class 'tuple'>, so their Python types differ" in paragraphs[1]

    def test_a_batch_keeps_one_loop(self):
        f = jax.vmap(lambda xs: lax.scan(lambda c, x: (c + x, None), 0.0, xs)[0])
        assert text(f, M).count("scan[") == 1
        np.testing.assert_array_equal(f(M), M.sum(1))


class TestBranches:
    """4: cond, switch, select_n."""

    def test_both_branches_are_traced_and_one_runs(self, capsys):
        traced = []

        def branch(name):
            return lambda x: traced.append(name) or jax.debug.print(name) or x

        f = jax.jit(lambda p, x: lax.cond(p, branch("then"), branch("else"), x))
        f(True, 1.0)
        assert (sorted(traced), capsys.readouterr().out) == (["else", "then"], "then\n")

    def test_operands_may_be_several_trees_or_none(self):
        assert lax.cond(True, lambda a, b: a["x"] + b, lambda a, b: b, {"x": 1.0}, 2.0) == 3.0
        assert lax.cond(False, lambda: 1, lambda: 2) == 2

    def test_a_mapped_predicate_selects_and_a_shared_one_branches(self):
        f = lambda p, x: lax.cond(p, jnp.sin, lambda x: x, x)  # noqa: E731
        mapped, shared = text(jax.vmap(f), FLAGS, V), text(jax.vmap(f, (None, 0)), True, V)
        assert ("cond[" in mapped, "select_n" in mapped, "cond[" in shared) == (False, True, True)
        assert "stop_gradient" in mapped

    def test_results_must_be_of_equal_types(self):
        found = message(TypeError, lax.cond, True, lambda: 1, lambda: 1.5)
        first = "cond branches must have equal output types but they differ."
        assert found.splitlines()[0] == first

    def test_the_predicate_must_be_a_scalar(self):
        found = message(TypeError, lax.cond, jnp.array([True, False]), lambda: 1, lambda: 2)
        assert found == "Pred must be a scalar, got [ True False] of shape (2,)."

    @pytest.mark.parametrize(("index", "value"), [(0, 10), (1, 11), (5, 12), (-3, 10)])
    def test_indices_of_switch_are_clamped(self, index, value):
        assert lax.switch(index, [lambda: 10, lambda: 11, lambda: 12]) == value

    def test_switch_prints_as_cond_and_mapped_as_selection(self):
        f = lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x)  # noqa: E731
        assert "cond[" in text(f, 1, 1.0)
        mapped = text(jax.vmap(f), np.arange(3), V)
        assert ("cond[" in mapped, "select_n" in mapped) == (False, True)

    def test_selection_counts_from_the_false_case_and_does_not_broadcast(self):
        np.testing.assert_array_equal(lax.select_n(FLAGS, V, -V), [-1, 2, -3])
        np.testing.assert_array_equal(lax.select_n(np.array([2, 0, 1]), V, 10 * V, -V), [-1, 2, 30])
        message(TypeError, lax.select_n, FLAGS, V, jnp.ones((1,)))


class TestLoops:
    """4: while_loop, fori_loop, associative_scan, map."""

    def test_while_stops_when_the_condition_is_false_and_carries_trees(self):
        state = {"x": 1, "n": 0}
        found = lax.while_loop(
            lambda s: s["x"] < 100, lambda s: {"x": 2 * s["x"], "n": s["n"] + 1}, state
        )
        assert found == {"x": 128, "n": 7}

    def test_while_has_no_reverse_mode(self):
        f = lambda x: lax.while_loop(lambda c: c < 9.0, lambda c: c * 2, x)  # noqa: E731
        wanted = (
            "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
            "dynamic start/stop values. Try using lax.scan, or using fori_loop with static "
            "start/stop."
        )
        assert message(ValueError, jax.grad(f), 1.0) == wanted

    def test_a_batch_runs_until_all_are_done_and_freezes_those_that_are(self):
        def f(n):
            return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, 1))

        np.testing.assert_array_equal(jax.vmap(f)(np.array([0, 3, 5]))[1], [1, 8, 32])

    def test_known_bounds_make_a_scan_and_traced_ones_a_while(self):
        f = lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0)  # noqa: E731
        assert ("scan[" in text(lambda: f(5)), "while[" in text(f, 5)) == (True, True)
        assert (f(5), jax.jit(f)(5)) == (10, 10)

    def test_prefixes_of_tuples(self):
        def join(left, right):
            return left[0] * right[0], left[1] * right[0] + right[1]

        a = np.array([0.5, 2.0, 3.0], np.float32)
        found, h = lax.associative_scan(join, (a, V))[1], []
        for factor, x in zip(a, V, strict=True):
            h.append(factor * (h[-1] if h else 0.0) + x)
        np.testing.assert_allclose(found, h)

    def test_map_is_vmap_in_a_loop_and_takes_trees(self):
        f = lambda pair: pair[0] * pair[1]  # noqa: E731
        np.testing.assert_array_equal(lax.map(f, (V, V)), V * V)
        assert "scan[" in text(lambda x: lax.map(jnp.sin, x), V)

    def test_map_in_blocks_handles_the_remainder_apart(self):
        x = np.arange(10, dtype=np.float32)
        f = lambda x: lax.map(jnp.sin, x, batch_size=4)  # noqa: E731
        np.testing.assert_array_equal(f(x), jnp.sin(x))
        program = text(f, x)
        for part in (
            "slice[limit_indices=(8,) start_indices=(0,) strides=None]",
            "reshape[dimensions=None new_sizes=(2, 4) sharding=None]",
            "scan[", "concatenate[dimension=0]",
        ):  # fmt: skip
            assert part in program
