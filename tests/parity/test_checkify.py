"""checkify finds what it finds in JAX, with the same messages; debug_nans stops where JAX does.

The programs are in checkify_programs.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import checkify

import tapeless
from tapeless.experimental import checkify as own_checkify
from tests.parity.checkify_programs import NONFINITE, PROGRAMS

pytestmark = pytest.mark.oracle


def names_of(library: ModuleType, module: Any) -> dict[str, Any]:
    """Return what the programs refer to."""
    jnp, lax, check = library.numpy, library.lax, module.check

    def message(pair: tuple) -> tuple:
        """Return the message of an error, and the result."""
        return pair[0].get(), pair[1]

    def ck(f: Callable, errors: Any = module.user_checks) -> Callable:
        """Return the function whose errors are messages."""
        return lambda *args: message(module.checkify(f, errors=errors)(*args))

    def positive(x: Any) -> Any:
        """Check that x is positive."""
        check(x > 0, "must be positive {x}", x=jnp.asarray(x))
        return x + 1

    def step(c: Any, y: Any) -> tuple:
        """Check that the carry is small."""
        check(c < 3, "c too large {c} {y}", c=jnp.asarray(c), y=jnp.asarray(y))
        return c + 1, c

    def guarded(x: Any) -> Any:
        """Raise what was a value."""
        error, out = module.checkify(positive)(x)
        module.check_error(error)
        return out

    @library.custom_jvp
    def jvp_function(x: Any) -> Any:
        """Check, with a derivative of its own."""
        check(x > 0, "of the function")
        return x

    jvp_function.defjvp(lambda p, t: (jvp_function(*p), 5 * t[0]))

    @library.custom_vjp
    def vjp_function(x: Any) -> Any:
        """Check, with a backward rule."""
        check(x > 0, "of the function")
        return x

    def forward(x: Any) -> tuple:
        """Check in the forward rule."""
        check(x > 0, "of the forward rule")
        return x, None

    def backward(residual: None, ct: Any) -> tuple:
        """Check in the backward rule."""
        check(ct > 2, "of the backward rule")
        return (3 * ct,)

    vjp_function.defvjp(forward, backward)
    return {
        "jax": library, "jnp": jnp, "lax": lax, "jit": library.jit, "vmap": library.vmap,
        "grad": library.grad, "checkify": module, "check": check, "f32": jnp.float32, "ck": ck,
        "message": message, "positive": positive, "step": step, "guarded": guarded,
        "jvp_function": jvp_function, "vjp_function": vjp_function,
    }  # fmt: skip


def outcome(text: str, names: dict[str, Any], library: ModuleType) -> list[Any]:
    """Return the leaves of a program's result, arrays as lists, or the error's class and words."""
    try:
        result = eval(compile(text, "program", "eval"), names)
    except Exception as error:  # noqa: BLE001 - whatever it is
        return [type(error).__name__, re.sub(r" at \S+.*? traced", " traced", str(error))]
    leaves = library.tree.leaves(result, is_leaf=lambda x: x is None)
    return [x if x is None or isinstance(x, str) else np.asarray(x).tolist() for x in leaves]


THEIRS = names_of(jax, checkify)
OURS = names_of(tapeless, own_checkify)


@pytest.mark.parametrize("name", PROGRAMS)
def test_errors_and_results_are_those_of_jax(name: str) -> None:
    theirs = outcome(PROGRAMS[name], THEIRS, jax)
    ours = outcome(PROGRAMS[name], OURS, tapeless)
    for one, other in zip(theirs, ours, strict=True):
        if isinstance(one, (float, list)):
            np.testing.assert_allclose(other, one, rtol=1e-5)
        else:
            assert other == one


# Functions of x: (3,), one of whose elements is no number, whose result is none either.
OF_NAN = (
    *"lax.neg lax.abs lax.sign lax.floor lax.ceil lax.round lax.square lax.sort".split(),
    *"jnp.max jnp.min jnp.sort jnp.argsort jnp.nanmax jnp.sum jnp.prod jnp.mean jnp.std".split(),
    *"lax.exp lax.sqrt lax.tanh lax.log1p lax.erf lax.cumsum lax.cummax jnp.cumsum".split(),
    *"jax.nn.relu jax.nn.softmax".split(),
    "lambda x: lax.max(x, x)", "lambda x: lax.min(x, x)", "lambda x: lax.add(x, x)",
    "lambda x: lax.nextafter(x, x)", "lambda x: lax.pow(x, x)", "lambda x: x @ x",
    "lambda x: lax.top_k(x, 2)[0]", "lambda x: x.at[jnp.array([0])].add(x[1])",
    "lambda x: x.at[jnp.array([0])].multiply(x[1])", "lambda x: x.at[jnp.array([0])].min(x[1])",
    "lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), 'VALID')",
    "lambda x: lax.clamp(f32(0), x, f32(2))", "lambda x: jnp.where(x > 1, x, x)",
)  # fmt: skip
MODES = ("None", "'clip'", "'fill'", "'drop'", "'promise_in_bounds'")
OUTSIDE = ("jnp.take(x, i, mode={})", "jnp.take_along_axis(x, i, 0, mode={})") + tuple(
    f"x.at[i].{op}(mode={{}})" for op in ("get", "set", "add", "multiply", "min", "apply")
)


@pytest.mark.parametrize("function", OF_NAN)
def test_what_is_no_number_is_told_of_the_operations_that_tell_it_in_jax(function: str) -> None:
    text = f"ck(jit({function}), checkify.nan_checks)(jnp.array([1., jnp.nan, 3.]))[0]"
    assert outcome(text, OURS, tapeless) == outcome(text, THEIRS, jax)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", OUTSIDE)
def test_indices_out_of_bounds_are_told_of_the_modes_of_which_jax_tells(
    call: str, mode: str
) -> None:
    call = call.replace("apply(", "apply(jnp.sin, ")
    for op in ("set", "add", "multiply", "min"):
        call = call.replace(f".{op}(", f".{op}(1.0, ")
    if "take" in call and mode in ("'drop'", "'promise_in_bounds'"):
        return
    text = f"ck(jit(lambda x, i: {call.format(mode)}), checkify.index_checks)"
    told = [
        outcome(f"{text}(jnp.arange(4.), jnp.array([7, 1]))[0]", names, library)
        for names, library in ((OURS, tapeless), (THEIRS, jax))
    ]
    assert [x == [None] for x in told] == [False, False], told


def test_a_mapped_while_loop_may_have_checks_where_jax_refuses_it() -> None:
    text = (
        "ck(vmap(lambda n: lax.while_loop(lambda c: c < n, lambda c: (check(c < 4, 'big {}', "
        "jnp.asarray(c)), c + 1)[1], 0)))(jnp.array([1, 3, 6]))"
    )
    assert outcome(text, THEIRS, jax)[0] == "ValueError"
    assert outcome(text, OURS, tapeless) == ["big 4 (`check` failed)", [1, 3, 6]]


def test_checks_in_derivative_rules_are_left_out_where_jax_raises_them() -> None:
    text = "grad(lambda x: checkify.checkify(vjp_function)(x)[1])(f32(1))"
    assert outcome(text, THEIRS, jax)[0] == "JaxRuntimeError"
    assert outcome(text, OURS, tapeless) == [3.0]


@pytest.mark.parametrize("name", NONFINITE)
def test_debug_nans_stops_where_jax_does(name: str) -> None:
    outcomes = []
    for library, names in ((jax, THEIRS), (tapeless, OURS)):
        with library.debug_nans(True):
            outcomes.append(outcome(NONFINITE[name], names, library))
    theirs, ours = outcomes
    if name in ("scan", "while"):  # JAX names the loop; we name the operation inside
        assert theirs == ["FloatingPointError", f"invalid value (nan) encountered in {name}"]
        assert ours[1].startswith("invalid value (nan) encountered in log\n")
        assert "of the loop" in ours[1]
    elif theirs[0] == "FloatingPointError":
        assert ours[0] == theirs[0]
        assert ours[1].splitlines()[0] == theirs[1].splitlines()[0]
    else:
        assert ours == theirs
