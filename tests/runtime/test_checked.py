"""debug_nans and debug_infs: the operation, the line and the iteration that made a value."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.control.callback import io_callback

LINE = r"It happened on line .*test_checked.py:{}:"


def line_of(function: Callable, text: str) -> int:
    """Return the number of the line of a function that contains a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def roots(x: Any) -> Any:
    """Take a root, which is on a line of its own."""
    y = x - 1
    z = jnp.sqrt(y)
    return z * 2


def shrinking(c: Any, k: Any) -> tuple:
    """Make a step of a loop whose fourth root is none."""
    root = jnp.sqrt(c)
    return c - 1, root


RUNS = {
    "eager": lambda x: roots(x),
    "jit": jax.jit(roots),
    "jit in jit": jax.jit(lambda x: jax.jit(roots)(x) + 1),
    "vmap": jax.vmap(roots),
    "jit of vmap": jax.jit(jax.vmap(roots)),
    "compiled ahead": lambda x: jax.jit(roots).lower(x).compile()(x),
    "cond": jax.jit(lambda x: lax.cond(True, roots, lambda x: x, x)),
    "remat": jax.jit(jax.checkpoint(roots)),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_operation_and_its_line_are_found(name: str) -> None:
    run = RUNS[name]
    with jax.debug_nans(True):
        run(jnp.full(3, 2.0))
        with pytest.raises(FloatingPointError) as caught:
            run(jnp.array([2.0, 0.0, 3.0]))
    assert str(caught.value).startswith("invalid value (nan) encountered in sqrt\n")
    caught.match(LINE.format(line_of(roots, "jnp.sqrt")))
    assert np.isnan(np.asarray(run(jnp.array([2.0, 0.0, 3.0]))[1]))  # off again


def test_in_a_scan_the_iteration_is_told() -> None:
    where = LINE.format(line_of(shrinking, "jnp.sqrt"))
    loop = jax.jit(lambda x: lax.scan(shrinking, x, jnp.arange(6))[1])
    with jax.debug_nans(True):
        loop(9.0)
        with pytest.raises(FloatingPointError, match=where + ".*in iteration 4 of the loop"):
            loop(3.0)
        with pytest.raises(FloatingPointError, match=where + ".*in iteration 4 of the loop"):
            lax.scan(shrinking, 3.0, jnp.arange(6))


def test_two_functions_that_do_the_same_have_their_own_lines() -> None:
    def one(x: Any) -> Any:
        return jnp.log(x) * 3

    def two(x: Any) -> Any:
        return jnp.log(x) * 3

    with jax.debug_nans(True):
        for function in (one, two):
            where = LINE.format(line_of(function, "jnp.log"))
            with pytest.raises(FloatingPointError, match=where):
                jax.jit(function)(-1.0)


def product(x: Any) -> Any:
    """Have a derivative at 0 that is infinity times zero."""
    root = jnp.sqrt(x)
    return root * 0.0


@pytest.mark.parametrize(
    "make",
    [jax.grad, lambda f: jax.jit(jax.grad(f)), lambda f: jax.grad(jax.jit(f))],
    ids=["eager", "jit of grad", "grad of jit"],
)
def test_in_the_backward_pass_the_line_is_that_of_the_forward_pass(make: Callable) -> None:
    with jax.debug_nans(True):
        make(product)(1.0)
        with pytest.raises(FloatingPointError, match=r"\(nan\) encountered in mul") as caught:
            make(product)(0.0)
    caught.match(LINE.format(line_of(product, "jnp.sqrt")))


def test_the_backward_pass_of_a_scan_tells_the_iteration() -> None:
    def step(c: Any, k: Any) -> tuple:
        return jnp.sqrt(c) * jnp.where(k == 2, 0.0, 1.0), None

    total = jax.jit(jax.grad(lambda x: lax.scan(step, x, jnp.arange(4))[0]))
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="in iteration 2 of the"):
        total(3.0)


def test_a_value_that_no_result_depends_on_is_no_error() -> None:
    guarded = jax.jit(lambda x: jnp.where(x > 0, jnp.log(x), 0.0))
    with jax.debug_nans(True):
        assert guarded(-1.0) == 0
        assert jax.jit(lambda x: (jnp.log(x), x)[1])(-1.0) == -1


def test_constants_that_no_draw_uses_are_no_error() -> None:
    with jax.debug_nans(True), jax.debug_infs(True):
        drawn = jax.random.binomial(jax.random.key(0), 10, jnp.array([0.2, 0.7]))
        assert drawn.shape == (2,)
        with pytest.raises(FloatingPointError):
            jax.random.binomial(jax.random.key(0), 10, jnp.array([0.2, np.nan]))


def test_infinities_are_found_by_their_own_flag() -> None:
    inverse = jax.jit(lambda x: 1 / x + 1)
    zero = jnp.float32(0)
    with jax.debug_infs(True), pytest.raises(FloatingPointError, match=r"\(inf\) .* in div"):
        inverse(zero)
    with jax.debug_nans(True):
        assert np.isinf(inverse(zero))
    with jax.debug_infs(True):
        assert np.isnan(jax.jit(lambda x: x * 1)(jnp.float32(np.nan)))


def test_arguments_that_are_donated_are_still_there_to_run_again() -> None:
    donating = jax.jit(lambda x: jnp.log(x) + 1, donate_argnums=0)
    with jax.debug_nans(True):
        kept = jnp.ones(3)
        np.testing.assert_array_equal(donating(kept), np.ones(3))
        assert kept.is_deleted()
        with pytest.raises(FloatingPointError, match="in log"):
            donating(-jnp.ones(3))


def test_a_program_with_side_effects_is_not_run_twice() -> None:
    calls = []
    result = jax.ShapeDtypeStruct((), jnp.float32)

    def record(x: Any) -> Any:
        calls.append(float(x))
        return x

    program = jax.jit(lambda x: jnp.log(io_callback(record, result, x)))
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="in a result of"):
        program(jnp.float32(-1))
    assert calls == [-1]


def test_captured_arrays_and_keys_are_there_to_run_again() -> None:
    table = jnp.array([1.0, -1.0])
    program = jax.jit(lambda k: jnp.log(table) + jax.random.normal(k))
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="in log"):
        program(jax.random.key(0))


def test_the_second_run_is_no_part_of_a_program_without_faults() -> None:
    calls = []
    program = jax.jit(lambda x: (jax.debug.callback(calls.append, x), jnp.log(x))[1])
    with jax.debug_nans(True):
        program(1.0)
        assert len(calls) == 1
        with pytest.raises(FloatingPointError):
            program(-1.0)
    assert len(calls) == 3  # printed again, as in JAX


@pytest.mark.parametrize("kind", ["nan", "index"])
def test_checks_in_a_compiled_loop_cost_less_than_twice(kind: str) -> None:
    x = jnp.linspace(0.5, 1.0, 2000)

    def loop(x: Any) -> Any:
        return lax.scan(lambda c, i: (jnp.sin(c) + x[i], c), 0.0, jnp.arange(2000))

    def best(function: Callable) -> float:
        times = []
        for _ in range(30):
            start = time.perf_counter()
            function(x)
            times.append(time.perf_counter() - start)
        return min(times)

    plain = jax.jit(loop)
    checked = jax.jit(loop, compiler_options={"checks": kind})
    plain(x), checked(x)
    assert min(best(checked) / best(plain) for _ in range(5)) < 2


def test_results_are_looked_at_in_the_loop_that_makes_them() -> None:
    with jax.debug_nans(True):
        compiled = jax.jit(lambda x: (jnp.exp(x) - 1, x.T + x)).lower(jnp.ones((40, 40))).compile()
    loops = [line for line in compiled.as_text().splitlines() if line.startswith("for ")]
    assert len(loops) == 1


def test_rows_that_a_loop_stacks_are_looked_at_as_they_are_made() -> None:
    def step(c: Any, k: Any) -> tuple:
        return jnp.sqrt(c - 1), c * k

    loop = jax.jit(lambda x: lax.scan(step, x, jnp.arange(5.0))[1])
    with jax.debug_nans(True):
        text = loop.lower(jnp.full(100, 9.0)).compile().as_text()
        np.testing.assert_allclose(loop(jnp.full(100, 90.0))[1], 9.434, rtol=1e-3)
        with pytest.raises(FloatingPointError, match="in sqrt") as caught:
            loop(jnp.full(100, 9.0).at[70].set(1.5))
    caught.match(LINE.format(line_of(step, "jnp.sqrt")) + ".*in iteration 1 of the loop")
    assert "\n    fault:0(" in text  # in the loop, and in a case


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("word", ["nans", "infs"])
def test_rows_are_looked_at_in_loops_that_are_nested_mapped_or_run_backwards(
    reverse: bool, word: str
) -> None:
    def step(c: Any, k: Any) -> tuple:
        return c, c * jnp.where(k == 3, float(word[:-1]), 1.0)

    def outer(c: Any, k: Any) -> tuple:
        return c + 1, lax.scan(step, c, k, reverse=reverse)[1]

    ks = jnp.arange(6).reshape(3, 2)
    for run in (
        lambda ks: lax.scan(outer, jnp.ones(80), ks, reverse=reverse),
        lambda ks: jax.vmap(lambda c: lax.scan(outer, c, ks, reverse=reverse))(jnp.ones((4, 80))),
        lambda ks: jax.grad(lambda c: lax.scan(outer, c, ks)[1].sum())(jnp.ones(80)),
    ):
        plain = jax.jit(run)(ks % 2)
        with getattr(jax, f"debug_{word}")(True):
            checked = jax.jit(run)(ks % 2)
            with pytest.raises(FloatingPointError):
                jax.jit(run)(ks)
        for x, y in zip(jax.tree.leaves(plain), jax.tree.leaves(checked), strict=True):
            np.testing.assert_array_equal(x, y)


def test_donated_arguments_are_there_to_run_a_loop_again() -> None:
    donating = jax.jit(
        lambda x: lax.scan(lambda c, k: (jnp.log(c) + k, c), x, jnp.arange(3.0)), donate_argnums=0
    )
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="in log"):
        donating(jnp.ones(100))


CALLERS: dict[str, tuple[Callable, Callable]] = {
    "var": (
        lambda x: jnp.var(x * jnp.inf),
        lambda x: jnp.var(x * jnp.inf),
    ),
    "remainder": (
        lambda x: jnp.remainder(x, 0.0),
        lambda x: jnp.remainder(x, 0.0),
    ),
    "inv": (
        lambda x: jnp.linalg.inv(jnp.zeros((2, 2)) * x).sum(),
        lambda x: jnp.linalg.inv(jnp.zeros((2, 2)) * x).sum(),
    ),
}


@pytest.mark.parametrize("name", CALLERS)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.grad], ids=["eager", "jit", "grad"])
def test_functions_that_are_traced_once_have_the_line_of_each_caller(
    name: str, wrap: Callable
) -> None:
    with jax.debug_nans(True):
        for function in CALLERS[name]:
            line = function.__code__.co_firstlineno
            with pytest.raises(FloatingPointError, match=f"test_checked.py:{line}:"):
                wrap(function)(1.0)
