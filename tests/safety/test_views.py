"""Views of arrays by NumPy and DLPack: read-only, alive as long as needed; trees that are deep."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import tapeless as jax
from tapeless import numpy as jnp

SIZES = [3, 1000, 300_000]


@pytest.mark.parametrize("n", SIZES)
def test_a_numpy_view_shares_memory_and_is_read_only(n: int) -> None:
    x = jnp.arange(float(n))
    view = np.asarray(x)
    assert view.__array_interface__["data"][0] == x.unsafe_buffer_pointer()
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        view.reshape(1, -1)[0, 0] = 5
    assert memoryview(view).readonly


@pytest.mark.parametrize("n", SIZES)
def test_a_dlpack_view_is_read_only_or_a_copy(n: int) -> None:
    x = jnp.arange(float(n))
    view = np.from_dlpack(x)
    assert np.shares_memory(view, np.asarray(x)) is not view.flags.writeable
    if view.flags.writeable:
        view[0] = 5
    assert x[0] == 0


def test_exports_to_dlpack_share_memory() -> None:
    x = jnp.arange(1000.0)
    assert np.shares_memory(np.from_dlpack(x), np.asarray(x))


def test_a_consumer_that_cannot_honour_the_flag_gets_a_copy() -> None:
    x = jnp.arange(3.0)
    old = x.__dlpack__()  # the protocol before version 1 has no flag

    class Producer:
        def __dlpack__(self, **options: object) -> object:
            return old

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    view = np.from_dlpack(Producer())
    if view.flags.writeable:
        view[0] = 5
    assert x[0] == 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python has no __buffer__ before 3.12")
def test_the_buffer_protocol_gives_read_only_memory() -> None:
    x = jnp.arange(3)
    assert memoryview(x).readonly
    assert memoryview(x).tolist() == [0, 1, 2]


@pytest.mark.parametrize("take", [np.asarray, np.from_dlpack, lambda x: memoryview(np.asarray(x))])
def test_buffers_live_as_long_as_any_view(take: object) -> None:
    views = [take(jnp.arange(1000.0) + number) for number in range(50)]
    gc.collect()
    for _ in range(100):
        jnp.ones(1000) * 3
    for number, view in enumerate(views):
        np.testing.assert_array_equal(view, np.arange(1000, dtype=np.float32) + number)


@pytest.mark.parametrize("n", SIZES)
def test_a_donated_buffer_with_a_view_is_not_reused(n: int) -> None:
    x = jnp.arange(float(n))
    view = np.asarray(x)
    y = jax.jit(lambda x: x * 2 + 1, donate_argnums=0)(x)
    np.testing.assert_array_equal(view, np.arange(n, dtype=np.float32))
    assert y[2] == 5


@pytest.mark.parametrize(
    "take",
    [
        jnp.asarray,
        jnp.array,
        jax.device_put,
        jax.jit(lambda x: x),
        lambda x: jax.tree.map(jnp.asarray, [x])[0],
    ],
    ids=["asarray", "array", "device_put", "jit", "tree"],
)
@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_what_is_taken_in_is_copied(take: object, n: int) -> None:
    theirs = np.arange(n, dtype=np.float32)
    ours = take(theirs)
    theirs[:] = 7
    np.testing.assert_array_equal(ours, np.arange(n, dtype=np.float32))


def test_from_dlpack_copies_and_says_so() -> None:
    theirs = np.arange(4, dtype=np.float32)
    ours = jnp.from_dlpack(theirs)
    theirs[0] = 7
    assert ours[0] == 0
    assert "copied" in jnp.from_dlpack.__doc__


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.at[0].set(9),
        lambda x: jnp.sort(x)[::-1],
        lambda x: x.at[:].add(1),
        lambda x: jax.jit(lambda y: y.at[1].mul(5))(x),
        lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y.at[i].set(9), x),
        lambda x: jax.jit(lambda y: jax.lax.scan(lambda c, k: (c.at[0].add(k), c), y, y))(x),
        lambda x: x.__iadd__(1) if hasattr(x, "__iadd__") else x + 1,
    ],
)
def test_no_function_of_ours_changes_an_array(change: object) -> None:
    x = jnp.arange(5.0)
    view = np.asarray(x)
    change(x)
    np.testing.assert_array_equal(view, np.arange(5, dtype=np.float32))


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x,), lambda x: {"a": x}])
@pytest.mark.parametrize("leaf", [1.0, None])
def test_trees_that_are_too_deep_give_an_error(wrap: object, leaf: object) -> None:
    tree = leaf
    for _ in range(10_000):
        tree = wrap(tree)
    for use in (
        jax.tree.leaves,
        jax.tree.structure,
        lambda t: jax.tree.map(lambda x: x, t),
        lambda t: jax.jit(lambda x: 1.0)(t),
        lambda t: jax.vmap(lambda x: 1.0)(t),
        lambda t: jax.grad(lambda x: 1.0)(t),
    ):
        with pytest.raises(RecursionError, match="levels deep"):
            use(tree)


def test_a_container_that_holds_itself_gives_an_error() -> None:
    tree: list = []
    tree.append(tree)
    with pytest.raises(RecursionError, match="contains itself"):
        jax.tree.leaves(tree)
