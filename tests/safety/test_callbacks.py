"""Callbacks: their exceptions, their use of the package, what debug.print prints, breakpoints."""

from __future__ import annotations

import io
import sys
import threading
import traceback
from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import debug, lax
from tapeless import numpy as jnp
from tapeless.control.callback import io_callback

F32 = jax.ShapeDtypeStruct((), jnp.float32)


def lines(capsys: pytest.CaptureFixture) -> list[str]:
    """Return the lines printed so far."""
    return capsys.readouterr().out.splitlines()


class Mine(Exception):
    """An exception of the user's."""


def fail(x: object) -> object:
    """Raise in a callback."""
    raise Mine("of the user")


@pytest.mark.parametrize(
    "run",
    [
        lambda: jax.pure_callback(fail, F32, 1.0),
        lambda: jax.jit(lambda x: jax.pure_callback(fail, F32, x))(1.0),
        lambda: jax.jit(lambda x: io_callback(fail, F32, x, ordered=True))(1.0),
        lambda: jax.jit(lambda x: debug.callback(fail, x))(1.0),
        lambda: lax.scan(lambda c, k: (jax.pure_callback(fail, F32, k), None), 1.0, jnp.ones(3)),
        lambda: jax.vmap(lambda x: debug.callback(fail, x))(jnp.ones(3)),
    ],
    ids=["eager", "jit", "io", "debug", "scan", "vmap"],
)
def test_an_exception_in_a_callback_arrives_as_the_users_with_its_traceback(run: object) -> None:
    with pytest.raises(Mine, match="of the user") as caught:
        run()
    assert "fail" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_a_function_works_after_its_callback_has_failed() -> None:
    def root(x: jax.Array) -> np.ndarray:
        if x < 0:
            raise Mine
        return np.sqrt(x)

    f = jax.jit(lambda x: jax.pure_callback(root, F32, x) + 1)
    with pytest.raises(Mine):
        f(-4.0)
    assert f(4.0) == 3


def test_callbacks_may_use_the_package() -> None:
    def inner(x: jax.Array) -> jax.Array:
        assert isinstance(x, jax.Array)
        return jax.jit(jax.grad(lambda y: jnp.sin(y) * y))(x) + jax.vmap(jnp.cos)(x[None])[0]

    f = jax.jit(lambda x: lax.scan(lambda c, k: (jax.pure_callback(inner, F32, c), c), x, None, 3))
    expected = x = 0.5
    for _ in range(3):
        expected = np.sin(expected) + expected * np.cos(expected) + np.cos(expected)
    assert float(f(x)[0]) == pytest.approx(expected, rel=1e-5)


def test_callbacks_may_use_the_package_while_a_function_is_mapped_or_differentiated() -> None:
    def inner(x: jax.Array) -> jax.Array:
        return jnp.sin(x) + jnp.zeros(3)[0]

    @jax.custom_jvp
    def f(x: jax.Array) -> jax.Array:
        return jax.pure_callback(inner, F32, x, vmap_method="sequential")

    f.defjvp(lambda p, t: (f(*p), jnp.cos(p[0]) * t[0]))
    mapped = jax.vmap(jax.value_and_grad(f), axis_name="rows")(jnp.arange(3.0))
    np.testing.assert_allclose(mapped[0], np.sin(np.arange(3.0)), rtol=1e-6)
    np.testing.assert_allclose(mapped[1], np.cos(np.arange(3.0)), rtol=1e-6)


def test_callbacks_in_several_threads_that_compile_do_not_hang() -> None:
    results: list[float] = []

    def work(number: int) -> None:
        def inner(x: jax.Array) -> jax.Array:
            return jax.jit(lambda y: y + number)(x)

        f = jax.jit(lambda x: jax.pure_callback(inner, F32, x) * 2)
        results.append(float(f(1.0)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == [2.0 * (1 + number) for number in range(6)]


def test_print_is_made_once_per_row_in_order(capsys: pytest.CaptureFixture) -> None:
    jax.vmap(lambda x, y: debug.print("{} {y}", x, y=y), in_axes=(0, None))(jnp.arange(3), 7)
    assert lines(capsys) == ["0 7", "1 7", "2 7"]


@pytest.mark.parametrize("transform", [jax.grad, lambda f: jax.jit(jax.grad(f))])
def test_print_in_a_gradient_prints_the_primal_once(
    transform: object, capsys: pytest.CaptureFixture
) -> None:
    def f(x: jax.Array) -> jax.Array:
        debug.print("x {x}", x=x)
        return x * x

    assert transform(f)(3.0) == 6
    assert lines(capsys) == ["x 3.0"]


def test_print_in_a_gradient_of_a_scan_prints_each_iteration_once(
    capsys: pytest.CaptureFixture,
) -> None:
    def body(c: jax.Array, k: jax.Array) -> tuple:
        debug.print("{} {}", c, k)
        return c * k, c

    assert jax.grad(lambda x: lax.scan(body, x, jnp.arange(1.0, 4.0))[0])(1.0) == 6
    assert lines(capsys) == ["1.0 1.0", "1.0 2.0", "2.0 3.0"]


@pytest.mark.parametrize("around", [
    lambda f: f,
    jax.jit,
    jax.checkpoint,
    lambda f: lambda x: jax.lax.cond(x > 0, f, lambda y: y, x),
    lambda f: lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
])  # fmt: skip
@pytest.mark.parametrize("look", [
    lambda x: jax.debug.print("{}", x),
    lambda x: jax.debug.callback(print, x),
])  # fmt: skip
def test_a_derivative_rule_that_shows_its_tangent_prints_forwards_only(
    look: Callable, around: Callable, capsys: pytest.CaptureFixture
) -> None:
    @jax.custom_jvp
    def square(x: jax.Array) -> jax.Array:
        return x * x

    @square.defjvp
    def rule(primals: tuple, tangents: tuple) -> tuple:
        look(tangents[0])
        return square(primals[0]), 2 * primals[0] * tangents[0]

    assert jax.grad(around(square))(3.0) == 6.0
    assert jax.vmap(jax.grad(around(square)))(jnp.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert capsys.readouterr().out == ""
    assert jax.jvp(square, (3.0,), (1.0,)) == (9.0, 6.0)
    assert capsys.readouterr().out == "1.0\n"
    (found,) = jax.linear_transpose(lambda x: (look(x), 2 * x)[1], 1.0)(1.0)
    assert found == 2.0 and capsys.readouterr().out == ""


def test_an_io_callback_of_a_tangent_is_left_out_backwards_if_it_returns_nothing() -> None:
    @jax.custom_jvp
    def square(x: jax.Array) -> jax.Array:
        return x * x

    @square.defjvp
    def rule(primals: tuple, tangents: tuple) -> tuple:
        io_callback(fail, None, tangents[0])
        return primals[0] ** 2, 2 * primals[0] * tangents[0]

    assert jax.grad(square)(3.0) == jax.jit(jax.grad(square))(3.0) == 6.0
    with pytest.raises(ValueError, match="IO callbacks do not support transpose"):
        jax.linear_transpose(lambda x: io_callback(fail, F32, x), 1.0)(1.0)


def test_print_under_remat_is_printed_again_backwards(capsys: pytest.CaptureFixture) -> None:
    @jax.checkpoint
    def body(c: jax.Array, k: jax.Array) -> tuple:
        debug.print("c {}", c)
        return c * k, None

    assert jax.jit(jax.grad(lambda x: lax.scan(body, x, jnp.arange(2.0, 4.0))[0]))(1.0) == 6
    assert lines(capsys) == ["c 1.0", "c 2.0", "c 2.0", "c 1.0"]


def test_print_in_a_branch_is_printed_when_the_branch_is_taken(
    capsys: pytest.CaptureFixture,
) -> None:
    def branch(name: str) -> object:
        return lambda x: (debug.print(name + " {}", x), x)[1]

    def f(p: object, x: object) -> jax.Array:
        return lax.cond(p, branch("true"), branch("false"), x)

    f(True, 1)
    jax.jit(f)(False, 2)
    assert lines(capsys) == ["true 1", "false 2"]
    jax.vmap(f)(jnp.array([True, False]), jnp.array([1, 2]))
    assert lines(capsys) == ["false 1", "false 2", "true 1", "true 2"]


def test_print_goes_through_sys_stdout_and_formats_as_python_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    jax.jit(lambda x: debug.print("{0:.2f} {{}} {word} {x}", x, word="text", x=[x, 1]))(1.234)
    assert (
        stream.getvalue() == "1.23 {} text [Array(1.234, dtype=float32), Array(1, dtype=int32)]\n"
    )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: debug.print("{x} {y}", x=x), KeyError, "y"),
        (lambda x: debug.print("{}", x, x), ValueError, "Unused positional arguments"),
        (lambda x: debug.print("x", y=x), ValueError, "f-string"),
        (lambda x: debug.print(x), TypeError, "expected str"),
        (lambda x: debug.callback(x), TypeError, "must be callable"),
    ],
)
def test_print_checks_its_arguments_when_traced(call: object, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        jax.jit(call)(1.0)


@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [((2,), (2,))] * 3),
        ("sequential_unrolled", [((2,), (2,))] * 3),
        ("expand_dims", [((3, 2), (1, 2))]),
        ("broadcast_all", [((3, 2), (3, 2))]),
        ("legacy_vectorized", [((3, 2), (2,))]),
    ],
)
def test_vmap_methods_of_pure_callback(method: str, shapes: list) -> None:
    seen = []

    def add(x: jax.Array, y: jax.Array) -> jax.Array:
        seen.append((x.shape, y.shape))
        return x + y

    result = jax.ShapeDtypeStruct((2,), jnp.float32)
    f = jax.vmap(
        lambda x, y: jax.pure_callback(add, result, x, y, vmap_method=method), in_axes=(0, None)
    )
    x, y = jnp.arange(6.0).reshape(3, 2), jnp.arange(2.0)
    np.testing.assert_array_equal(f(x, y), np.asarray(x) + np.asarray(y))
    assert seen == shapes


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (np.ones(3, np.float32), "shape for return value #0: Expected: \\(\\), Actual: \\(3,\\)"),
        (np.ones((), np.int32), "dtype for return value #0: Expected: float32, Actual: int32"),
        ((1.0, 2.0), "number of outputs from callback. Expected: 1, Actual: 2"),
        ("text", "dtype"),
    ],
)
def test_a_result_that_was_not_announced_is_refused(result: object, text: str) -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match=text):
        jax.jit(lambda x: jax.pure_callback(lambda _: result, F32, x))(1.0)


def test_ordered_io_callbacks_keep_their_order_and_are_never_left_out() -> None:
    seen: list[float] = []

    def note(x: jax.Array) -> np.float32:
        seen.append(float(x))
        return np.float32(0)

    @jax.jit
    def f(x: jax.Array) -> jax.Array:
        io_callback(note, F32, x, ordered=True)

        def body(i: jax.Array, c: jax.Array) -> jax.Array:
            io_callback(note, F32, c + i, ordered=True)
            return c

        lax.fori_loop(1, 3, body, x)
        io_callback(note, F32, 9.0, ordered=True)
        return x

    f(5.0)
    assert seen == [5.0, 6.0, 7.0, 9.0]


def test_io_callbacks_are_refused_where_they_would_run_twice() -> None:
    def f(x: jax.Array) -> jax.Array:
        return x * io_callback(lambda: np.float32(1), F32)

    with pytest.raises(NotImplementedError, match="Effects not supported in AD of"):
        jax.grad(jax.checkpoint(f))(1.0)


def test_breakpoint_reads_commands_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def inner(y: jax.Array) -> jax.Array:
        z = y * 2
        debug.breakpoint()
        return z

    def outer(x: jax.Array) -> jax.Array:
        y = x + 1
        return inner(y)

    monkeypatch.setattr(sys, "stdin", io.StringIO("p z\nu\np y\nz\nbt\nc\n"))
    assert jax.jit(outer)(2.0) == 6
    out = capsys.readouterr().out
    assert "Entering jdb:" in out
    assert "Array(6., dtype=float32)" in out
    assert "->          return inner(y)" in out
    assert "Array(3., dtype=float32)" in out
    assert "*** NameError: name 'z' is not defined" in out
    assert out.index("return inner(y)\n  File") < out.rindex("debug.breakpoint()")
