"""The call stub: it counts references right, raises what programs raise, and gives up cleanly."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import tapeless as jax
from tapeless import dtypes
from tapeless.runtime import fastcall
from tapeless.runtime.array import Array

jnp = jax.numpy


@pytest.fixture(autouse=True)
def linked():
    """Link the stub."""
    fastcall.install()


def counts(*things):
    """Return reference counts, when what other tests left behind is gone."""
    while gc.collect():
        pass
    return [sys.getrefcount(thing) for thing in things]


def test_the_stub_is_in_place_and_can_be_switched_off():
    """Methods are C functions, and Python functions while switched off."""
    native = type(jax.jit(jnp.sin)).__call__
    assert type(native).__name__ == "method_descriptor"
    with fastcall.switched_off():
        assert type(type(jax.jit(jnp.sin)).__call__).__name__ == "function"
    assert type(jax.jit(jnp.sin)).__call__ is native


@pytest.mark.parametrize(
    "args",
    [
        lambda x: (x,),
        lambda x: (2.5,),
        lambda x: (10**6,),
        lambda x: (np.float32(2.5),),
        lambda x: ({"a": x, "b": 1.5},),
        lambda x: (np.arange(5.0, dtype=np.float32),),
        lambda x: (np.arange(5.0),),
        lambda x: ({"a": x, "b": np.arange(5, dtype=np.int32)},),
    ],
)
def test_references_are_balanced(args):
    """After two thousand calls arguments, types and settings have the references of before."""
    x = jnp.arange(5.0)
    given = args(x)
    f = jax.jit(lambda tree: jax.tree.map(lambda leaf: (leaf, leaf * 2), tree))
    for _ in range(200):
        f(*given)
    watched = (x, x.aval, x.block, jax.config.trace_context(), f, f.routes, Array, float)
    watched = (*watched, np.ndarray, *jax.tree.leaves(given))
    before, before_of_none = counts(*watched), sys.getrefcount(None)
    for _ in range(2_000):
        f(*given)
    assert counts(*watched) == before
    # Other threads of the process may take and leave a None meanwhile.
    assert abs(sys.getrefcount(None) - before_of_none) < 100


def test_eager_references_are_balanced():
    """The same for operations outside of jit."""
    x = jnp.arange(5.0)
    for _ in range(200):
        x + x
        x * 2.0
    watched = (x, x.aval, x.block, jax.lax.add_p, fastcall.operations)
    before = counts(*watched)
    for _ in range(2_000):
        x + x
        x * 2.0
    assert counts(*watched) == before


def test_large_results_go_through_the_pool():
    """Results above the small size are right and are freed."""
    x = jnp.ones(1 << 16)
    f = jax.jit(lambda x: (x + 1, x * 2))
    for _ in range(50):
        one, two = f(x)
    assert float(one.sum()) == float(two.sum()) == 2.0 * (1 << 16)


def test_errors_of_host_functions_come_through():
    """What a callback raises reaches the caller at every call, and right calls follow."""

    def host(x):
        """Refuse negative numbers."""
        if x < 0:
            raise ValueError("negative")
        return np.asarray(x)

    f = jax.jit(lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct((), "float32"), x))
    for _ in range(3):
        assert f(1.0) == 1.0
        with pytest.raises(Exception, match="negative"):
            f(-1.0)


def test_deleted_arguments_are_refused():
    """A deleted array raises also where a route is known."""
    f = jax.jit(lambda x: x + 1)
    x = jnp.ones(3)
    f(x)
    f(x)
    x.delete()
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        f(x)


def test_many_leaves():
    """A thousand arguments and results."""
    xs = [jnp.float32(k) for k in range(1000)]
    f = jax.jit(lambda *xs: tuple(x + 1 for x in xs))
    for _ in range(3):
        outs = f(*xs)
    assert [float(out) for out in outs] == [k + 1.0 for k in range(1000)]


_NUMPY_ARGUMENTS = {
    "small": np.arange(6, dtype=np.float32).reshape(2, 3),
    "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "strided": np.arange(12, dtype=np.int32)[::-2],
    "narrowed": np.arange(6.0),
    "large": np.arange(1 << 15, dtype=np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "one byte": np.array(7, np.int8),
    "complex": np.array([1 + 2j, 3j], np.complex64),
}


@pytest.mark.parametrize("name", _NUMPY_ARGUMENTS)
def test_numpy_arrays_are_arguments_by_value(name):
    """Native and Python calls agree; results share no memory with the argument."""
    x = _NUMPY_ARGUMENTS[name].copy()
    want = x.astype(jax.dtypes.canonicalize_dtype(x.dtype))
    f = jax.jit(lambda x, tree: (x, x + 1, tree["b"]))
    for _ in range(3):
        native = f(x, {"b": x})
    with fastcall.switched_off():
        python = f(x, {"b": x})
    x[...] = 0
    for outs in (native, python):
        for out, expected in zip(outs, (want, want + 1, want), strict=True):
            assert out.dtype == want.dtype
            np.testing.assert_array_equal(out, expected)


def test_numpy_arrays_have_routes(monkeypatch):
    """A second call with a NumPy array, alone or in a tree, runs no Python code of ours."""
    x = np.arange(4, dtype=np.float32)
    f = jax.jit(lambda x: x * 2)
    f(x)
    monkeypatch.setattr(type(f), "_find_and_call", None)
    np.testing.assert_array_equal(f(x), x * 2)
    np.testing.assert_array_equal(f(x + 1), (x + 1) * 2)


def test_numpy_arrays_follow_the_64_bit_switch():
    """The same argument has another type under `enable_x64`."""
    x = np.arange(3.0) + 1e-12
    f = jax.jit(lambda x: x)
    for _ in range(2):
        assert f(x).dtype == np.float32
        with jax.enable_x64(True):
            assert f(x).dtype == np.float64
            np.testing.assert_array_equal(f(x), x)


@pytest.mark.parametrize("x", [np.array([object()]), np.array(["a"]), np.arange(3, dtype=">f4")])
def test_numpy_arrays_of_other_elements_are_refused(x):
    """The error names the argument, by the native way as well."""
    f = jax.jit(lambda x: x)
    f(np.arange(3, dtype=np.float32))
    with pytest.raises(TypeError, match=r"as an abstract array[\s\S]*at path x"):
        f(x)


def test_arguments_of_any_number():
    """More than the stack would hold go to Python code."""
    x = jnp.ones(2)
    f = jax.jit(lambda *args: args[-1])
    f(x)
    with jax.disable_jit():
        assert f(*[x] * 1_200_000) is x


def test_a_function_without_fields_has_no_routes():
    """As one that was made by `__new__` alone."""
    f = jax.jit(lambda x: x)
    f(1.0)
    with pytest.raises(AttributeError):
        type(f).__new__(type(f))(1.0)


def test_interrupts_in_conversions_are_not_lost(monkeypatch):
    """What a signal's handler raises as a NumPy array is converted ends the call."""
    raising = []
    supported = dtypes.is_supported

    def interrupt(dtype):
        """Raise, once armed."""
        if raising:
            raise raising.pop()
        return supported(dtype)

    monkeypatch.setattr(dtypes, "is_supported", interrupt)
    x = np.ones((300, 300), np.float32)
    f = jax.jit(lambda x: x * 2)
    for _ in range(3):
        f(x)
    raising.append(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        f(x)
    np.testing.assert_array_equal(f(x), x * 2)
