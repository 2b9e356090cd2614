"""StableHLO text. Texts of whole programs, and their values under XLA, are in tests/golden."""

import re

import numpy as np
import pytest

import tapeless as jax
import tapeless.lax as lax
from tapeless import debug
from tapeless.compiler.stablehlo import module_text
from tapeless.core.primitive import Primitive
from tests.golden.xla import run_text

X = np.array([0.5, 1.5, 2.5], np.float32)


def lowered(function, *args, **options):
    """Return the text of a function on arguments like these."""
    return jax.jit(function).lower(*args).as_text(**options)


def test_the_module_is_named_after_the_function():
    def model(x):
        return {"b": x, "a": (lax.neg(x),)}

    text = lowered(model, X)
    assert text.startswith("module @jit_model attributes {")
    assert "func.func public @main(%arg0: tensor<3xf32>) ->" in text
    assert re.findall(r'result_info = "(.*?)"', text) == ["result['a'][0]", "result['b']"]


def test_a_program_without_results_returns_nothing():
    text = lowered(lambda x: (), X)
    assert "@main(%arg0: tensor<3xf32>) {" in text
    assert "    return\n" in text


def test_a_shared_function_is_written_once():
    double = jax.jit(lambda y: lax.mul(y, 2.0))
    text = lowered(lambda x: double(double(x)), X)
    assert text.count("func.func private") == 1
    assert text.count('call @"<lambda>"(') == 2


def test_functions_of_one_name_are_told_apart():
    def f(y, n):
        return jax.jit(lambda y: lax.mul(y, n))(y)

    text = lowered(lambda x: f(f(x, 2.0), 3.0), X)
    assert re.findall(r"private (@\S+)\(", text) == ['@"<lambda>"', '@"<lambda>_0"']


def test_a_captured_array_is_a_constant_and_an_argument_is_not():
    weights = np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32)
    row = np.ones(300, np.float32)
    captured = lowered(lambda x: lax.dot(weights, x), row)
    passed = lowered(lax.dot, weights, row)
    assert 'stablehlo.constant dense<"0x' in captured
    assert len(captured) > 100 * len(passed)


def test_a_batched_loop_tests_all_rows_and_freezes_those_that_are_done():
    loop = jax.vmap(
        lambda x: lax.while_loop(lambda c: lax.lt(c, 9.0), lambda c: lax.mul(c, 2.0), x)
    )
    text = lowered(loop, X)
    assert "stablehlo.while(" in text
    assert "applies stablehlo.or across dimensions = [0]" in text
    assert "stablehlo.select" in text


def test_source_positions_are_written_when_asked_for():
    def f(x):
        with jax.named_scope("layer"):
            return lax.sin(x)

    assert "loc(" not in lowered(f, X)
    text = lowered(f, X, debug_info=True)
    assert re.search(r'loc\("jit\(f\)/layer/sin"\(".*test_stablehlo\.py":\d+:\d+\)\)', text)


def test_source_positions_tell_transformations_branches_and_loops():
    def f(x):
        with jax.named_scope("layer"):
            x = lax.cond(x > 0, lambda y: lax.sin(y), lambda y: y, x)
        step = jax.checkpoint(lambda y: lax.exp(y))
        return lax.scan(lambda y, _: (step(y), None), x, None, length=3)[0]

    text = lowered(jax.grad(f), 1.0, debug_info=True)
    paths = set(re.findall(r'loc\("([^"]*)"', text))
    assert {
        "jit(f)/jvp(layer)/cond",
        "jit(f)/jvp(layer)/cond/branch_1_fun/sin",
        "jit(f)/jvp()/while/body/exp",
        "jit(f)/transpose(jvp())/while/body/checkpoint/rematted_computation/exp",
        "jit(f)/transpose(jvp(layer))/cond/branch_1_fun/mul",
    } <= paths
    # What an equation with regions is, is said of its own place, not of what is inside.
    case = re.search(r'"stablehlo.case".*?\n    }\) : [^\n]*', text, re.DOTALL)
    assert 'loc("jit(f)/jvp(layer)/cond"' in case.group(0).splitlines()[-1]


def test_callbacks_are_refused():
    def f(x):
        debug.print("{}", x)
        return x

    with pytest.raises(NotImplementedError, match="calls back into Python.*Debug.*debug_print"):
        lowered(f, X)


def test_a_primitive_without_a_rule_says_where_to_write_it():
    class Odd(Primitive):
        """An operation that nobody can write."""

        name = "odd_in_test_stablehlo"

        def abstract(self, *avals, **params):
            return avals

    odd = Odd()
    jaxpr = jax.make_jaxpr(lambda x: odd.bind(x)[0])(X)
    with pytest.raises(NotImplementedError, match="has no `hlo` rule.*class Odd"):
        module_text(jaxpr, "f")


def test_other_dialects_are_refused():
    with pytest.raises(ValueError, match="unknown dialect: mhlo"):
        jax.jit(lax.sin).lower(X).as_text("mhlo")


@pytest.mark.oracle
@pytest.mark.parametrize("reverse", [False, True])
def test_xla_runs_scans_in_both_directions(reverse):
    def f(m):
        step = lambda c, row: (lax.add(c, row), lax.mul(c, row))  # noqa: E731
        return lax.scan(step, np.zeros(4, np.float32), m, reverse=reverse)

    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    results = run_text(lowered(f, rows), [rows])
    for result, expected in zip(results, jax.jit(f)(rows), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.oracle
@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
def test_xla_gathers_and_scatters_as_the_mode_says(mode):
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    places = np.array([[2], [0], [7 if mode != "promise_in_bounds" else 1]], np.int32)

    def f(m, i):
        taken = lax.GatherDimensionNumbers((1,), (0,), (0,))
        put = lax.ScatterDimensionNumbers((1,), (0,), (0,))
        gathered = lax.gather(m, i, taken, (1, 4), mode=mode, fill_value=-1)
        return gathered, lax.scatter_add(m, i, m, put, mode=mode)

    results = run_text(lowered(f, rows, places), [rows, places])
    for result, expected in zip(results, jax.jit(f)(rows, places), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.oracle
def test_xla_sorts_floats_with_nan_last_and_equal_zeros_in_place():
    keys = np.array([3, np.nan, 0.0, -np.inf, -0.0, 1], np.float32)
    order = np.arange(6, dtype=np.int32)
    results = run_text(
        lowered(lambda k, o: lax.sort((k, o), num_keys=1), keys, order), [keys, order]
    )
    np.testing.assert_array_equal(results[1], [3, 2, 4, 5, 0, 1])
    np.testing.assert_array_equal(results[0], keys[results[1]])
