"""The interface that the two seed chapters stand on, statement by statement: transformations.

A class is a section; each test asserts one statement, which its name or its first line says. This
file has the names of the module itself and its transformations, `test_seed_api_arrays.py` arrays,
`numpy` and `lax`, `test_seed_api_libraries.py` the other modules, messages, texts and memory,
`test_seed_api_details.py` further parts, `test_seed_api_numbers.py` the numbers that are printed.
`seed_api.txt` lists all statements with their tests.
"""

from __future__ import annotations

import functools
import importlib

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tapeless import lax, random
from tests.parity.seed import M, V, message, text


class TestModule:
    """1: names of the module."""

    @pytest.mark.parametrize("name", ["numpy", "lax", "random", "nn"])
    def test_modules_are_imported_by_all_forms_and_again(self, name):
        for _ in range(2):
            assert importlib.import_module(f"tapeless.{name}") is getattr(jax, name)

    def test_version_is_a_string(self):
        assert jax.__version__ == "0.12.0.1"

    def test_devices_print_as_one_cpu(self):
        assert repr(jax.devices()) == "[CpuDevice(id=0)]"

    def test_array_is_the_type_of_values_and_not_of_programs(self):
        assert isinstance(jnp.ones(3), jax.Array)
        assert not isinstance(np.ones(3), jax.Array)

    def test_without_colour_programs_have_no_control_codes(self):
        jax.config.update("jax_pprint_use_color", False)
        assert "\x1b" not in str(jax.make_jaxpr(jnp.sin)(1.0))

    def test_block_until_ready_returns_the_tree(self):
        tree = {"a": jnp.ones(2), "b": (jnp.zeros(1), jnp.ones(1))}
        found = jax.block_until_ready(tree)
        assert jax.tree.structure(found) == jax.tree.structure(tree)
        assert jnp.ones(2).block_until_ready().shape == (2,)

    def test_effects_barrier_comes_after_all_prints(self, capsys):
        jax.jit(lambda x: jax.debug.print("x = {}", x))(1.0)
        jax.effects_barrier()
        assert capsys.readouterr().out == "x = 1.0\n"

    def test_clear_caches_lets_functions_be_traced_again(self):
        factors = [2.0]
        f = jax.jit(lambda x: x * factors[0])
        first = f(1.0)
        factors[0] = 3.0
        assert (f(1.0), first) == (2.0, 2.0)
        jax.clear_caches()
        assert f(1.0) == 3.0

    def test_remat_is_another_name_of_checkpoint(self):
        found = [text(jax.grad(save(jnp.sin)), 1.0) for save in (jax.remat, jax.checkpoint)]
        assert found[0] == found[1] != text(jax.grad(jnp.sin), 1.0)

    def test_vjp_and_custom_vjp_are_there(self):
        value, pull = jax.vjp(jnp.sin, 0.0)
        assert (value, pull(1.0)) == (0.0, (1.0,))
        f = jax.custom_vjp(lambda x: x)
        f.defvjp(lambda x: (x, None), lambda _, ct: (3 * ct,))
        assert jax.grad(f)(1.0) == 3.0

    def test_tree_map_is_not_a_name_of_the_module(self):
        found = message(AttributeError, lambda: jax.tree_map)
        assert found == "module 'jax' has no attribute 'tree_map'"


class TestJit:
    """1.1: jit."""

    def test_the_body_runs_once_per_signature(self):
        calls = []
        f = jax.jit(lambda x: calls.append(x.shape) or x + 1)
        for x in (V, 2 * V, M, 2.0, 100.0):
            np.testing.assert_array_equal(f(x), x + 1)
        assert calls == [(3,), (2, 3), ()]
        assert f._cache_size() == 3

    def test_prints_of_branches_show_while_tracing_only(self, capsys):
        f = jax.jit(
            lambda x: lax.cond(x > 0, lambda: print("then") or 1, lambda: print("else") or 2)
        )
        f(1.0)
        assert sorted(capsys.readouterr().out.split()) == ["else", "then"]
        f(-1.0)
        assert capsys.readouterr().out == ""

    def test_floats_of_other_values_share_a_program(self):
        f = jax.jit(lambda x: x * 2)
        f(2.0), f(100.0)
        assert f._cache_size() == 1

    @pytest.mark.parametrize("numbers", [1, (1,)])
    def test_static_arguments_are_python_values(self, numbers):
        @functools.partial(jax.jit, static_argnums=numbers)
        def power(x, n):
            for _ in range(n - 1):
                x = x * x
            return x

        assert power(3.0, 2) == 9.0

    def test_a_static_name_may_be_one_string_and_a_keyword(self):
        f = functools.partial(jax.jit, static_argnames="n")(lambda x, n: x * len(range(n)))
        assert (f(2.0, n=3), f(2.0, 4)) == (6.0, 8.0)

    def test_defaults_and_keywords(self):
        f = jax.jit(lambda x, lr=0.5, flag=False: x * lr)
        assert (f(2.0), f(2.0, lr=2.0)) == (1.0, 4.0)

    def test_trees_go_in_and_out(self):
        out = jax.jit(lambda p, t: {"s": p["a"] + t[1], "t": (t[0],)})({"a": V}, (1.0, 2.0))
        np.testing.assert_array_equal(out["s"], V + 2)
        assert out["t"] == (1.0,)

    def test_what_is_captured_is_frozen_also_when_wrapped_again(self):
        """Captured values are those of tracing; a new function object is traced anew."""
        scale = {"by": 10.0}

        def f(x):
            return x * scale["by"]

        first = jax.jit(f)(1.0)
        scale["by"] = 100.0
        assert (first, jax.jit(f)(1.0), jax.jit(lambda x: f(x))(1.0)) == (10.0, 10.0, 100.0)

    def test_products_of_a_factory_are_compiled_each(self):
        fs = [jax.jit(lambda x, k=k: x * k) for k in (2.0, 3.0)]
        assert [f(1.0) for f in fs] == [2.0, 3.0]

    def test_lowering_takes_arrays_trees_and_scalars(self):
        lowered = jax.jit(lambda p, x: p["w"] * x).lower({"w": V}, 2.0)
        assert "stablehlo" in lowered.as_text()
        np.testing.assert_array_equal(lowered.compile()({"w": V}, 2.0), 2 * V)

    def test_transformations_nest_both_ways(self):
        f = lambda x: jnp.sum(x**3)  # noqa: E731
        for g in (
            jax.jit(jax.vmap(jax.grad(f))),
            jax.vmap(jax.jit(jax.grad(f))),
            jax.vmap(lambda x: jax.grad(jax.jit(f))(x)),
        ):
            np.testing.assert_allclose(g(M), 3 * M**2)

    def test_a_captured_argument_is_no_constant(self):
        f = jax.jit(lambda w, xs: lax.map(lambda x: w * x, xs))
        assert jax.make_jaxpr(f)(2.0, V).consts in ([], ())


class TestGrad:
    """1.2: grad."""

    def test_argnums_and_python_floats(self):
        f = lambda x, y: x * x * y  # noqa: E731
        assert (jax.grad(f)(2.0, 3.0), jax.grad(f, argnums=1)(2.0, 3.0)) == (12.0, 4.0)

    def test_trees_of_arrays_and_floats(self):
        grads = jax.grad(lambda p: jnp.sum(p[0] * p[1]))((V, 2.0))
        np.testing.assert_array_equal(grads[0], [2, 2, 2])
        assert grads[1] == 6.0

    def test_gradients_of_floats_are_weak(self):
        found = jax.grad(lambda x: x * 0.125)(1.0)
        assert repr(found) == "Array(0.125, dtype=float32, weak_type=True)"

    @pytest.mark.parametrize(
        "f", [jax.grad(jnp.sin), jax.jit(jax.grad(jnp.sin)), jax.grad(jax.vmap(jnp.sin))]
    )
    def test_results_that_are_not_scalars_are_refused(self, f):
        found = message(TypeError, f, M)
        start = "Gradient only defined for scalar-output functions. Output had shape: (2, 3)."
        assert found.startswith(start)

    def test_scan_is_differentiated_by_all_that_it_reads(self):
        def f(init, xs, w):
            return lax.scan(lambda c, x: (c * w + x, None), init, xs)[0]

        by_init, by_xs, by_w = jax.grad(f, (0, 1, 2))(1.0, V, 2.0)
        np.testing.assert_array_equal(by_xs, [4, 2, 1])
        assert (by_init, by_w) == (8.0, 3 * 4 + 2 * 2 * 1 + 2)

    def test_a_condition_passes_the_gradient_of_its_branch_and_none_of_its_threshold(self):
        def f(x, threshold):
            return lax.cond(x > threshold, lambda: x * x, lambda: 5 * x)

        assert jax.grad(f, (0, 1))(3.0, 1.0) == (6.0, 0.0)
        assert jax.grad(f, (0, 1))(3.0, 9.0) == (5.0, 0.0)

    def test_counted_loops_with_known_bounds_only(self):
        def f(x, n):
            return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)

        assert jax.grad(f)(2.0, 3) == 12.0
        assert "Reverse-mode" in message(ValueError, jax.jit(jax.grad(f)), 2.0, 3)

    def test_switch_under_vmap_has_the_slopes_of_its_pieces(self):
        f = lambda x: lax.switch((x > 1).astype(int), [jnp.square, jnp.sin], x)  # noqa: E731
        x = np.array([0.0, 1.0, 2.0], np.float32)
        np.testing.assert_allclose(jax.vmap(jax.grad(f))(x), [0, 2, np.cos(2.0)], rtol=1e-6)

    def test_where_passes_an_infinite_slope_of_the_other_side(self):
        slope = jax.grad(lambda x: jnp.where(x > 0, jnp.log(x), 0.0))
        assert np.isnan(slope(0.0))
        assert str(slope(-1.0)) == "-0.0"

    def test_a_mapped_condition_does_not(self):
        f = lambda x: lax.cond(x > 0, jnp.log, lambda x: 0.0, x)  # noqa: E731
        x = np.array([-1.0, 0.0, 2.0], np.float32)
        assert str(jax.vmap(jax.grad(f))(x)) == "[0.  0.  0.5]"

    def test_segment_sums_gather_the_cotangent(self):
        ids = np.array([0, 1, 0])
        w = np.array([5.0, 7.0], np.float32)
        f = lambda x: jnp.sum(w * jax.ops.segment_sum(x, ids, num_segments=2))  # noqa: E731
        np.testing.assert_array_equal(jax.grad(f)(V), w[ids])

    def test_the_root_of_zero_has_no_slope(self):
        assert np.isnan(jax.grad(lambda p: jnp.sqrt(jnp.sum((p - V) ** 2)))(V)).all()

    def test_checkpoint_changes_no_gradient(self):
        f = lambda x: jnp.sum(jnp.sin(jnp.exp(x)))  # noqa: E731
        np.testing.assert_array_equal(jax.grad(jax.checkpoint(f))(V), jax.grad(f)(V))

    def test_masked_inputs_have_gradient_zero(self):
        mask = np.array([True, False, True])
        found = jax.grad(lambda x: jnp.sum(jnp.where(mask, x * x, 0.0)))(V)
        assert found[1] == 0.0

    def test_nesting_gives_higher_derivatives(self):
        assert jax.grad(jax.grad(jax.grad(lambda x: x**3)))(5.0) == 6.0

    def test_gradients_of_dicts_iterate_in_sorted_order(self):
        found = jax.grad(lambda p: p["z"] * p["a"])({"z": 1.0, "a": 2.0})
        assert list(found) == ["a", "z"]

    def test_the_gradient_of_a_mean_is_the_mean_of_gradients(self):
        f = lambda p, x: (p * x - 1) ** 2  # noqa: E731
        whole = jax.grad(lambda p: jnp.mean(jax.vmap(f, (None, 0))(p, V)))(0.5)
        assert np.isclose(whole, jnp.mean(jax.vmap(jax.grad(f), (None, 0))(0.5, V)))


class TestVmap:
    """1.3: vmap."""

    def test_the_body_runs_once_and_without_a_loop(self):
        calls = []

        def f(v):
            calls.append((type(v).__name__, v.shape))
            return jnp.sum(v * v)

        np.testing.assert_array_equal(jax.vmap(f)(M), (M * M).sum(1))
        assert calls == [("BatchTracer", (3,))]
        assert not [loop for loop in ("while", "scan", "fori") if loop in text(jax.vmap(f), M)]

    @pytest.mark.parametrize("axis", [1, -1])
    def test_axes_are_numbered_from_both_ends_and_the_result_has_the_first(self, axis):
        assert jax.vmap(lambda v: v * 2, in_axes=axis)(M).shape == (3, 2)

    def test_none_shares_an_argument(self):
        np.testing.assert_array_equal(jax.vmap(jnp.multiply, (0, None))(V, 2.0), 2 * V)

    def test_with_nothing_mapped_the_size_is_needed(self):
        assert jax.vmap(lambda x: x + 1, in_axes=None, axis_size=3)(1.0).shape == (3,)
        found = message(ValueError, jax.vmap(lambda x: x, in_axes=None), 1.0)
        wanted = "vmap must have at least one non-None value in in_axes or axis_size must be"
        assert found.startswith(wanted)

    def test_a_list_of_axes_is_accepted(self):
        assert jax.vmap(jnp.add, in_axes=[0, None])(V, 1.0).shape == (3,)

    def test_axes_may_be_trees_and_prefixes(self):
        p = {"w": V, "b": V}
        f = lambda p, x: p["w"] * x + p["b"]  # noqa: E731
        axes = ({"w": None, "b": 0}, 0)
        assert jax.vmap(f, axes)(p, V).shape == (3, 3)
        np.testing.assert_array_equal(jax.vmap(f, (0, 0))(p, V), V * V + V)

    @pytest.mark.parametrize(("axis", "shape"), [(0, (2, 3)), (1, (3, 2)), (-1, (3, 2))])
    def test_the_place_of_the_result_axis(self, axis, shape):
        found = jax.vmap(jnp.sin, out_axes=axis)(M)
        assert found.shape == shape
        np.testing.assert_allclose(found, np.sin(M if shape == (2, 3) else M.T), rtol=1e-6)

    def test_result_axes_may_be_trees(self):
        f = jax.vmap(lambda v: {"sum": jnp.sum(v), "twice": 2 * v}, out_axes={"sum": 0, "twice": 1})
        out = f(M)
        np.testing.assert_array_equal(out["sum"], M.sum(1))
        np.testing.assert_array_equal(out["twice"], 2 * M.T)
        each, shared = jax.vmap(lambda v: (v + 1, 7.0), out_axes=(0, None))(M)
        np.testing.assert_array_equal(each, M + 1)
        assert shared == 7.0

    def test_a_value_that_is_not_mapped_comes_back_as_it_is(self):
        found = jax.vmap(lambda x, s: (x * s, s), (0, None), (0, None))(jnp.arange(3.0), 5.0)
        assert repr(found) == "(Array([ 0.,  5., 10.], dtype=float32), 5.0)"

    def test_names_of_axes_serve_collectives(self):
        center = jax.vmap(lambda x: x - lax.pmean(x, axis_name="i"), axis_name="i")
        np.testing.assert_array_equal(center(jnp.arange(4.0)), [-1.5, -0.5, 0.5, 1.5])
        total = jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i")
        np.testing.assert_array_equal(total(V), [6, 6, 6])

    def test_sum_match_adds_up_what_varies(self):
        assert jax.vmap(lambda x: x, out_axes=None, sum_match=True)(V) == 6.0

    def test_keywords_are_mapped_over_the_first_axis(self):
        found = jax.vmap(lambda x, y: x + y, in_axes=(None,))(1.0, y=V)
        np.testing.assert_array_equal(found, V + 1)

    def test_nested_maps_make_pairs_and_the_outer_one_is_first(self):
        f = jax.vmap(jax.vmap(lambda a, b: a - 10 * b, (None, 0)), (0, None))
        g = jax.vmap(jax.vmap(lambda a, b: a - 10 * b, (0, None)), (None, 0))
        np.testing.assert_array_equal(f(V, V[:2]), V[:, None] - 10 * V[:2])
        np.testing.assert_array_equal(g(V, V[:2]), np.asarray(f(V, V[:2])).T)

    def test_a_map_enters_a_compiled_function(self):
        inner = text(jax.vmap(jax.jit(lambda v: jnp.sin(v) @ V)), np.ones((4, 3), np.float32))
        body = inner[inner.index("jaxpr={") :]
        assert "jit[" in inner
        assert "f32[4,3] = sin" in body
        assert "f32[4] = dot_general" in body

    def test_gradients_example_by_example(self):
        loss = lambda w, x, y: (jnp.dot(w, x) - y) ** 2  # noqa: E731
        xs, ys = np.ones((4, 3), np.float32), np.arange(4.0, dtype=np.float32)
        found = jax.vmap(jax.grad(loss), (None, 0, 0))(V, xs, ys)
        losses = lambda w: jax.vmap(loss, (None, 0, 0))(w, xs, ys)  # noqa: E731
        np.testing.assert_allclose(found, jax.jacrev(losses)(V), rtol=1e-6)
        one = [jax.grad(loss)(V, x, y) for x, y in zip(xs, ys, strict=True)]
        np.testing.assert_allclose(found, np.stack(one), rtol=1e-6)

    def test_keys_are_mapped_and_a_shared_key_gives_the_same_numbers(self):
        keys = random.split(random.key(0), 3)
        each = jax.vmap(random.normal)(keys)
        same = jax.vmap(lambda _, key: random.normal(key), (0, None))(V, random.key(0))
        assert len(np.unique(each)) == 3
        assert len(np.unique(same)) == 1

    @pytest.mark.parametrize("f", [jnp.dot, jnp.matmul])
    def test_functions_of_the_library_are_mapped(self, f):
        np.testing.assert_array_equal(jax.vmap(f)(M, M), (M * M).sum(1))
        np.testing.assert_allclose(jax.vmap(jnp.linalg.norm)(M), np.linalg.norm(M, axis=1))

    def test_python_loops_are_unrolled_and_python_branches_refused(self):
        def f(x):
            for _ in range(3):
                x = jnp.sin(x)
            return x

        assert text(jax.vmap(f), V).count("sin") == 3
        found = message(
            jax.errors.TracerBoolConversionError, jax.vmap(lambda x: 1 if x > 0 else 2), V
        )
        first = "Attempted boolean conversion of traced array with shape bool[]."
        assert found.splitlines()[0] == first
        message(jax.errors.ConcretizationTypeError, jax.vmap(float), V)

    @pytest.mark.parametrize(
        ("axis", "x", "least", "rank", "shape"), [(0, 1.0, 1, 0, "()"), (1, V, 2, 1, "(3,)")]
    )
    def test_the_axis_must_be_there(self, axis, x, least, rank, shape):
        found = message(ValueError, jax.vmap(jnp.sin, in_axes=axis), x)
        assert found == (
            f"vmap was requested to map its argument along axis {axis}, which implies that its "
            f"rank should be at least {least}, but is only {rank} (its shape is {shape})"
        )

    def test_unequal_sizes_are_named(self):
        def add(a, b):
            return a + b

        found = message(ValueError, jax.vmap(add), V, np.ones(4, np.float32))
        assert found.startswith("vmap got inconsistent sizes for array axes to be mapped:\n")
        assert "  * one axis had size 3: axis 0 of argument a of type float32[3];\n" in found
        assert "  * one axis had size 4: axis 0 of argument b of type float32[4]" in found
        message(ValueError, jax.vmap(add), V, np.ones(1, np.float32))

    def test_the_tuple_must_be_as_long_as_the_arguments(self):
        wanted = (
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            "positional arguments passed to the function, but got len(in_axes)=1, len(args)=2."
        )
        assert message(ValueError, jax.vmap(jnp.add, in_axes=(0,)), V, V).startswith(wanted)
        found = message(ValueError, jax.vmap(lambda a, b: a, in_axes=(0, None)), V, b=1.0)
        assert "called with keyword arguments ['b']" in found

    def test_none_for_a_result_that_varies_is_refused(self):
        found = message(ValueError, jax.vmap(jnp.sin, out_axes=None), V)
        assert "at vmap out_axes, got axis spec None but output was batched on axis 0" in found

    def test_trees_of_axes_with_other_keys_are_shown(self):
        f = jax.vmap(lambda p: p["w"], in_axes=({"w": None, "bias": 0},))
        lines = message(ValueError, f, {"w": V, "b": V}).splitlines()
        assert lines[0].startswith("vmap in_axes specification must be a tree prefix of the")
        assert "    ('bias', 'w')" in lines
        assert "    ('b', 'w')" in lines


class TestOthers:
    """1.4: other derivatives, checkpoint, programs."""

    def double(self, x):
        """Double a number until it is large."""
        return lax.while_loop(lambda c: c < 50.0, lambda c: c * 2, x)

    def test_forward_mode_goes_through_while_loops(self):
        assert jax.jvp(self.double, (2.0,), (1.0,)) == (64.0, 32.0)
        assert jax.jacfwd(self.double)(2.0) == 32.0

    def test_jacobians_by_parameters_have_the_axes_of_the_outputs_first(self):
        found = jax.jacrev(lambda p: p["w"] @ V + p["b"])({"w": M, "b": V[:2]})
        assert (found["w"].shape, found["b"].shape) == ((2, 2, 3), (2, 2))

    def test_a_checkpointed_step_saves_less(self):
        def f(x, step):
            return lax.scan(lambda c, _: (step(c), None), x, length=50)[0].sum()

        plain = lambda c: jnp.sin(jnp.cos(jnp.sin(c)))  # noqa: E731
        sizes = [
            jax.jit(jax.grad(functools.partial(f, step=step)))
            .lower(np.ones(100, np.float32))
            .compile()
            .memory_analysis()
            .temp_size_in_bytes
            for step in (plain, jax.checkpoint(plain))
        ]
        assert sizes[1] < sizes[0]

    def test_policies_choose_what_is_saved(self):
        f = lambda x: jnp.sum(jnp.sin(x @ x))  # noqa: E731
        x = np.ones((3, 3), np.float32)
        found = {}
        for name in ("dots_saveable", "nothing_saveable"):
            policy = getattr(jax.checkpoint_policies, name)
            found[name] = text(jax.grad(jax.checkpoint(f, policy=policy)), x).count("dot_general")
        assert found["nothing_saveable"] == found["dots_saveable"] + 1

    def test_programs_are_objects_with_equations_and_constants(self):
        w = jnp.ones((3, 3))
        program = jax.make_jaxpr(lambda x: jnp.sin(w @ x))(V)
        assert type(program).__name__ == "Jaxpr"
        assert program.jaxpr is program
        assert (len(program.consts), len(program.constvars), len(program.invars)) == (1, 1, 1)
        assert len(program.eqns) == 2
        assert program.pretty_print(use_color=False) == str(program)

    @pytest.mark.parametrize("n", [3, 30])
    def test_an_unrolled_loop_has_an_equation_per_step_and_a_scan_one(self, n):
        def unrolled(x, n):
            for _ in range(n):
                x = x + 1.0
            return x

        assert len(jax.make_jaxpr(unrolled, static_argnums=1)(1.0, n).eqns) == n
        scanned = lambda x: lax.scan(lambda c, _: (c + 1.0, None), x, length=n)[0]  # noqa: E731
        assert len(jax.make_jaxpr(scanned)(1.0).eqns) == 1

    def test_closed_programs_are_programs(self):
        from tapeless.extend.core import ClosedJaxpr, Jaxpr

        assert ClosedJaxpr is Jaxpr
