"""Stages: trace, lower, compile; what each tells, and what it refuses."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest

import tapeless as jax

jnp = jax.numpy
X = np.ones((4, 4), "float32")


def stages():
    """Return the stages of a product."""
    lowered = jax.jit(lambda x, y: {"product": x @ y}).lower(X, X)
    return lowered, lowered.compile()


def test_trees_and_types():
    """Every stage knows the trees and types of arguments and results."""
    for stage in stages():
        assert stage.out_tree == jax.tree.structure({"product": 0})
        (x, y), named = stage.args_info
        assert (x.shape, y.dtype, x.donated, named) == ((4, 4), np.float32, False, {})
        assert stage.out_info["product"].shape == (4, 4)


def test_text_of_the_stages():
    """Lowered is StableHLO, compiled is a listing of loops."""
    lowered, compiled = stages()
    assert "stablehlo.dot_general" in lowered.as_text()
    assert "jax.result_info = \"result['product']\"" in lowered.as_text()
    assert "for i" in compiled.as_text()


@pytest.mark.oracle
def test_hlo_is_what_xla_makes_of_the_module():
    """The text "hlo" is XLA's, made by jaxlib."""
    lowered, _ = stages()
    text = lowered.as_text("hlo")
    assert text.startswith("HloModule jit__lambda") and " dot(" in text
    assert str(lowered.compiler_ir("hlo")) == text
    assert 'op_name="jit(<lambda>)/dot_general"' in lowered.as_text("hlo", debug_info=True)


def test_hlo_without_jaxlib_says_what_to_install(monkeypatch):
    """Without jaxlib there is one clear error."""
    xla = importlib.import_module("tapeless.runtime.xla")
    monkeypatch.setattr(xla.lazy, "exists", lambda name: False)
    xla._client.cache_clear()
    with pytest.raises(RuntimeError, match='the text "hlo" is part, needs jaxlib.*pip install'):
        stages()[0].as_text("hlo")


def test_captured_arrays_are_made_arguments():
    """Of a traced function with captured arrays comes one of them and the arguments."""
    scale = jnp.arange(4.0)
    traced = jax.jit(lambda x, *, y: {"sum": x @ scale + y}).trace(X, y=1.0)
    assert traced.effects == frozenset()
    consts, function = traced.closure_convert()
    assert [c is scale for c in consts] == [True]
    np.testing.assert_array_equal(function(consts, X, y=1.0)["sum"], np.full(4, 7.0))
    gradient = jax.grad(lambda c: function(c, X, y=1.0)["sum"].sum())(consts)
    np.testing.assert_array_equal(gradient[0], np.full(4, 4.0))
    with pytest.raises(TypeError, match="does not match the input pytree"):
        function(consts, X)
    printed = jax.jit(lambda x: jax.debug.print("{}", x)).trace(1.0)
    assert "Debug" in str(printed.effects)


def test_formats_are_row_major_on_the_one_device():
    """Compiled functions say how their arguments and results lie in memory."""
    _, compiled = stages()
    (first, second), named = compiled.input_formats
    assert (first.layout.major_to_minor, named) == ((0, 1), {})
    assert first == second == compiled.output_formats["product"]
    assert first.sharding == compiled.input_shardings[0][0]


def test_memory_is_that_of_the_plan():
    """Arguments, results and scratch memory are counted in bytes; donation shows as alias."""
    _, compiled = stages()
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (128, 64)
    assert memory.generated_code_size_in_bytes > 0
    donated = jax.jit(lambda x: x + 1, donate_argnums=0).lower(X).compile()
    assert donated.memory_analysis().alias_size_in_bytes == 64


def test_costs_are_counted():
    """A product of 4x4 matrices is 128 operations."""
    assert stages()[1].cost_analysis()["flops"] == 128.0


def test_compiled_is_called_and_checks():
    """A compiled stage computes, and refuses other types and other trees."""
    _, compiled = stages()
    np.testing.assert_array_equal(compiled(X, X)["product"], 4 * X)
    wrong = "Argument 'y' compiled with float32\\[4,4\\] and called with float32\\[2,4\\]"
    with pytest.raises(TypeError, match=f"Argument types differ (.|\n)*{wrong}"):
        compiled(X, X[:2])
    with pytest.raises(TypeError, match=r"at args, seen tuple of length 2 but now .* length 1"):
        compiled(X)
    for transformed in (jax.jit(compiled), jax.vmap(compiled)):
        with pytest.raises(TypeError, match="Cannot apply JAX transformations .* Tracer"):
            transformed(X, X)


def test_struct_arguments():
    """Lowering needs types only."""
    struct = jax.ShapeDtypeStruct((3,), "float32")
    compiled = jax.jit(jnp.sin).lower(struct).compile()
    np.testing.assert_array_equal(compiled(np.zeros(3, "float32")), np.zeros(3))


def test_options_of_compile():
    """An effort is taken, another option raises."""
    lowered, _ = stages()
    lowered.compile({"effort": 0})(X, X)
    with pytest.raises(ValueError, match="effort must be 0, 1 or 2"):
        lowered.compile({"effort": 7})


def test_a_compiled_function_knows_where_its_arrays_lie():
    """There is one device."""
    _, compiled = stages()
    where = jnp.ones(3).sharding
    assert compiled.input_shardings == ((where, where), {})
    assert compiled.output_shardings == {"product": where}


def test_the_module_is_an_object_with_a_text():
    """Other dialects than StableHLO are not known."""
    lowered, _ = stages()
    assert str(lowered.compiler_ir()) == str(lowered.compiler_ir("stablehlo")) == lowered.as_text()
    for read in (lowered.as_text, lowered.compiler_ir):
        with pytest.raises(ValueError, match="unknown dialect: mhlo"):
            read("mhlo")


def test_donation_shows_in_the_text():
    """A donated argument names the first free result of its type."""

    def update(state, x, unlike):
        return x.sum(), x + 1, state * 2

    donated = jax.jit(update, donate_argnums=(0, 1, 2)).lower(X, X, X[:2])
    text = donated.as_text()
    for number, result in ((0, 1), (1, 2)):
        assert f"%arg{number}: tensor<4x4xf32> {{tf.aliasing_output = {result} : i32}}" in text
    assert text.count("aliasing_output") == 2


@pytest.mark.oracle
def test_stages_say_what_those_of_jax_say():
    """Trees, donation and errors of a call, word for word."""
    import jax as oracle

    def message(compiled, *args, **kwargs):
        """Return what a call raises."""
        with pytest.raises(TypeError) as caught:
            compiled(*args, **kwargs)
        return str(caught.value)

    def facts(module):
        """Return what can be compared as text."""
        f = module.jit(lambda x, y, *, z: {"p": x @ y + z}, donate_argnums=1)
        lowered = f.lower(X, X, z=1.0)
        compiled = lowered.compile()
        return [
            str(lowered.in_tree),
            str(lowered.out_tree),
            [str(x) for x in module.tree.leaves(lowered.args_info)],
            str(lowered.donate_argnums),
            str(lowered.out_info),
            re.findall("aliasing_output = . : i32", lowered.as_text()),
            message(compiled, X, X),
            message(compiled, X, X[:2], z=1.0),
            message(compiled, X.astype("int32"), X[:2], z=1.0),
        ]

    for ours, theirs in zip(facts(jax), facts(oracle), strict=True):
        assert ours == theirs
