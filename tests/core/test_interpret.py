"""The interpreter: programs run under whatever trace is current."""

import gc
import weakref

import numpy as np

import tapeless as jax
import tapeless.lax as lax
from tapeless.core.interpret import eval_jaxpr, last_uses
from tapeless.core.jaxpr import Builder, Literal
from tapeless.core.trace import Tag, Trace, context, under
from tests.core.programs import F32, sine_of_product, sum_with_constant

X = np.array([0.5, 1.5, 2.5], np.float32)


def test_values_are_those_of_the_function():
    (out,) = eval_jaxpr(sine_of_product(), (), X, X)
    np.testing.assert_allclose(out, np.sin(X * X), rtol=1e-6)


def test_constants_may_be_other_than_those_attached():
    jaxpr = sum_with_constant(X)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, X)[0], X + X)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, [-X], X)[0], X - X)


def test_literals_and_inputs_may_be_outputs():
    builder = Builder()
    a = builder.new_input(F32)
    assert eval_jaxpr(builder.build([Literal(2.0, F32), a, a]), (), 5.0) == (2.0, 5.0, 5.0)


def test_the_current_trace_decides_what_running_means():
    jaxpr = sine_of_product()
    again = jax.make_jaxpr(lambda x, y: eval_jaxpr(jaxpr, (), x, y))(X, X)
    assert str(again) == str(jaxpr)
    assert again is not jaxpr


def test_equations_keep_their_source_lines():
    jaxpr = jax.make_jaxpr(lambda x: lax.sin(x))(X)
    again = jax.make_jaxpr(lambda x: eval_jaxpr(jaxpr, (), x))(X)
    assert again.eqns[0].source == jaxpr.eqns[0].source


def test_last_uses_name_each_variable_once():
    jaxpr = sine_of_product()
    product, sine = jaxpr.eqns
    first, second = last_uses(jaxpr)
    assert set(first) == set(jaxpr.invars)
    assert second == list(product.outvars)
    assert sine.outvars[0] not in first + second


def test_values_are_dropped_after_their_last_use():
    jaxpr = jax.make_jaxpr(lambda x: lax.cos(lax.neg(lax.sin(x))))(X)
    _, negation, cosine = (eqn.primitive for eqn in jaxpr.eqns)
    sines, left = [], []

    class Watching(Trace):
        """Looks at what is alive."""

        def process(self, prim, args, params):
            """Remember the sine weakly, and look whether it is still there when the cosine runs."""
            if prim is negation:
                sines.append(weakref.ref(args[0]))
            if prim is cosine:
                gc.collect()
                left.append(sines[0]())
            return under(self.parent, self.parent.process, prim, args, params)

    under(Watching(context.trace, Tag("watch")), eval_jaxpr, jaxpr, (), X)
    assert left == [None]


def test_sources_are_those_of_the_equations():
    inner = jax.make_jaxpr(lambda x: lax.sin(x))(1.0)

    def run(x):
        return eval_jaxpr(inner, (), x)

    (eqn,) = jax.make_jaxpr(run)(1.0).eqns
    assert eqn.source.frame.function == "<lambda>"


def test_library_functions_come_from_the_lines_that_call_them():
    def f(x):
        y = x @ x
        return y @ x

    first, second = jax.make_jaxpr(f)(np.ones((2, 2), F32.dtype)).eqns
    assert second.source.frame.line == first.source.frame.line + 1


def test_literals_keep_their_types_in_the_other_mode():
    """A program of one 64-bit mode is evaluated and transformed in the other."""

    def f(x):
        """Return a number computed with literals."""
        return x * 2.5 + x / 7

    def check(dtype):
        """Compare values, rows and derivatives, and their types, with NumPy's."""

        def evaluated(x):
            """Run the program."""
            return eval_jaxpr(jaxpr, jaxpr.consts, x)[0]

        rows, slope = np.arange(3, dtype=dtype), 2.5 + 1 / 7
        found = [jax.vmap(g)(given) for g in (evaluated, jax.grad(evaluated))]
        assert [x.dtype for x in found] == [dtype, dtype]
        for ours, expected in zip(found, (rows * slope, [slope] * 3), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=8 * np.finfo(dtype).eps)

    with jax.enable_x64(True):
        jaxpr, given = jax.make_jaxpr(f)(1.0), jax.numpy.arange(3.0)
    check(np.float64)
    jaxpr, given = jax.make_jaxpr(f)(1.0), jax.numpy.arange(3.0)
    with jax.enable_x64(True):
        check(np.float32)
