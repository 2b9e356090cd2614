"""`vmap` as users call it: axes as trees, sizes, and the words of its errors."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.interpreters import ad

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_axes_are_ints_trees_and_prefixes():
    f = lambda d, y: d["a"] * d["b"] + y  # noqa: E731
    tree = {"a": X, "b": X.T}
    out = jax.vmap(f, ({"a": 0, "b": 1}, None))(tree, 1.0)
    np.testing.assert_array_equal(X * X + 1, out)
    np.testing.assert_array_equal(X.T * 2, jax.vmap(lambda x: x * 2, -1)(X))
    np.testing.assert_array_equal(X.T, jax.vmap(lambda x: x, 0, 1)(X))
    np.testing.assert_array_equal(X.T, jax.vmap(lambda x: x, 0, -1)(X))
    both = jax.vmap(lambda x: (x, {"s": jnp.sum(x)}), out_axes=(1, 0))(X)
    assert (both[0].shape, both[1]["s"].shape) == ((3, 2), (2,))


def test_keyword_arguments_are_mapped_over_their_first_axis():
    out = jax.vmap(lambda x, *, y: x + y, in_axes=1)(X, y=np.arange(3.0, dtype=np.float32))
    np.testing.assert_array_equal(X.T + np.arange(3)[:, None], out)


def test_results_that_do_not_depend_on_the_batch_are_repeated_or_left_alone():
    out = jax.vmap(lambda x: (x, 1.0), out_axes=(0, None))(X)
    assert out[1] == 1.0
    np.testing.assert_array_equal([1, 1], jax.vmap(lambda x: 1.0)(X))
    with pytest.raises(ValueError, match="got axis spec None but output was batched on axis 0"):
        jax.vmap(lambda x: x, out_axes=None)(X)
    summed = jax.vmap(lambda x: x, out_axes=None, sum_match=True)(X)
    np.testing.assert_array_equal(X.sum(0), summed)


def test_the_size_may_be_given():
    out = jax.vmap(lambda x: x * 2, in_axes=None, axis_size=4)(X[0])
    np.testing.assert_array_equal(np.stack([X[0] * 2] * 4), out)
    with pytest.raises(ValueError, match="the `axis_size` argument was 4;"):
        jax.vmap(lambda x: x, axis_size=4)(X)


def test_functions_may_be_unmapped_arguments():
    out = jax.vmap(lambda f, x: f(x), (None, 0))(jnp.sum, X)
    np.testing.assert_array_equal(X.sum(1), out)


def test_names_reach_collectives_in_nested_maps():
    f = lambda x: (lax.psum(x, "i"), lax.psum(x, "j"), lax.axis_index("i"))  # noqa: E731
    over_i, over_j, index = jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i")(X)
    np.testing.assert_array_equal(np.broadcast_to(X.sum(0), (2, 3)), over_i)
    np.testing.assert_array_equal(np.broadcast_to(X.sum(1)[:, None], (2, 3)), over_j)
    assert index[:, 0].tolist() == [0, 1]
    with pytest.raises(NameError, match="Found an unbound axis name: i"):
        f(X)


def test_keys_are_mapped():
    keys = jax.random.split(jax.random.key(0), 4)
    wanted = [jax.random.uniform(key) for key in keys]
    np.testing.assert_array_equal(wanted, jax.vmap(jax.random.uniform)(keys))


def test_partial_functions_and_empty_batches():
    scale = functools.partial(jnp.multiply, 2.0)
    np.testing.assert_array_equal(X * 2, jax.vmap(scale)(X))
    assert jax.vmap(jnp.sum)(X[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: jax.vmap(lambda a, b: a)(X, X.T),
            ValueError,
            "vmap got inconsistent sizes for array axes to be mapped:\n  * one axis had size 2: "
            "axis 0 of argument a of type float32[2,3];\n  * one axis had size 3: axis 0 of "
            "argument b of type float32[3,2]",
        ),
        (
            lambda: jax.vmap(lambda a, b: a, in_axes=(0, -2))(X, X.T),
            ValueError,
            "vmap got inconsistent sizes for array axes to be mapped:\n  * one axis had size 2: "
            "axis 0 of argument a of type float32[2,3];\n  * one axis had size 3: axis -2 of "
            "argument b of type float32[3,2]",
        ),
        (
            lambda: jax.vmap(lambda x: x, in_axes=None, axis_size=2.0)(X),
            TypeError,
            "vmap axis_size must be an integer of at least 0, but got 2.0.",
        ),
        (
            lambda: jax.vmap(lambda x: x, in_axes=None, axis_size=-1)(X),
            TypeError,
            "vmap axis_size must be an integer of at least 0, but got -1.",
        ),
        (
            lambda: jax.vmap(lambda x: x, in_axes=(0, 0))(X),
            ValueError,
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            "positional arguments passed to the function, but got len(in_axes)=2, len(args)=1.",
        ),
        (
            lambda: jax.vmap(lambda x: x)(1.0),
            ValueError,
            "vmap was requested to map its argument along axis 0, which implies that its rank "
            "should be at least 1, but is only 0 (its shape is ())",
        ),
        (
            lambda: jax.vmap(lambda x: x, in_axes=None)(X),
            ValueError,
            "vmap must have at least one non-None value in in_axes or axis_size must be specified",
        ),
        (
            lambda: jax.vmap(lambda *args: args)(),
            ValueError,
            "vmap wrapped function must be passed at least one argument containing an array or "
            "axis_size must be specified, got empty *args=() and **kwargs={}",
        ),
        (
            lambda: jax.vmap(lambda x: x, in_axes="a"),
            TypeError,
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            "positional arguments passed to the function, but got a.",
        ),
        (
            lambda: jax.vmap(lambda x: x, in_axes=("a",)),
            TypeError,
            "vmap in_axes must be an int, None, or (nested) container with those types as leaves, "
            "but got ('a',).",
        ),
    ],
)
def test_errors_are_those_of_jax(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_keywords_are_named_in_errors() -> None:
    with pytest.raises(ValueError, match=r"size 5: axis 0 of kwargs\['k'\] of type float32\[5\]"):
        jax.vmap(lambda a, k: a)(jnp.ones(3), k=jnp.ones(5))


def test_results_and_their_axes_are_checked() -> None:
    with pytest.raises(TypeError, match="Output from batched function 's' with type <class 'str'>"):
        jax.vmap(lambda x: "s")(jnp.ones(3))
    with pytest.raises(TypeError, match="vmap out_axes must be an int, None, or .* but got 1.5"):
        jax.vmap(lambda x: x, out_axes=1.5)(jnp.ones(3))


def test_a_symbolic_zero_comes_out_as_it_is() -> None:
    zeros = []

    def rows(x, t):
        zeros.append(ad.Zero(jax.typeof(x)))
        return x + 0 * t, zeros[0]

    out, zero = jax.vmap(rows, out_axes=(0, 1))(jnp.ones(3), jnp.ones(3))
    assert (out.shape, zero is zeros[0], repr(zero)) == ((3,), True, "Zero(float32[])")


@pytest.mark.parametrize("axes", [np.int64(0), (np.int64(0),), True, (True,)])
def test_axes_are_python_integers(axes):
    with pytest.raises(TypeError, match="vmap in_axes must be an int, None, or"):
        jax.vmap(lambda x: x, in_axes=axes)(np.ones(3, np.float32))
    with pytest.raises(TypeError, match="vmap out_axes must be an int, None, or"):
        jax.vmap(lambda x: (x,), out_axes=axes)(np.ones(3, np.float32))


def test_an_error_names_the_result_that_has_a_batch() -> None:
    call = jax.vmap(lambda x: (1.0, {"k": (2.0, x)}), out_axes=(0, {"k": None}))
    wanted = "at vmap out_axes[1]['k'][1], got axis spec None but output was batched on axis 0"
    with pytest.raises(ValueError, match=re.escape(wanted)):
        call(np.arange(3.0))


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [("bool", "int32"), ("int8", "int32"), ("uint8", "uint32"), ("float16", "float16")],
)
def test_sums_over_the_batch_have_the_types_of_sums(dtype: str, wanted: str) -> None:
    rows = np.array([3, 0, 100]).astype(dtype)
    total = jax.vmap(lambda x: x, out_axes=None, sum_match=True)(rows)
    assert total.dtype == wanted
    assert total == rows.astype(int).sum()
