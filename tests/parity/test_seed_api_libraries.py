"""The interface that the two seed chapters stand on: libraries, errors, texts, memory.

See `test_seed_api.py`. A class is a section; each test asserts one statement. The texts of
messages, section 10, are asserted where what raises them is: in all three files.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re

import numpy as np
import pytest

import tapeless as jax
import tapeless.ad_checkpoint
import tapeless.numpy as jnp
from tapeless import lax, nn, random
from tests.parity.seed import M, V, message, text

IDS = np.array([0, 0, 2])


class TestRandom:
    """5: random."""

    def test_keys_have_a_type_of_their_own(self):
        key = random.key(0)
        assert (str(key.dtype), key.shape) == ("key<fry>", ())

    def test_keys_of_the_old_kind_are_arrays_with_the_same_bits(self):
        old = random.PRNGKey(7)
        assert (str(old.dtype), old.shape) == ("uint32", (2,))
        np.testing.assert_array_equal(random.key_data(random.key(7)), old)

    @pytest.mark.parametrize("make", [random.key, random.PRNGKey])
    def test_keys_split_unpack_and_index(self, make):
        a, b = random.split(make(0))
        many = random.split(make(0), 5)
        assert many.shape[0] == len(many) == 5
        assert random.normal(a) != random.normal(b)
        assert jax.vmap(random.normal)(many).shape == (5,)
        assert random.normal(many[3]).shape == ()

    def test_uniform_numbers_lie_between_0_and_1(self):
        u = random.uniform(random.key(0), (10_000,))
        assert 0 <= u.min() < 0.01
        assert 0.99 < u.max() < 1

    def test_the_stream_is_that_of_the_reference(self):
        np.testing.assert_array_equal(
            random.bits(random.key(0), (3,)),
            np.array([4070199207, 4202968722, 1427181096], np.uint32),
        )

    def test_choices_are_members(self):
        drawn = random.choice(random.key(0), np.array([-1, 1]), shape=(1000,))
        assert set(np.asarray(drawn).tolist()) == {-1, 1}
        assert abs(drawn.mean()) < 0.1

    def test_folding_makes_other_keys(self):
        keys = [random.fold_in(random.key(0), n) for n in (0, 1)]
        assert random.normal(keys[0]) != random.normal(keys[1])

    def test_samplers_take_one_key(self):
        found = message(ValueError, random.normal, random.split(random.PRNGKey(0)), (3,))
        assert found.startswith(
            "normal accepts a single key, but was given a key array of shape (2, 2) != (). Use "
            "jax.vmap for batching."
        )

    def test_the_smaller_draw_is_the_beginning_of_the_larger(self):
        large, small = (random.normal(random.key(0), shape) for shape in ((5, 5), (5, 3)))
        np.testing.assert_array_equal(small.ravel(), large.ravel()[:15])

    def test_one_key_gives_one_order_to_all_distributions(self):
        u, n = random.uniform(random.key(1), (5000,)), random.normal(random.key(1), (5000,))
        np.testing.assert_array_equal(np.argsort(u), np.argsort(n))
        assert 0.97 < np.corrcoef(u, n)[0, 1] < 0.985

    def test_split_keys_give_independent_numbers(self):
        a, b = random.split(random.key(1))
        x, y = random.uniform(a, (5000,)), random.normal(b, (5000,))
        assert abs(np.corrcoef(x, y)[0, 1]) < 0.05


class TestNeuralNetworks:
    """6: nn, tree, tree_util."""

    def test_softmax_is_stable(self):
        np.testing.assert_allclose(nn.softmax(jnp.full(4, -1e9)), [0.25] * 4)
        assert np.isnan(nn.softmax(jnp.full(4, -jnp.inf))).all()
        np.testing.assert_allclose(nn.softmax(M, axis=0).sum(0), 1.0, rtol=1e-6)

    def test_masked_softmax_is_zero_where_masked(self):
        mask = np.array([[True, False, True], [False, False, False]])
        found = nn.softmax(M, axis=-1, where=mask)
        np.testing.assert_allclose(found[0], nn.softmax(np.where(mask, M, -1e9)[0]), rtol=1e-6)
        assert found[0, 1] == 0.0
        np.testing.assert_array_equal(found[1], [0, 0, 0])

    def test_activations(self):
        np.testing.assert_array_equal(nn.relu(V - 2), [0, 0, 1])
        np.testing.assert_allclose(nn.sigmoid(V), 1 / (1 + np.exp(-V)), rtol=1e-6)

    def test_maps_over_trees(self):
        found = jax.tree.map(lambda *xs: sum(xs), {"b": 1, "a": (2,)}, {"b": 10, "a": (20,)})
        assert str(found) == "{'a': (22,), 'b': 11}"
        assert jax.tree.map(jnp.shape, {"w": M}) == {"w": (2, 3)}
        assert jax.tree_util.tree_map(abs, [-1]) == [1]

    def test_trees_are_taken_apart_and_put_together(self):
        tree = {"b": 1, "a": [2, (3, 4)]}
        leaves, structure = jax.tree.flatten(tree)
        assert leaves == jax.tree.leaves(tree) == [2, 3, 4, 1]
        assert jax.tree.unflatten(structure, leaves) == tree
        assert structure == jax.tree.structure(tree) != jax.tree.structure([1])


class TestSegments:
    """7: ops."""

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("sum", [3, 0, 3, 0]), ("max", [2, -np.inf, 3, -np.inf]),
            ("min", [1, np.inf, 3, np.inf]), ("prod", [2, 1, 3, 1]),
        ],
    )  # fmt: skip
    def test_segments_and_what_empty_ones_have(self, name, expected):
        f = getattr(jax.ops, f"segment_{name}")
        np.testing.assert_array_equal(f(V, IDS, num_segments=4), expected)

    def test_empty_segments_of_integers_have_the_extremes(self):
        data = np.array([1, 2, 3], np.int32)
        info = np.iinfo(np.int32)
        assert jax.ops.segment_max(data, IDS, num_segments=2)[1] == info.min
        assert jax.ops.segment_min(data, IDS, num_segments=2)[1] == info.max

    def test_ids_outside_are_dropped(self):
        found = jax.ops.segment_sum(V, np.array([0, 9, -1]), num_segments=2)
        np.testing.assert_array_equal(found, [1, 0])

    def test_the_number_of_segments_is_needed_under_jit_only(self):
        assert jax.ops.segment_sum(V, IDS).shape == (3,)
        with pytest.raises(jax.errors.ConcretizationTypeError) as caught:
            jax.jit(jax.ops.segment_sum)(V, IDS)
        assert type(caught.value).__name__ == "ConcretizationTypeError"

    def test_sorted_ids_may_be_promised(self):
        found = jax.ops.segment_sum(V, IDS, num_segments=3, indices_are_sorted=True)
        np.testing.assert_array_equal(found, [3, 0, 3])


class TestDebugging:
    """8: debug, ad_checkpoint, checkpoint_policies."""

    def test_prints_run_with_the_program_once_per_example_in_order(self):
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            jax.vmap(lambda v: jax.debug.print("{}", v))(M)
            jax.effects_barrier()
        assert stream.getvalue() == "[0. 1. 2.]\n[3. 4. 5.]\n"

    def test_both_branches_of_a_mapped_condition_print(self, capsys):
        def show(name):
            return lambda x: jax.debug.print(name + " {}", x)

        f = lambda p, x: lax.cond(p, show("then"), show("else"), x)  # noqa: E731
        jax.vmap(f)(np.array([True, False]), np.arange(2))
        jax.effects_barrier()
        printed = sorted(capsys.readouterr().out.splitlines())
        assert printed == ["else 0", "else 1", "then 0", "then 1"]

    def test_what_a_backward_pass_keeps_is_listed(self, capsys):
        def f(w):
            return jnp.sum(jnp.sin(w * 2.0))

        jax.ad_checkpoint.print_saved_residuals(f, V)
        assert re.search(r"f32\[3\] output of cos from .*:\d+:\d+ \(.*f\)", capsys.readouterr().out)

    def test_arguments_are_listed_by_their_names(self, capsys):
        jax.ad_checkpoint.print_saved_residuals(lambda w: jnp.sum(w * w * w), V)
        assert "f32[3] from the argument w" in capsys.readouterr().out

    def test_policies_are_there(self):
        wanted = (
            "dots_saveable nothing_saveable everything_saveable dots_with_no_batch_dims_saveable "
            "save_only_these_names"
        )
        assert all(hasattr(jax.checkpoint_policies, name) for name in wanted.split())


class TestErrors:
    """9: errors."""

    def test_their_families(self):
        errors = jax.errors
        assert issubclass(errors.TracerBoolConversionError, errors.ConcretizationTypeError)
        assert issubclass(errors.ConcretizationTypeError, TypeError)
        integer = errors.TracerIntegerConversionError
        assert not issubclass(integer, errors.ConcretizationTypeError)

    def test_a_traced_value_that_is_kept_cannot_be_used_later(self):
        kept = []
        jax.jit(lambda x: kept.append(x) or x)(1.0)
        with pytest.raises(jax.errors.UnexpectedTracerError) as caught:
            kept[0] + 1
        assert type(caught.value).__name__ == "UnexpectedTracerError"
        assert "JAX_CHECK_TRACER_LEAKS" in str(caught.value)


class TestPrograms:
    """11: programs in print."""

    @pytest.mark.parametrize(
        ("program", "printed"),
        [
            (lambda: text(lambda x: 2.0 * x, V),
             "{ lambda ; a:f32[3]. let b:f32[3] = mul 2.0:f32[] a in (b,) }"),
            (lambda: text(jax.vmap(jnp.add), np.ones(9, np.float32), np.ones(9, np.float32)),
             "{ lambda ; a:f32[9] b:f32[9]. let c:f32[9] = add a b in (c,) }"),
        ],
    )  # fmt: skip
    def test_short_programs_are_one_line(self, program, printed):
        assert program() == printed

    def test_constants_stand_before_the_inputs(self):
        w = jnp.ones((3, 3))
        lines = text(lambda x: jnp.sin(w @ x), V).splitlines()
        assert lines[0] == "{ lambda a:f32[3,3]; b:f32[3]. let"
        assert lines[1] == "    c:f32[3] = dot_general["
        assert lines[2].strip() == "dimension_numbers=(([1], [0]), ([], []))"
        assert lines[3].strip() == "preferred_element_type=float32"
        assert lines[-1] == "  in (d,) }"

    def test_parameters_of_reductions_under_vmap(self):
        assert "reduce_sum[axes=(0,) out_sharding=None]" in text(jnp.sum, V)
        mapped = text(jax.vmap(jnp.sum), M)
        assert "reduce_sum[axes=(np.int64(1),) out_sharding=None]" in mapped

    def test_batch_dimensions_of_products(self):
        a, b = np.ones((4, 3), np.float32), np.ones((4, 3), np.float32)
        assert "dimension_numbers=(([1], [1]), ([0], [0]))" in text(jax.vmap(jnp.dot), a, b)

    def test_a_condition_prints_its_branches_the_false_one_first(self):
        lines = text(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), True, 1.0).splitlines()
        assert (
            lines[1].strip() == "c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] a"
        )
        inner = [line.strip() for line in lines]
        start = inner.index("branches=(")
        assert (" = cos " in inner[start + 1], " = sin " in inner[start + 2]) == (True, True)
        assert inner[-2] == "] c b"

    def test_a_scan_prints_its_parameters(self):
        """Those of the program inside it; how results are sorted is written otherwise in JAX."""
        lines = [line.strip() for line in text(lambda x: lax.map(jnp.sin, x), V).splitlines()]
        assert lines[1] == "b:f32[3] = scan["
        assert "jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }" in lines
        assert {"length=3", "reverse=False", "unroll=1"} <= set(lines)

    def test_an_inner_program_prints_behind_its_name(self):
        program = text(lambda x: jax.jit(lambda y: jnp.sin(y))(x) + 1.0, V)
        lines = [line.strip() for line in program.splitlines()]
        start = lines.index("b:f32[3] = jit[")
        assert lines[start + 1] == "name=<lambda>"
        assert lines[start + 2].startswith("jaxpr={ lambda ; a:f32[3]. let b:f32[3] = sin a in")

    def test_a_shared_matrix_gets_a_batch_axis_in_a_mapped_condition(self):
        w = jnp.ones((4, 4))
        f = lambda p, x: lax.cond(p, lambda x: w @ x, lambda x: x, x)  # noqa: E731
        program = text(jax.vmap(f), np.ones(5, bool), np.ones((5, 4), np.float32))
        assert "f32[5,4,4]" in program

    def test_mapped_and_written_products_are_alike_or_not(self):
        w, x = np.ones((3, 3), np.float32), np.ones((4, 3), np.float32)
        assert text(jax.vmap(lambda v: w @ v), x) != text(lambda x: x @ w.T, x)
        assert text(jax.vmap(jnp.add), V, V) == text(lambda a, b: a + b, V, V)


class TestStableHLO:
    """12: StableHLO text."""

    def test_a_mapped_while_loop_joins_the_conditions_and_selects(self):
        f = jax.vmap(lambda n: lax.while_loop(lambda c: c < n, lambda c: c * 2 + 1, 0))
        lowered = jax.jit(f).lower(np.array([3, 5])).as_text()
        assert "stablehlo.or" in lowered
        assert "stablehlo.select" in lowered

    def test_a_captured_array_is_a_constant_and_makes_the_text_long(self):
        w = jnp.asarray(np.random.default_rng(0).random((300, 300), np.float32))
        captured = jax.jit(lambda x: w @ x).lower(np.ones(300, np.float32)).as_text()
        given = jax.jit(lambda w, x: w @ x).lower(w, np.ones(300, np.float32)).as_text()
        assert "stablehlo.constant dense<" in captured
        assert len(captured) > 100 * len(given)
        assert len(captured) == pytest.approx(720_462, abs=500)

    def test_loops_are_one_while(self):
        f = lambda xs: lax.scan(lambda c, x: (c + x, None), 0.0, xs)[0]  # noqa: E731
        assert jax.jit(f).lower(V).as_text().count("stablehlo.while") == 1


class TestMemory:
    """13: memory_analysis."""

    def analysis(self, f, *args):
        """Return the sizes of a compiled function."""
        return jax.jit(f).lower(*args).compile().memory_analysis()

    def test_results_have_their_bytes(self):
        f = lambda x: x[:, None] * x  # noqa: E731
        assert self.analysis(f, np.ones(100, np.float32)).output_size_in_bytes == 40_000

    @pytest.mark.parametrize("sorts", [True, False])
    def test_blocks_of_a_map_take_more_than_one_example_and_less_than_all(self, sorts):
        w = np.ones((64, 64), np.float32)
        xs = np.ones((512, 64), np.float32)
        one = (lambda x: jnp.sum(jnp.sort(w * x) @ w)) if sorts else lambda x: jnp.tanh(w @ x) @ w
        ways = [
            lambda xs: lax.map(one, xs),
            lambda xs: lax.map(one, xs, batch_size=32),
            jax.vmap(one),
        ]
        sizes = [self.analysis(f, xs).temp_size_in_bytes for f in ways]
        assert sizes == sorted(set(sizes))

    def test_a_mapped_condition_has_the_values_and_the_text_and_less_memory(self):
        """All rows are in the program, as the rule says; the compiler stores no such arrays."""
        rng = np.random.default_rng(0)
        m = rng.normal(size=(64, 64)).astype(np.float32) / 8
        xs = rng.normal(size=(256, 64)).astype(np.float32)

        def expensive(m, x):
            """Multiply with a matrix, again and again."""
            return lax.fori_loop(0, 10, lambda i, v: jnp.tanh(m @ v), x)

        def either(m, x):
            """Take the expensive branch in some rows."""
            return lax.cond(jnp.sum(x) > 0, expensive, lambda m, x: 2 * x, m, x)

        f, all_rows = (jax.vmap(g, (None, 0)) for g in (either, expensive))
        expected = np.where(xs.sum(1, keepdims=True) > 0, all_rows(m, xs), 2 * xs)
        np.testing.assert_allclose(f(m, xs), expected, rtol=1e-4, atol=1e-6)
        assert "f32[256,64,64]" in text(f, m, xs)
        sizes = [self.analysis(g, m, xs).temp_size_in_bytes for g in (f, all_rows)]
        assert 0 < sizes[0] < 10 * sizes[1]
        assert sizes[0] < xs.size * 64  # bytes; the array of the text has four times as many


class TestCompositions:
    """14: transformations of transformations."""

    def test_the_gradient_of_a_batch_needs_a_reduction(self):
        f = lambda w, x: (w * x - 1) ** 2  # noqa: E731
        message(TypeError, jax.grad(jax.vmap(f, (None, 0))), 0.5, V)
        assert jax.vmap(jax.grad(f), (None, 0))(0.5, V).shape == (3,)

    def test_segments_loops_and_checkpoints_are_mapped(self):
        n = np.array([1, 4])
        for f, args in (
            (lambda x: jax.ops.segment_sum(x, IDS, num_segments=3), (M,)),
            (jax.checkpoint(jnp.sin), (M,)),
            (lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0), (n,)),
            (lambda n: lax.switch(n, [lambda: 1.0, lambda: 2.0]), (n,)),
        ):
            found = jax.vmap(f)(*args)
            expected = [f(*row) for row in zip(*args, strict=True)]
            np.testing.assert_allclose(found, np.stack(expected), rtol=1e-6)

    def test_numpy_arrays_are_captured_as_constants_too(self):
        for w in (V, jnp.asarray(V)):
            assert len(jax.make_jaxpr(lambda x: x * w)(2.0).consts) == 1  # noqa: B023

    def test_a_weighted_loss_has_the_weighted_gradients(self):
        f = lambda w, x: jnp.sum((w * x - 1) ** 2)  # noqa: E731
        weights = np.array([0.2, 0.5], np.float32)
        whole = jax.grad(lambda w: jnp.sum(weights * jax.vmap(f, (None, 0))(w, M)))(V)
        each = jax.vmap(jax.grad(f), (None, 0))(V, M)
        np.testing.assert_allclose(whole, weights @ np.asarray(each), rtol=1e-5)

    def test_masked_sequences_equal_those_of_their_own_length(self):
        def run(xs, mask):
            """Fold a sequence where the mask is true."""
            step = lambda c, x: (jnp.where(x[1], jnp.tanh(c + x[0]), c), None)  # noqa: E731
            return lax.scan(step, 0.0, (xs, mask))[0]

        mask = np.array([[True, True, False], [True, True, True]])
        found = jax.jit(jax.vmap(run))(M, mask)
        alone = [run(M[0, :2], mask[0, :2]), run(M[1], mask[1])]
        np.testing.assert_allclose(found, alone, rtol=1e-6)

    def test_checkpoint_in_scan_in_vmap_in_grad_in_jit(self):
        def slope_of(w, saves_less):
            def one(w, xs):
                step = lambda c, x: (jnp.sin(w * c + x), None)  # noqa: E731
                return lax.scan(jax.checkpoint(step) if saves_less else step, 0.0, xs)[0]

            return jax.grad(lambda w: jnp.sum(jax.vmap(one, (None, 0))(w, M)))(w)

        slope = jax.jit(slope_of, static_argnums=1)
        np.testing.assert_allclose(slope(0.5, True), slope(0.5, False), rtol=1e-6)

    def test_an_integrator_with_a_known_number_of_steps_is_differentiated_and_mapped(self):
        @functools.partial(jax.jit, static_argnums=1)
        def decay(y, n):
            return lax.scan(lambda y, _: (y * 0.9, None), y, length=n)[0]

        assert np.isclose(jax.grad(decay)(1.0, 5), 0.9**5)
        np.testing.assert_allclose(jax.vmap(lambda y: decay(y, 5))(V), V * 0.9**5, rtol=1e-6)

    def test_a_frozen_scan_takes_the_steps_of_the_while_loop_and_has_a_gradient(self):
        active = lambda a, x: jnp.abs(x * x - a) >= 1e-6 * a  # noqa: E731
        better = lambda a, x: 0.5 * (x + a / x)  # noqa: E731

        def by_scan(a):
            def step(c, _):
                go = active(a, c[0])
                return (jnp.where(go, better(a, c[0]), c[0]), c[1] + go), None

            return lax.scan(step, (a, 0), length=30)[0]

        def by_while(a):
            step = lambda c: (better(a, c[0]), c[1] + 1)  # noqa: E731
            return lax.while_loop(lambda c: active(a, c[0]), step, (a, 0))

        a = np.array([2.0, 9.0, 0.25], np.float32)
        np.testing.assert_array_equal(jax.vmap(by_scan)(a)[1], jax.vmap(by_while)(a)[1])
        slopes = jax.vmap(jax.grad(lambda a: by_scan(a)[0]))(a)
        np.testing.assert_allclose(slopes, 0.5 / np.sqrt(a), rtol=1e-4)

    def test_compiled_steps_train_a_dict(self):
        @jax.jit
        def step(p, lr=0.1):
            slope = jax.grad(lambda p: jnp.mean((p["w"] * V + p["b"] - 2 * V - 1) ** 2))(p)
            return jax.tree.map(lambda x, g: x - lr * g, p, slope)

        p = {"w": 0.0, "b": 0.0}
        for _ in range(500):
            p = step(p)
        assert (float(p["w"]), float(p["b"])) == pytest.approx((2.0, 1.0), abs=1e-3)

    def test_loops_agree_with_numpy_in_double_precision(self):
        found = lax.scan(lambda c, x: (jnp.tanh(c + x), None), 0.0, V)[0]
        c = 0.0
        for x in V.astype(np.float64):
            c = np.tanh(c + x)
        assert abs(found - c) < 1e-6

    def test_columns_in_and_out_equal_rows(self):
        w = np.ones((4, 2), np.float32)
        columns = jax.vmap(lambda x: w @ x, in_axes=1, out_axes=1)(M)
        np.testing.assert_allclose(columns, jax.vmap(lambda x: w @ x)(M.T).T)
