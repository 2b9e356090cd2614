"""Program text, on programs made by hand. Those of functions are in tests/golden."""

import re

import numpy as np
import pytest

import tapeless as jax
import tapeless.lax as lax
import tapeless.numpy as jnp
from tapeless.core.jaxpr import Builder, Literal
from tapeless.core.pprint import jaxpr_text, letters
from tapeless.prims.binary import mul_p
from tests.core.programs import F32, equation, sine_of_product, sum_with_constant

X = np.ones(3, np.float32)


def test_a_short_program_is_one_line():
    builder = Builder()
    a = builder.new_input(F32)
    eqn = equation(mul_p, [a, Literal(2.0, F32)], F32)
    builder.emit(eqn)
    text = "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }"
    assert str(builder.build(eqn.outvars)) == text


def test_a_long_program_has_one_equation_a_line():
    expected = """\
{ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = mul a b
    d:f32[3] = sin c
  in (d,) }"""
    assert sine_of_product().pretty_print(width=60) == expected


def test_the_width_decides():
    text = "{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = mul a b; d:f32[3] = sin c in (d,) }"
    assert sine_of_product().pretty_print(width=len(text)) == text
    assert "\n" in sine_of_product().pretty_print(width=len(text) - 1)


def test_constants_stand_before_inputs():
    text = "{ lambda a:f32[3]; b:f32[3]. let c:f32[3] = add b a in (c,) }"
    assert str(sum_with_constant(X)) == text


def test_an_equation_is_named_anew():
    product, sine = sine_of_product().eqns
    assert str(product) == "a:f32[3] = mul b c"
    assert str(sine) == "a:f32[3] = sin b"


def test_names_count_in_letters():
    names = [letters(number) for number in range(26 * 26 + 1)]
    assert names[:2] + names[25:28] + names[-2:] == ["a", "b", "z", "ba", "bb", "zz", "baa"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (2.0, np.float32, "2.0:f32[]"),
        (0.1, np.float32, "0.1:f32[]"),
        (np.float32(0.1), np.float32, "0.10000000149011612:f32[]"),
        (0.1, np.float64, "0.1:f64[]"),
        (0.1j, np.complex64, "0.1j:c64[]"),
        (np.inf, np.float32, "inf:f32[]"),
        (-3, np.int32, "-3:i32[]"),
        (True, np.bool_, "True:bool[]"),
        (1 + 2j, np.complex64, "(1+2j):c64[]"),
    ],
)
def test_literals_are_numbers_of_their_dtype(value, dtype, text):
    builder = Builder()
    aval = F32.update(dtype=np.dtype(dtype))
    assert f"in ({text},)" in str(builder.build([Literal(value, aval)]))


def test_options_add_and_leave_out():
    @jax.jit
    def f(x):
        with jax.named_scope("outer"):
            return lax.sin(x)

    jaxpr = jax.make_jaxpr(f)(X)
    assert jaxpr.pretty_print(print_shapes=False, width=200) == (
        "{ lambda ; a. let b = jit[name=f jaxpr={ lambda ; a. let b = sin a in (b,) }] a in (b,) }"
    )
    assert jaxpr.pretty_print(print_effects=True).endswith("in (b,) : {  } }")
    assert "inline=" in jaxpr.pretty_print(custom_pp_eqn_rules=False)
    lines = jaxpr.pretty_print(source_info=True).split("\n")
    assert re.search(r"sin a in \(b,\) } +# .*test_pprint\.py:\d+:\d+ \(.*\.f\)$", lines[3])
    assert len({line.index("#") for line in lines if "#" in line}) == 1
    assert jaxpr.pretty_print(name_stack=True).split("\n")[3].endswith("# [outer]")


def test_colours_are_asked_for_or_allowed_on_a_terminal(monkeypatch):
    jaxpr = sine_of_product()
    coloured = jaxpr.pretty_print(use_color=True)
    assert coloured.startswith("{ \x1b[34;1mlambda \x1b[39;22m; a\x1b[35m:f32[3]\x1b[39m b")
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == str(jaxpr)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert str(jaxpr) == coloured
    jax.config.update("jax_pprint_use_color", False)
    try:
        assert "\x1b" not in str(jaxpr)
    finally:
        jax.config.update("jax_pprint_use_color", True)


@pytest.mark.parametrize("number", [0.1, 1 / 3, 1e20, 1 + 0.1j])
def test_numbers_that_become_arrays_inside_are_shown_as_they_were_written(number):
    text = str(jax.make_jaxpr(lambda x: jnp.full(2, jnp.array(number)))(X))
    assert f"{number}:" in text


def test_names_of_programs_are_no_names_of_variables():
    def b(y):
        return lax.mul(y, 2.0)

    twice = jax.jit(b)
    text = str(jax.make_jaxpr(lambda x: twice(twice(x)))(X))
    assert text.startswith(
        "let b = { lambda ; a:f32[3]. let c:f32[3] = mul a 2.0:f32[] in (c,) } in\n"
    )
    assert text.count("jit[name=b jaxpr=b]") == 2


def test_deep_sharing_takes_linear_time():
    function = lax.sin
    for _ in range(40):
        function = jax.jit(lambda y, inner=function: inner(inner(y)))
    text = jaxpr_text(jax.make_jaxpr(function)(X))
    assert text.count("let lambda") == 39
