"""Callbacks: when they run, under which transformations, and what they refuse."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless.experimental import io_callback

SCALAR = jax.ShapeDtypeStruct((), np.float32)
ROWS = np.arange(3, dtype=np.float32)


@pytest.fixture
def seen():
    """Collect what `note` is called with."""
    return []


def run(f, *args):
    """Call a function and wait for its effects."""
    out = f(*args)
    jax.effects_barrier()
    return out


def test_a_debug_callback_runs_once_per_call_and_row(seen):
    def f(x):
        """Note the argument."""
        jax.debug.callback(lambda x: seen.append(float(x)), x)
        return x

    run(jax.jit(f), 7.0)
    run(jax.vmap(f), ROWS)
    run(jax.grad(f), 3.0)
    assert seen == [7.0, 0.0, 1.0, 2.0, 3.0]


def test_callbacks_get_arrays(seen):
    jax.jit(lambda x: jax.pure_callback(lambda x: seen.append(x) or x, SCALAR, x))(2.0)
    assert isinstance(seen[0], jax.Array)


@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [((), ())] * 3),
        ("expand_dims", [((3,), (1,))]),
        ("broadcast_all", [((3,), (3,))]),
        ("legacy_vectorized", [((3,), ())]),
    ],
)
def test_the_method_says_how_a_callback_is_mapped(seen, method, shapes):
    def add(x, y):
        """Note the shapes."""
        seen.append((x.shape, y.shape))
        return (np.asarray(x) + np.asarray(y)).astype(np.float32)

    call = lambda x, y: jax.pure_callback(add, SCALAR, x, y, vmap_method=method)  # noqa: E731
    np.testing.assert_array_equal(ROWS + 2, jax.vmap(call, (0, None))(ROWS, np.float32(2)))
    assert seen == shapes


def test_a_result_of_another_type_than_announced_is_refused():
    with pytest.raises(RuntimeError, match=r"Expected: \(\), Actual: \(3,\)"):
        jax.pure_callback(lambda: ROWS, SCALAR)
    with pytest.raises(RuntimeError, match="Expected: float32, Actual: int32"):
        jax.pure_callback(lambda: np.int32(1), SCALAR)
    with pytest.raises(RuntimeError, match="Expected: 1, Actual: 2"):
        jax.pure_callback(lambda: (np.float32(1), np.float32(1)), SCALAR)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_go_in_and_out(dtype, capsys):
    with jax.enable_x64(True):
        x = np.array([[1 + 2j, 3], [4j, 5], [6, 7 - 1j]], dtype)
        turned = jax.ShapeDtypeStruct((2, 3), dtype)
        double = lambda x: jax.pure_callback(lambda x: 2 * x.T, turned, x)  # noqa: E731
        np.testing.assert_array_equal(2 * x.T, jax.jit(double)(x))
        np.testing.assert_array_equal(2 * x.T + 1, jax.jit(lambda x: double(x) + 1)(x))
        jax.debug.print("{}", x[0])
    assert capsys.readouterr().out == f"{x[0]}\n"


def test_callbacks_have_no_derivatives():
    pure = lambda x: jax.pure_callback(lambda x: x, SCALAR, x)  # noqa: E731
    with pytest.raises(ValueError, match="Pure callbacks do not support JVP"):
        jax.grad(pure)(1.0)
    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        jax.grad(lambda x: io_callback(lambda x: x, SCALAR, x))(1.0)
    with pytest.raises(ValueError, match="Pure callbacks do not support transpose"):
        jax.linear_transpose(pure, 1.0)(1.0)
    with pytest.raises(ValueError, match="IO callbacks do not support transpose"):
        jax.linear_transpose(lambda x: io_callback(lambda x: x, SCALAR, x), 1.0)(1.0)
    assert jax.grad(lambda x: x * pure(lax.stop_gradient(x)))(2.0) == 2.0


def test_mapping_needs_a_method_and_ordered_effects_cannot_be_mapped():
    with pytest.raises(NotImplementedError, match="vmap_method=None"):
        jax.vmap(lambda x: jax.pure_callback(lambda x: x, SCALAR, x))(ROWS)
    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        jax.vmap(lambda x: io_callback(lambda x: x, SCALAR, x, ordered=True))(ROWS)


def test_an_unused_io_callback_runs_and_an_unused_pure_one_need_not(seen):
    def f(x):
        """Call for effect."""
        io_callback(lambda x: seen.append(float(x)), None, x)
        return x

    run(jax.jit(f), 2.0)
    assert seen == [2.0]


def test_prints_are_formatted_like_strings(capsys):
    run(lambda: jax.debug.print("a {} {b:.2f} {{}} {c}", 1, b=2.345, c="text"))
    assert capsys.readouterr().out == "a 1 2.35 {} text\n"


def test_arguments_that_a_format_does_not_use_are_refused():
    with pytest.raises(ValueError, match=r"Unused positional arguments .* \[1\]"):
        jax.debug.print("a", 1)
    with pytest.raises(ValueError, match="Unused keyword arguments .* You may be passing an f-s"):
        jax.debug.print("a {b}", b=1, c=2)
    jax.debug.print("a", 1, skip_format_check=True)


def test_prints_come_in_program_order(capsys):
    def step(carry, x):
        """Print both."""
        jax.debug.print("{} {}", carry, x)
        return carry + x, None

    run(jax.jit(lambda x: lax.scan(step, x, ROWS)[0]), 0.0)
    assert capsys.readouterr().out == "0.0 0.0\n0.0 1.0\n1.0 2.0\n"


def test_messages_go_to_the_log(caplog, capsys):
    caplog.set_level("INFO")
    run(jax.jit(lambda x: jax.debug.log("x is {}", x)), 2.0)
    run(lambda: jax.debug.log(ordered=True)("again {}", 3))
    assert caplog.messages == ["x is 2.0", "again 3"]
    assert capsys.readouterr().out == ""


def test_functions_that_were_called_are_freed_with_their_programs():
    class Doubled:
        def __call__(self, x):
            return 2 * x

    def run(function):
        shape = jax.ShapeDtypeStruct((3,), "float32")
        return jax.jit(lambda x: jax.pure_callback(function, shape, x))(jax.numpy.ones(3))

    function = Doubled()
    reference = weakref.ref(function)
    assert run(function).tolist() == [2.0, 2.0, 2.0]
    del function
    gc.collect()
    assert reference() is None


def test_objects_that_have_no_hash_are_printed(capsys: pytest.CaptureFixture) -> None:
    jax.debug.print("{} {x}", {1}, x=bytearray(b"a"))
    assert capsys.readouterr().out == "{1} bytearray(b'a')\n"
