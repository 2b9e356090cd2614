"""Eager evaluation: operations outside of transformations, and programs that are shared."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import tapeless as jax
from tapeless.runtime import eager, fastcall

jnp, lax = jax.numpy, jax.lax


@pytest.fixture(params=["native", "python"], autouse=True)
def way(request):
    """Run each test with the call stub, and with the Python code it stands in for."""
    if request.param == "native":
        fastcall.install()
        yield
    else:
        with fastcall.switched_off():
            yield


def difference(first, second):
    """Return a function that captures two arrays."""
    return lambda x: x + first - second


def shift(w):
    """Return a function that captures an array."""
    return lambda x: x + w


def test_operands_of_all_kinds():
    """Arrays, NumPy arrays and scalars mix, at every call the same."""
    x = jnp.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(x + x, [0.0, 2.0, 4.0])
        np.testing.assert_array_equal(x * 2.0, [0.0, 2.0, 4.0])
        np.testing.assert_array_equal(x - np.ones(3, "float32"), [-1.0, 0.0, 1.0])
        np.testing.assert_array_equal(lax.add(x, np.float32(1.5)), [1.5, 2.5, 3.5])


def test_parameters_tell_programs_apart():
    """The same operation with other parameters, or other names for them, is another program."""
    x = jnp.arange(6.0).reshape(2, 3)
    for _ in range(3):
        np.testing.assert_array_equal(x.sum(0), [3.0, 5.0, 7.0])
        np.testing.assert_array_equal(x.sum(1), [3.0, 12.0])
        assert x.sum() == 15.0
        assert x.T.shape == (3, 2)


def test_fresh_bodies_are_compiled_once():
    """Loops and branches whose functions are new at each call share one program."""
    x = jnp.ones(4)

    def loops(scale):
        """Run a scan, a cond and a while loop, each with new functions."""
        total, _ = lax.scan(lambda c, _: (0.5 * c + scale, None), x, None, length=3)
        chosen = lax.cond(True, lambda x: x + scale, lambda x: x, x)
        counted = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * scale), (0, x))
        return total, chosen, counted[1]

    loops(x)
    for k in (2.0, 3.0):
        scale = x * k
        before = len(eager.templates)
        results = loops(scale)
        assert len(eager.templates) == before
        np.testing.assert_array_equal(results[0], 0.125 * x + 1.75 * scale)
        np.testing.assert_array_equal(results[1], x + scale)
        np.testing.assert_array_equal(results[2], scale**3)


def test_equal_programs_with_other_constants():
    """New lambdas that capture other arrays share code, not results."""
    for k in range(4):
        w = jnp.full(3, float(k))
        np.testing.assert_array_equal(jax.jit(shift(w))(jnp.zeros(3)), [k, k, k])


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1.0, 2.0), (1, 1.0), (True, 1)])
def test_literals_tell_programs_apart(one, other):
    """Programs that differ in a literal's value, sign or type are not taken for each other."""
    results = [jax.jit(lambda x, v=v: lax.full((2,), v))(0.0) for v in (one, other)]
    for result, value in zip(results, (one, other), strict=True):
        elements = np.asarray(result)
        assert elements.dtype.kind == np.asarray(value).dtype.kind
        assert all(str(element) == str(value) for element in elements.tolist())


def test_same_array_captured_twice_or_two_arrays():
    """Capturing one array twice and capturing two arrays are different programs."""
    a, b = jnp.ones(2), jnp.full(2, 5.0)
    for first, second in ((a, a), (a, b), (b, a), (b, b)):
        got = jax.jit(difference(first, second))(jnp.zeros(2))
        np.testing.assert_array_equal(got, np.asarray(first) - np.asarray(second))


def test_leaked_tracer_is_refused():
    """An operation on a tracer of a transformation that has ended raises."""
    kept = []
    jax.jit(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jnp.sin(kept[0])


def test_threads_get_their_own_results():
    """Four threads that call one function with their own arguments get their own results."""
    f = jax.jit(lambda x: (x * 2 + 1).sum())
    xs = [jnp.full(5000, float(k)) for k in range(4)]
    wrong = []

    def work(k):
        """Call it many times."""
        for _ in range(200):
            if float(f(xs[k])) != 5000 * (2 * k + 1):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_transformed_programs_are_run_by_plans():
    """A call that comes again has the plan of the one before, and its results."""
    f = jax.jit(lambda x: jnp.sin(x) * x)
    x, y = jnp.arange(4.0), jnp.arange(4.0) - 2
    wanted = jax.jvp(f, (x,), (y,))
    for _ in range(80):
        for value, first in zip(jax.jvp(f, (x,), (y,)), wanted, strict=True):
            np.testing.assert_array_equal(value, first)
    for args in ((x, np.ones(4, "float32")), (np.ones(4, "float32"), y)):
        value, tangent = jax.jvp(f, args[:1], args[1:])
        np.testing.assert_allclose(value, np.sin(args[0]) * args[0], rtol=1e-6)
        slope = np.cos(args[0]) * args[0] + np.sin(args[0])
        np.testing.assert_allclose(tangent, slope * args[1], rtol=1e-6)
    plans = [plan for *_, table in eager._plans_of._tables.values() for plan in table.values()]
    assert any(isinstance(plan, fastcall.Plan) for each in plans for plan in each.values())


def test_plans_follow_settings_and_deleted_arguments():
    """Settings that staging reads, and arrays that are gone, are noticed at every call."""
    f = jax.jit(jnp.log)
    x, one = jnp.array([-1.0, 1.0]), jnp.ones(2)
    for _ in range(3):
        assert np.isnan(jax.jvp(f, (x,), (one,))[0][0])
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        jax.jvp(f, (x,), (one,))
    assert np.isnan(jax.jvp(f, (x,), (one,))[0][0])
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jax.jvp(f, (x,), (one,))


def test_plans_go_with_their_programs():
    """Functions that are transformed a few times each leave nothing behind."""
    x = jnp.ones(3)
    kept = []
    for _ in range(2):
        gc.collect()
        kept.append(len(eager._plans_of._tables))
        for _ in range(20):
            f = jax.jit(lambda x: x * 2 + 1)
            for _ in range(3):
                jax.grad(lambda x, f=f: f(x).sum())(x)
        del f
    gc.collect()
    assert len(eager._plans_of._tables) <= kept[-1] + 4
