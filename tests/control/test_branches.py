"""Branches as users write them: predicates, clamping, captured values, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp


def test_numbers_are_predicates():
    f = lambda p: lax.cond(p, lambda: 1, lambda: 0)  # noqa: E731
    assert [int(f(p)) for p in (True, 0, 2, 0.5, 0.0)] == [1, 0, 1, 1, 0]
    assert int(jax.jit(f)(2)) == 1


def test_an_index_out_of_range_is_clamped():
    f = lambda i: lax.switch(i, [lambda: 10, lambda: 11, lambda: 12])  # noqa: E731
    assert [int(f(i)) for i in (-5, 0, 1, 2, 99)] == [10, 10, 11, 12, 12]
    assert int(lax.switch(7, [lambda x: x], 3)) == 3


def test_captured_values_are_shared_by_the_branches():
    def f(a, b):
        """Capture one value in both branches and one in each."""
        c = a + b
        return lax.cond(a > 0, lambda: c * a, lambda: c * b)

    (*_, eqn) = jax.make_jaxpr(f)(1.0, 2.0).eqns
    assert len(eqn.invars) == 4
    assert jax.grad(f)(1.0, 2.0) == 4.0
    assert jax.grad(f, 1)(-1.0, 2.0) == 3.0


def test_what_every_branch_passes_on_goes_around():
    jaxpr = jax.make_jaxpr(lambda p, x, y: lax.cond(p, lambda *a: a, lambda x, y: (-x, y), x, y))(
        True, 1.0, 2.0
    )
    assert len(jaxpr.eqns[-1].outvars) == 1
    assert jaxpr.outvars[1] is jaxpr.invars[2]


def test_a_weak_result_meets_a_strong_one():
    out = lax.cond(True, lambda: 1.0, lambda: jnp.float32(2))
    assert (out.dtype, out.weak_type) == (np.float32, False)


def test_the_keyword_operand_is_one_argument():
    assert lax.cond(True, lambda x: x[0] + x[1], lambda x: 0, operand=(1, 2)) == 3
    with pytest.raises(TypeError, match="if 'operand' keyword is passed"):
        lax.cond(True, lambda x: x, lambda x: x, 1.0, operand=2.0)


def test_the_platform_is_the_cpu():
    cpu, other = lambda x: x + 1, lambda x: x - 1
    assert lax.platform_dependent(1.0, cpu=cpu, default=other) == 2.0
    assert lax.platform_dependent(1.0, tpu=other, default=cpu) == 2.0
    assert jax.grad(lambda x: lax.platform_dependent(x, cpu=lambda x: x * x, default=cpu))(3.0) == 6


def test_branches_run_in_python_when_jit_is_disabled():
    seen = []
    with jax.disable_jit():
        lax.cond(True, lambda: seen.append("yes") or 1, lambda: seen.append("no") or 1)
    assert seen == ["yes"]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: lax.cond("a", lambda: 1, lambda: 1), "scalar, got a of type <class 'str'>"),
        (lambda: lax.cond(np.ones(2), lambda: 1, lambda: 1), "of shape (2,)."),
        (
            lambda: lax.cond(1j, lambda: 1, lambda: 1),
            "must be either boolean or number, got complex64.",
        ),
        (
            lambda: lax.cond(True, 3, lambda: 1),
            "true_fun and false_fun arguments should be callable.",
        ),
        (
            lambda: lax.cond(True, lambda: 1.0, lambda: (1.0, 2.0)),
            "cond branch outputs must have the same pytree structure, but they differ:",
        ),
        (
            lambda: lax.cond(True, lambda: (1.0, 2.0), lambda: (1.0, jnp.ones(3))),
            "The output of true_fun at path [1] has type float32[] but the corresponding output of "
            "false_fun has type float32[3], so the shapes do not match.",
        ),
        (
            lambda: lax.switch(0, [lambda: jnp.float32(1), lambda: jnp.ones(3)]),
            "The output of branch 0 has type float32[] but the corresponding output of branch1 has "
            "type float32[3], so the shapes do not match.",
        ),
    ],
)
def test_errors_are_those_of_jax(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert text in str(caught.value)


def test_the_first_branch_says_whether_results_are_weak() -> None:
    """As in JAX, where the first branch of a cond is that of False."""
    strong = jnp.asarray(1, np.float32)
    weak = lambda p, yes, no: lax.cond(p, yes, no, strong).weak_type  # noqa: E731
    same, number = (lambda x: x), (lambda x: 1.0)
    for p in (True, False):
        assert weak(p, same, number) and weak(p, number, number)
        assert not weak(p, number, same) and not weak(p, same, same)
    assert lax.switch(1, [number, same, same], strong).weak_type
    assert not lax.switch(0, [same, number, same], strong).weak_type


@pytest.mark.parametrize(
    ("operand", "dtype", "weak"),
    [
        (3, "int32", True),
        (3.0, "float32", True),
        (np.arange(3), "int32", False),
        (np.float64(3), "float32", False),
    ],
)
def test_what_branches_pass_on_comes_out_as_arrays_of_the_system(operand, dtype, weak):
    same = lax.cond(True, lambda x: x, lambda x: x, operand)
    assert isinstance(same, jax.Array)
    assert (same.dtype, same.weak_type) == (dtype, weak)


@pytest.mark.oracle
@pytest.mark.parametrize("number", [3, 3.0, True, 2j, np.float64(3)])
def test_platform_dependent_functions_get_numbers_as_they_are(number):
    import jax as reference

    for transformed in (lambda system, f: f, lambda system, f: system.jit(f)):
        found, expected = [
            transformed(
                system,
                lambda x, lax=system.lax: lax.platform_dependent(
                    x, cpu=lambda x: x * 2, default=lambda x: x * 3
                ),
            )(number)
            for system in (jax, reference)
        ]
        assert isinstance(found, jax.Array) == isinstance(expected, reference.Array)
        assert isinstance(found, jax.Array) or type(found) is type(expected)
        assert np.asarray(found) == np.asarray(expected)


def test_platform_dependent_functions_get_arrays():
    third = lax.platform_dependent(np.arange(3), cpu=lambda x: x / 3, default=lambda x: x)
    assert isinstance(third, jax.Array)
    assert third.dtype == np.float32
