"""Traces: one is current, ownership is identity, and leaks are found."""

import threading

import numpy as np
import pytest

import tapeless as jax
import tapeless.lax as lax
from tapeless.core.trace import (
    Axis,
    Context,
    Tag,
    Trace,
    bind_axis,
    context,
    current_trace,
    find_axis,
    trace_state_clean,
    under,
)

X = np.ones(3, np.float32)


class Recorder(Trace):
    """Notes the names of the operations and lets its parent do them."""

    def __init__(self):
        super().__init__(current_trace(), Tag("recorder"))
        self.names = []

    def process(self, prim, args, params):
        self.names.append(prim.name)
        return self.parent.process(prim, args, params)


def test_operations_go_to_the_current_trace():
    recorder = Recorder()
    out = under(recorder, lambda: lax.sin(lax.neg(X)))
    assert recorder.names == ["neg", "sin"]
    np.testing.assert_allclose(out, np.sin(-X), rtol=1e-6)
    assert current_trace() is Context.base


def test_the_trace_is_restored_after_an_error():
    with pytest.raises(ZeroDivisionError):
        under(Recorder(), lambda: 1 / 0)
    assert current_trace() is Context.base


def test_threads_start_at_the_base_trace():
    seen = []
    thread = threading.Thread(target=lambda: seen.append((current_trace(), context.axes)))
    with bind_axis(Axis(3, "i")):
        under(Recorder(), lambda: (thread.start(), thread.join()))
    assert seen == [(Context.base, ())]


def test_perturbations_are_not_confused():
    def inner(x, y):
        return lax.mul(x, y)

    def outer(x):
        return lax.mul(x, jax.grad(lambda y: inner(x, y))(1.0))

    assert float(jax.grad(outer)(2.0)) == 4.0


def test_the_innermost_axis_of_a_name_is_found():
    with bind_axis(Axis(3, "i")), bind_axis(Axis(5, "i")), bind_axis(Axis(7)):
        assert find_axis("i").size == 5
    with pytest.raises(NameError, match="unbound axis name: i"):
        find_axis("i")


def leak(transform):
    """Return a tracer that outlives its transformation."""
    kept = []

    def f(x):
        kept.append(lax.sin(x))
        return x

    transform(f)
    return kept[0]


@pytest.mark.parametrize(
    "transform",
    [lambda f: jax.jit(f)(X), lambda f: jax.jvp(f, (X,), (X,)), lambda f: jax.vmap(f)(X)],
    ids=["jit", "jvp", "vmap"],
)
def test_leaked_tracers_are_refused(transform):
    tracer = leak(transform)
    with pytest.raises(jax.errors.UnexpectedTracerError, match="unexpected tracer"):
        lax.neg(tracer)
    with pytest.raises(jax.errors.UnexpectedTracerError, match="unexpected tracer"):
        jax.jit(lambda: lax.neg(tracer))()


def test_tracers_say_what_they_are():
    texts = []
    jax.jit(lambda x: texts.append(repr(x)) or x)(X)
    assert texts == ["JitTracer(float32[3])"]
    with pytest.raises(AttributeError, match="StageTracer has no attribute missing"):
        jax.jit(lambda x: x.missing)(X)


def test_libraries_compare_traces_by_main():
    found = []

    def f(x):
        inner = lambda y: found.append((y._trace.main, x._trace.main, current_trace().main)) or y  # noqa: E731
        return jax.jvp(inner, (x,), (x,))[0]

    jax.jvp(f, (X,), (X,))
    ((inner, outer, current),) = found
    assert inner is current
    assert inner is not outer


def test_nothing_is_traced_outside_of_transformations():
    found = []
    jax.jit(lambda x: found.append(trace_state_clean()) or x)(X)
    jax.vmap(lambda x: found.append(trace_state_clean()) or x)(X)
    assert found == [False, False]
    assert trace_state_clean()


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
def test_a_number_that_is_not_known_is_not_formatted(transform, capsys):
    shown = []

    def f(x):
        shown.append(f"{x}" == str(x))
        with pytest.raises(TypeError, match=r"unsupported format string.*is not known") as caught:
            f"{x:.2f}"
        jax.debug.print("{x:.2f}", x=x)
        assert str(caught.value).endswith('jax.debug.print("{x:.2f}", x=x).')
        return x

    transform(f)(np.float32([1.5]) if transform is jax.vmap else 1.5)
    jax.effects_barrier()
    assert (shown, capsys.readouterr().out) == ([True], "1.50\n")
