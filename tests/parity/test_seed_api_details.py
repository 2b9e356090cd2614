"""The interface that the two seed chapters stand on: further parts of the statements.

See `test_seed_api.py`; `seed_api.txt` says which test asserts which statement.
"""

from __future__ import annotations

import importlib
import operator as op
import os
import subprocess
import sys

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax, nn, random
from tests.parity.seed import M, V, message, text

NORMAL = [1.622642159461975, 2.0252647399902344, -0.4335944354534149]  # of key 0
FACTOR = 1.0  # a global that compiled functions read
UNIFORM = [0.48870956897735596, 0.6797971725463867, 0.6162714958190918]  # of key 42


class TestTransformations:
    """1: the module and its transformations."""

    def test_a_while_loop_has_no_vjp(self):
        f = lambda x: lax.while_loop(lambda c: c < 9.0, lambda c: c * 2, x)  # noqa: E731
        value, pull = jax.vjp(jnp.sin, 0.0)
        assert (value, pull(2.0)) == (0.0, (2.0,))
        assert "Reverse-mode" in message(ValueError, lambda: jax.vjp(f, 1.0)[1](1.0))

    def test_results_of_compiled_functions_wait(self):
        assert jax.jit(jnp.sin)(V).block_until_ready().shape == (3,)

    def test_loops_branches_and_nested_maps_are_compiled(self):
        def f(x, y):
            x = lax.scan(lambda c, _: (c * y, None), x, length=3)[0]
            x = lax.while_loop(lambda c: c < 50.0, lambda c: c * 2.0, x)
            return lax.cond(x > 70.0, lambda x: x - 70.0, lambda x: x, x)

        pairs = jax.jit(jax.vmap(jax.vmap(f, (None, 0)), (0, None)))
        expected = [[f(float(x), float(y)) for y in V] for x in V[:2]]
        np.testing.assert_array_equal(pairs(V[:2], V), expected)

    def test_programs_depend_on_the_shape_the_dtype_and_the_static_values(self):
        f = jax.jit(lambda x, n: x * n, static_argnums=1)
        for x, n in ((V, 1), (V, 2), (V.astype(np.int32), 1), (M, 1), (2 * V, 1)):
            f(x, n)
        assert f._cache_size() == 4

    def test_memory_of_a_compiled_function_is_told(self):
        compiled = jax.jit(lambda x: x + 1).lower(V).compile()
        assert compiled.memory_analysis().output_size_in_bytes == 12

    @pytest.mark.parametrize("size", [5, 256])
    def test_the_shape_that_has_no_gradient_is_told(self, size):
        start = f"Gradient only defined for scalar-output functions. Output had shape: ({size},)."
        x = np.ones((2, size), np.float32)
        assert message(TypeError, jax.vmap(jax.grad(jnp.sin)), x).startswith(start)
        assert message(TypeError, jax.grad(jnp.sin), x[0]).startswith(start)
        assert message(TypeError, jax.grad(jax.vmap(jnp.sin)), x[0]).startswith(start)

    def test_jacobians_and_hessians_are_combinations(self):
        f = lambda x: jnp.sum(x**3)  # noqa: E731
        expected = np.diag(6 * V)
        for hessian in (jax.jacfwd(jax.jacrev(f)), jax.jacrev(jax.jacfwd(f))):
            np.testing.assert_allclose(hessian(V), expected)
        rows = jax.vmap(lambda v: jax.jvp(jax.grad(f), (V,), (v,))[1])(np.eye(3, dtype=np.float32))
        np.testing.assert_allclose(rows, expected)
        np.testing.assert_allclose(jax.vmap(jax.jacfwd(jnp.sin))(M)[1], np.diag(np.cos(M[1])))

    def test_gradients_of_tuples_of_floats_and_of_dicts(self):
        assert jax.grad(lambda p: p[0] * p[1])((2.0, 3.0)) == (3.0, 2.0)
        assert jax.grad(lambda p: p["a"] * p["b"])({"a": 2.0, "b": 3.0}) == {"a": 3.0, "b": 2.0}

    def test_without_jit_the_function_is_mapped_anew_at_each_call(self):
        calls = []
        f = jax.vmap(lambda v: calls.append(1) or v * 2)
        f(M), f(M)
        assert len(calls) == 2
        g = jax.jit(f)
        g(M), g(M)
        assert len(calls) == 3

    def test_a_map_with_keywords_and_too_long_axes_is_explained(self):
        found = message(ValueError, jax.vmap(lambda a, b: a, in_axes=(0, None)), V, b=1.0)
        assert found.startswith(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            "positional arguments passed to the function, but got len(in_axes)=2, len(args)=1. "
            "Note that the function was called with keyword arguments ['b'], which the entries of "
            "a tuple in_axes"
        )

    def test_a_tree_of_axes_with_other_keys_is_explained_in_full(self):
        f = jax.vmap(lambda p: p["w"], in_axes=({"w": None, "bias": 0},))
        assert message(ValueError, f, {"w": V, "b": V}).startswith(
            "vmap in_axes specification must be a tree prefix of the corresponding value; \n"
            "  Mismatch details (1 found):\n"
            "  pytree structure error: different pytree metadata at key path\n"
            "    vmap in_axes[0]\n"
            "At that key path, the prefix pytree vmap in_axes has a subtree of type\n"
            "    <class 'dict'>\n"
            "with metadata\n"
            "    ('bias', 'w')\n"
            "but at the same key path the full pytree has a subtree of the same type but with "
            "metadata\n"
            "    ('b', 'w')\n"
        )

    def test_steps_of_two_operations_are_two_equations_each(self):
        def unrolled(x):
            for _ in range(500):
                x = jnp.sin(x) + 1.0
            return x

        assert len(jax.make_jaxpr(unrolled)(1.0).eqns) == 1000

    def test_what_is_an_argument_is_no_constant(self):
        program = jax.make_jaxpr(lambda w, x: w @ x)(M, V)
        assert (len(program.consts), len(program.constvars), len(program.invars)) == (0, 0, 2)
        w = jnp.asarray(M)
        (const,) = jax.make_jaxpr(lambda x: w @ x)(V).consts
        np.testing.assert_array_equal(const, M)

    def test_programs_print_alike_in_all_ways(self, capsys):
        program = jax.make_jaxpr(lambda x: x * 2.0)(V)
        print(program)
        assert capsys.readouterr().out == str(program) + "\n"
        assert program.pretty_print(use_color=False) == str(program)

    def test_a_global_that_changes_later_is_not_seen(self, monkeypatch):
        monkeypatch.setitem(globals(), "FACTOR", 10.0)
        f = jax.jit(lambda x: x * FACTOR)
        first = f(1.0)
        monkeypatch.setitem(globals(), "FACTOR", 100.0)
        assert (first, f(1.0)) == (10.0, 10.0)

    def test_each_product_of_a_factory_has_its_own_program(self):
        calls = []

        def scaled(k):
            return jax.jit(lambda x: calls.append(k) or x * k)

        fs = [scaled(k) for k in (2.0, 3.0)]
        assert [f(1.0) for f in fs + fs] == [2.0, 3.0, 2.0, 3.0]
        assert (calls, [f._cache_size() for f in fs]) == ([2.0, 3.0], [1, 1])

    def test_what_to_do_about_a_result_that_is_no_scalar_is_told(self):
        start = (
            "Gradient only defined for scalar-output functions. Output had shape: (2, 3). "
            "To get the gradient, reduce the output "
        )
        assert message(TypeError, jax.grad(jnp.sin), M).startswith(start)

    def test_a_counted_loop_with_known_bounds_is_differentiated_in_a_compiled_function(self):
        f = lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, 1.0)  # noqa: E731
        assert jax.jit(jax.grad(f))(2.0) == 12.0

    def test_a_while_loop_has_the_gradient_of_custom_vjp(self):
        """Of the fixed point x = (x + a / x) / 2, by the implicit function theorem."""
        step = lambda a, x: 0.5 * (x + a / x)  # noqa: E731
        goes_on = lambda a, x: jnp.abs(x * x - a) >= 1e-6 * a  # noqa: E731

        @jax.custom_vjp
        def root(a):
            return lax.while_loop(lambda x: goes_on(a, x), lambda x: step(a, x), a)

        def pull(x, ct):
            """Solve with the slope of the step at the fixed point."""
            _, by_both = jax.vjp(step, x * x, x)
            by_a, by_x = by_both(ct)
            return (by_a / (1 - by_x / ct),)

        root.defvjp(lambda a: (root(a),) * 2, pull)
        assert float(jax.grad(root)(9.0)) == pytest.approx(1 / 6, rel=1e-5)

    def test_one_number_is_the_axis_of_all_arguments(self):
        found = jax.vmap(lambda x, y: x - 2 * y, in_axes=1)(M, 10 * M)
        np.testing.assert_array_equal(found, (M - 20 * M).T)

    def test_tracing_runs_nothing(self, capsys):
        jax.make_jaxpr(lambda x: jax.debug.print("x {}", x) or x)(1.0)
        jax.effects_barrier()
        assert capsys.readouterr().out == ""

    def test_settings_in_the_environment_are_accepted(self):
        """The one finds what leaks; the other is a workaround that nothing here needs."""
        program = (
            "import tapeless as jax\n"
            "kept = []\n"
            "try: jax.jit(lambda x: kept.append(x) or x)(1.0)\n"
            "except Exception as error: print(str(error).split(' of ')[0])\n"
        )
        flags = "--xla_cpu_experimental_ynn_fusion_type=-reduce"
        settings = {"JAX_CHECK_TRACER_LEAKS": "1", "XLA_FLAGS": flags}
        command = [sys.executable, "-c", program]
        run = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
        assert (run.stdout, run.stderr) == ("Leaked trace\n", "")


class TestValues:
    """2 and 3: arrays and `numpy`."""

    def test_numpy_functions_take_arrays(self):
        a, b = jnp.asarray(V), jnp.asarray(V[::-1].copy())
        assert np.isclose(a, V).all()
        np.testing.assert_allclose(np.corrcoef(a, b), [[1, -1], [-1, 1]])
        np.testing.assert_array_equal(np.unique(jnp.array([2, 1, 2])), [1, 2])
        np.testing.assert_array_equal(np.abs(-a), V)

    def test_arrays_are_walked_through_in_pairs(self):
        assert [float(x * y) for x, y in zip(jnp.asarray(V), jnp.asarray(V), strict=True)] == [
            1,
            4,
            9,
        ]

    def test_double_precision_of_numpy_comes_out_single(self):
        wide = V.astype(np.float64)
        for found in (jnp.asarray(V) * wide, wide * jnp.asarray(V), jnp.asarray(V) + wide[0]):
            assert found.dtype == jnp.float32

    def test_traced_parts_are_joined_and_split(self):
        def f(x):
            left, right = jnp.split(jnp.concatenate([x, 2 * x]), 2)
            return jnp.stack([left, right])

        np.testing.assert_array_equal(jax.jit(f)(V), [V, 2 * V])

    def test_shapes_may_be_asserted_while_tracing(self):
        def f(p):
            assert p["w"].shape[1] == 3
            return p["w"].sum()

        assert jax.jit(f)({"w": M}) == 15.0
        with pytest.raises(AssertionError):
            jax.jit(f)({"w": M.T})

    def test_both_sides_of_where_are_computed(self):
        program = text(lambda x: jnp.where(x > 0, jnp.sin(x), jnp.cos(x)), V)
        assert (" = sin " in program, " = cos " in program) == (True, True)
        assert jnp.where(M > 2, M, 0.0).shape == jnp.where(V > 2, M, 0.0).shape == (2, 3)

    def test_allclose_is_a_truth_value(self):
        assert bool(jnp.allclose(V, V)) is True

    @pytest.mark.parametrize("other", [2, 2.0, np.float64(2), V[::-1].copy()], ids=str)
    def test_all_comparisons_with_the_array_on_either_side(self, other):
        a = jnp.asarray(V)
        compare = (op.lt, op.le, op.eq, op.ne, op.ge, op.gt)
        for relation in compare:
            np.testing.assert_array_equal(relation(a, other), relation(V, other))
            np.testing.assert_array_equal(relation(other, a), relation(other, V))

    @pytest.mark.parametrize("other", [2, 2.0, np.float64(2), 3 - V], ids=str)
    def test_all_operators_with_the_array_on_either_side(self, other):
        a = jnp.asarray(V)
        for operation in (op.add, op.sub, op.mul, op.truediv, op.floordiv, op.mod, op.pow):
            with np.errstate(divide="ignore", invalid="ignore"):
                pairs = [
                    (operation(a, other), operation(V, other)),
                    (operation(other, a), operation(other, V)),
                ]
            for found, expected in pairs:
                assert found.dtype == jnp.float32
                np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_means_take_the_axis_by_position(self):
        np.testing.assert_array_equal(jnp.asarray(M).mean(0), M.mean(0))

    @pytest.mark.parametrize(
        "value",
        [np.linspace(0, 1, 40), [[0.0, 10.0], [1e-4, 1e6]], [1e-20, 1.0], 1 / np.arange(1, 40)],
        ids=["line", "exponents", "tiny", "digits"],
    )
    def test_arrays_print_with_the_digits_and_exponents_of_numpy(self, value):
        value = np.asarray(value, np.float32)
        assert str(jnp.asarray(value)) == str(value)
        assert max(map(len, str(value).splitlines())) <= 75

    def test_arrays_are_made_of_scalars_flags_and_lists_of_arrays(self):
        for value, dtype in ((1, "int32"), (1.5, "float32"), (True, "bool"), ([True], "bool")):
            found = jnp.array(value)
            assert (str(found.dtype), found.tolist()) == (dtype, value)
        np.testing.assert_array_equal(jnp.array([jnp.asarray(V), V]), [V, V])

    @pytest.mark.parametrize("batch", [(), (4,), (2, 1, 3)])
    def test_vectorize_takes_any_number_of_axes_in_front(self, batch):
        outer = jnp.vectorize(lambda x: jnp.outer(x, x), signature="(n)->(m,n)")
        assert outer(np.ones((*batch, 2), np.float32)).shape == (*batch, 2, 2)

    def test_answers_may_be_no(self):
        assert not jnp.array_equal(V, 2 * V)
        assert not jnp.array_equal(V, V[:2])
        np.testing.assert_array_equal(jnp.isnan(np.array([np.nan, 1, np.inf])), [1, 0, 0])
        np.testing.assert_array_equal(jnp.isfinite(np.array([np.nan, 1, np.inf])), [0, 1, 0])
        assert not jnp.issubdtype(jnp.float32, jnp.integer)
        assert not jnp.allclose(np.array([np.nan, 1]), np.ones(2))

    def test_plots_take_arrays(self):
        """What the chapters draw: bars with their numbers, an axis of logarithms."""
        pyplot = pytest.importorskip("matplotlib.pyplot")
        pyplot.switch_backend("Agg")
        figure, (axes, other) = pyplot.subplots(2)
        bars = axes.barh(["a", "b", "c"], jnp.asarray(V))
        axes.set_xscale("log")
        (line,) = other.plot(jnp.asarray(V), jnp.sin(V))
        for value in jnp.asarray(V):
            axes.text(value, 0, f"{value:.1f}")
        figure.tight_layout()
        assert [bar.get_width() for bar in bars] == V.tolist()
        np.testing.assert_allclose(line.get_ydata(), np.sin(V), rtol=1e-6)
        pyplot.close(figure)


class TestControl:
    """4: `lax`."""

    def test_only_the_branch_that_is_taken_runs(self, capsys):
        def f(p, x):
            return lax.cond(p, lambda x: jax.debug.print("then") or x, lambda x: -x, x)

        assert (f(False, 1.0), f(True, 1.0)) == (-1.0, 1.0)
        jax.effects_barrier()
        assert capsys.readouterr().out == "then\n"

    def test_ten_thousand_steps_are_unrolled(self):
        xs = np.full(10_000, 1e-3, np.float32)
        body = lambda c, x: (c * 0.999 + x, None)  # noqa: E731
        found = lax.scan(body, 0.0, xs, unroll=True)[0]
        np.testing.assert_allclose(found, lax.scan(body, 0.0, xs)[0], rtol=1e-5)

    def test_the_body_of_a_counted_loop_gets_the_number_and_the_carry(self):
        seen = []
        out = lax.fori_loop(2, 5, lambda i, c: seen.append((i.shape, c.shape)) or c + i, 0)
        assert (out, seen[0]) == (9, ((), ()))

    def test_carries_of_dicts_and_slices_of_dicts(self):
        out, ys = lax.scan(
            lambda c, x: ({"s": c["s"] + x["a"]}, {"y": x["b"]}), {"s": 0.0}, {"a": V, "b": V}
        )
        assert out == {"s": 6.0}
        np.testing.assert_array_equal(ys["y"], V)

    def test_without_xs_and_length_a_scan_is_refused(self):
        found = message(ValueError, lax.scan, lambda c, x: (c, x), 0.0, None)
        assert found.startswith("scan got no values to scan over and `length` not provided.")

    def test_a_refusal_of_carries_begins_with_its_rule(self):
        found = message(TypeError, lax.scan, lambda c, x: (c + 1.5, x), jnp.int32(0), V)
        assert found.split("\n\n")[0] == (
            "scan body function carry input and carry output must have equal types, but they "
            "differ:"
        )


class TestLibraries:
    """5 to 9: random, nn, tree, ops, debug, errors."""

    def test_drawn_numbers_are_those_of_the_reference(self):
        normal = random.normal(random.key(0), (3,))
        np.testing.assert_allclose(normal, NORMAL, rtol=2e-7)
        np.testing.assert_array_equal(random.uniform(random.key(42), (3,)), np.float32(UNIFORM))

    def test_a_shared_key_array_is_split_by_both_kinds(self):
        keys, raw = random.split(random.key(3), 4), random.split(random.PRNGKey(3), 4)
        np.testing.assert_array_equal(random.key_data(keys), raw)

    def test_tuples_of_numbers_are_trees(self):
        assert jax.tree.leaves({"b": (1, 2), "a": 3}) == [3, 1, 2]
        assert jax.tree.structure({"a": 1, "b": 2}) == jax.tree.structure({"b": 3, "a": 4})

    def test_prints_within_stacked_transformations(self, capsys):
        def f(x):
            jax.debug.print("x {}", x)
            return x * x

        slopes = jax.jit(jax.vmap(jax.grad(f)))(V)
        jax.effects_barrier()
        np.testing.assert_array_equal(slopes, 2 * V)
        assert capsys.readouterr().out == "x 1.0\nx 2.0\nx 3.0\n"

    def test_saved_results_are_told_by_their_operation(self, capsys):
        importlib.import_module("tapeless.ad_checkpoint").print_saved_residuals(
            lambda w: jnp.sum(jnp.sin(jnp.cos(w) * 3.0)), V
        )
        printed = capsys.readouterr().out
        assert "f32[3] output of cos from " in printed
        assert "<lambda>)" in printed

    def test_a_name_that_is_not_defined_is_an_error_of_python(self):
        message(NameError, jax.jit(lambda x: x + not_defined), 1.0)  # noqa: F821

    def test_sums_of_segments_in_a_compiled_function_need_no_number_but_a_static_one(self):
        f = jax.jit(jax.ops.segment_sum, static_argnames="num_segments")
        np.testing.assert_array_equal(f(V, np.array([0, 0, 2]), num_segments=3), [3, 0, 3])

    def test_what_lists_saved_values_is_there_when_it_is_imported(self):
        program = (
            "import tapeless as jax\n"
            "print(hasattr(jax, 'ad_checkpoint'))\n"
            "import tapeless.ad_checkpoint\n"
            "print(hasattr(jax.ad_checkpoint, 'print_saved_residuals'))\n"
        )
        command = [sys.executable, "-c", program]
        run = subprocess.run(command, capture_output=True, text=True)
        assert (run.stdout, run.stderr) == ("False\nTrue\n", "")

    def test_no_value_of_a_softmax_is_too_large(self):
        large = np.array([1e30, 1e30, -1e30], np.float32)
        np.testing.assert_array_equal(nn.softmax(large), [0.5, 0.5, 0])


class TestTexts:
    """11 and 13: programs in print, memory."""

    def test_nested_programs_go_on_with_fresh_letters(self):
        lines = text(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), True, 1.0).splitlines()
        inner = [line.strip() for line in lines]
        start = inner.index("branches=(")
        assert inner[start + 1] == "{ lambda ; e:f32[]. let f:f32[] = cos e in (f,) }"
        assert inner[start + 2] == "{ lambda ; g:f32[]. let h:f32[] = sin g in (h,) }"

    def test_operations_that_a_mapped_condition_becomes(self):
        f = lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x)  # noqa: E731
        program = text(jax.vmap(f), np.array([True, False]), V[:2])
        assert [line.strip() for line in program.splitlines()[1:]] == [
            "c:i32[2] = convert_element_type[new_dtype=int32 weak_type=False] a",
            "d:bool[2] = eq c 0:i32[]", "e:f32[2] = stop_gradient b",
            "f:f32[2] = select_n d e b", "g:f32[2] = cos f",
            "h:bool[2] = eq c 1:i32[]", "i:f32[2] = stop_gradient b",
            "j:f32[2] = select_n h i b", "k:f32[2] = sin j",
            "l:f32[2] = select_n c g k",
            "in (l,) }",
        ]  # fmt: skip

    def test_literals_carry_their_types(self):
        program = text(lambda x, i: (2.0 * x, i + 1), 1.0, 1)
        assert "mul 2.0:f32[] a" in program
        assert "add b 1:i32[]" in program

    def test_no_loop_is_needed_for_a_mapped_reduction(self):
        program = text(jax.vmap(lambda v: (v * v).sum()), M)
        assert not [word for word in ("while", "scan", "fori") if word in program]

    def test_gradients_of_examples_have_the_bytes_of_their_numbers(self):
        loss = lambda p, x: jnp.tanh(p["w"] @ x + p["b"]).sum()  # noqa: E731
        p, xs = {"w": jnp.ones((8, 3)), "b": jnp.zeros(8)}, np.ones((64, 3), np.float32)
        each = jax.jit(jax.vmap(jax.grad(loss), (None, 0)))
        sizes = each.lower(p, xs).compile().memory_analysis()
        assert sizes.output_size_in_bytes == 64 * (8 * 3 + 8) * 4

    def test_what_follows_a_nested_program_goes_on_after_its_letters(self):
        lines = [line.strip() for line in text(lambda x: lax.map(jnp.sin, x) + 1.0, V).splitlines()]
        assert "jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }" in lines
        assert lines[-2:] == ["e:f32[3] = add b 1.0:f32[]", "in (e,) }"]

    def test_parameters_stand_in_alphabetical_order(self):
        lines = [line.strip() for line in text(lambda x: lax.map(jnp.sin, x), V).splitlines()]
        names = [line.split("=")[0] for line in lines[2 : lines.index("] a")]]
        assert names == sorted(names)
        assert {"jaxpr", "length", "reverse", "unroll"} <= set(names)

    def test_comparisons_and_negations_have_their_names(self):
        assert text(lambda x: -x, V).count(" = neg a") == 1
        assert text(lambda x: x > 0, V).count("b:bool[3] = gt a 0.0:f32[]") == 1

    def test_the_operator_of_products_maps_to_the_same_program(self):
        a, b = np.ones((2, 3, 4), np.float32), np.ones((2, 4, 5), np.float32)
        einsum = text(lambda a, b: jnp.einsum("bnk,bkm->bnm", a, b), a, b)
        assert text(jax.vmap(lambda a, b: a @ b), a, b) == einsum
        assert text(lambda a, b: a @ b, a, b) == einsum

    def test_a_captured_array_is_written_in_hexadecimal_digits_and_an_argument_is_not(self):
        x = np.ones(300, np.float32)
        w = jnp.asarray(np.random.default_rng(0).random((300, 300), np.float32))
        assert 'dense<"0x' in jax.jit(lambda x: w @ x).lower(x).as_text()
        given = jax.jit(lambda w, x: w @ x).lower(w, x).as_text()
        assert "dense<" not in given
        assert len(given) == pytest.approx(427, abs=100)

    def test_a_while_loop_is_one_while(self):
        f = lambda n: lax.while_loop(lambda c: c < n, lambda c: c * 2 + 1, 0)  # noqa: E731
        assert jax.jit(f).lower(5).as_text().count("stablehlo.while") == 1

    def test_colours_are_there_for_who_wants_them(self):
        program = jax.make_jaxpr(jnp.sin)(1.0)
        assert "\x1b[" in program.pretty_print(use_color=True)
