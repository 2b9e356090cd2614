"""Texts of small programs: jaxprs and StableHLO, as kept and as JAX has them."""

import re

import numpy as np
import pytest

import tapeless as jax
from tests.golden.expressions import EXPRESSIONS, KEPT, all_texts, expression_text
from tests.golden.nested import PROGRAMS
from tests.golden.programs import HLO_PROGRAMS
from tests.golden.texts import KINDS, current, jaxpr_text, kept
from tests.golden.xla import run_text

CASES = [(kind, name) for kind, names in KINDS.items() for name in names]

# How a scan's arguments are divided: JAX prints trees, where this package prints counts.
SCAN_PARAMETERS = re.compile(r"\n +(ft_in|ft_out|num_carry|num_consts)=.*")


@pytest.mark.parametrize(("kind", "name"), CASES, ids=map("-".join, CASES))
def test_text_is_the_kept_one(kind, name):
    assert current(jax, kind, name) == kept(kind, name).read_text()


def test_texts_of_expressions_are_the_kept_ones():
    ours, wanted = all_texts(jax).split("\n# "), KEPT.read_text().split("\n# ")
    assert len(EXPRESSIONS) > 300
    for text, other in zip(ours, wanted, strict=True):
        assert text == other


@pytest.mark.oracle
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_text_of_an_expression_is_that_of_jax(name):
    import jax as oracle

    ours, theirs = (
        SCAN_PARAMETERS.sub("", expression_text(module, EXPRESSIONS[name]))
        for module in (jax, oracle)
    )
    assert ours == theirs


def test_nothing_is_kept_that_no_program_has():
    for kind, names in KINDS.items():
        assert {path.stem for path in kept(kind, "").parent.glob("*.txt")} == set(names)


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_jaxpr_text_is_that_of_jax(name):
    import jax as oracle

    ours, theirs = (SCAN_PARAMETERS.sub("", jaxpr_text(module, name)) for module in (jax, oracle))
    assert ours == theirs


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_coloured_text_is_that_of_jax(name):
    import jax as oracle

    def coloured(module):
        """Return the text for a terminal."""
        function, args = PROGRAMS[name](module)
        return module.make_jaxpr(function)(*args).pretty_print(use_color=True)

    ours, theirs = (SCAN_PARAMETERS.sub("", coloured(module)) for module in (jax, oracle))
    assert ours == theirs
    assert "\x1b[" in ours


@pytest.mark.oracle
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("name", ["functions", "operators", "trees", "gathered", "named_parts"])
def test_text_with_sources_and_names_is_that_of_jax(name, colour):
    import jax as oracle

    def annotated(module):
        """Return the text with all that can be hung on it."""
        function, args = PROGRAMS[name](module)
        jaxpr = module.make_jaxpr(function)(*args)
        return jaxpr.pretty_print(source_info=True, name_stack=True, use_color=colour)

    assert annotated(jax) == annotated(oracle)
    assert ".py:" in annotated(jax)


# What linearising a checkpoint stages is, in JAX, inside the scopes around it once more.
REPEATED = re.compile(r"(?<=remat2\[ # \[)(.*)jvp\(jvp\((\w*)\)")


def scopes(module, function, args):
    """Return the lines of a program with their name stacks, without a scan's parameters."""
    text = module.make_jaxpr(function)(*args).pretty_print(name_stack=True, use_color=False)
    lines = SCAN_PARAMETERS.sub("", text).splitlines()
    return [REPEATED.sub(r"\1jvp(\2", re.sub(r" +# ", " # ", line)) for line in lines]


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_name_stacks_are_those_of_jax(name):
    import jax as oracle

    ours, theirs = (scopes(module, *PROGRAMS[name](module)) for module in (jax, oracle))
    assert ours == theirs


# Here JAX has a scope twice, as in `jvp(jvp())`, of which this package knows once.
TWICE = """
grad_prod grad_cummax remat_grad remat_policy remat_dots remat_named remat_no_cse remat_of_jit
scan_grad_mlp custom_jvp_grad custom_vjp_vmap_grad custom_vjp_remat vmap_dynamic_update
vmap_remat_grad checkpoint_dots_grad gru_step_grad
"""


@pytest.mark.oracle
@pytest.mark.parametrize("name", sorted(set(EXPRESSIONS) - set(TWICE.split())))
def test_name_stacks_of_an_expression_are_those_of_jax(name):
    import jax as oracle

    settings = {"name_stack": True, "use_color": False}
    ours, theirs = (
        re.sub(
            r" +# ",
            " # ",
            SCAN_PARAMETERS.sub("", expression_text(m, EXPRESSIONS[name], **settings)),
        )
        for m in (jax, oracle)
    )
    assert ours == theirs


@pytest.mark.oracle
@pytest.mark.parametrize("name", HLO_PROGRAMS)
def test_xla_runs_the_text_to_the_same_values(name):
    function, args = PROGRAMS[name](jax)
    compiled = jax.jit(function)
    expected = jax.tree_util.tree_leaves(compiled(*args))
    results = run_text(compiled.lower(*args).as_text(), args)
    for result, wanted in zip(results, expected, strict=True):
        wanted = np.asarray(wanted)
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(result, wanted, rtol=2e-6, atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name in HLO_PROGRAMS if name != "literal_results"])
def test_text_with_source_positions_parses(name):
    function, args = PROGRAMS[name](jax)
    text = jax.jit(function).lower(*args).as_text(debug_info=True)
    assert "programs.py" in text
    assert run_text(text, args) is not None
