"""Structural operations stage, differentiate and batch to the programs that JAX prints.

A case is a function of (lax, *arrays) and its operands; the tests differentiate it or map it.
Cases whose calls are wrong compare the errors, class and words.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tapeless
import tapeless.lax
from tests.parity.programs import Spec, check_text, spec

pytestmark = pytest.mark.oracle

INDEX, FLAG = spec(dtype="int32"), spec(dtype="bool")
V, M, T, S = spec(3), spec(2, 3), spec(2, 3, 4), spec()
Case = tuple[Callable, tuple[Spec, ...]]

LINEAR: dict[str, Case] = {
    "convert": (lambda lax, x: lax.convert_element_type(x, "float16"), (V,)),
    "convert-complex": (lambda lax, x: lax.convert_element_type(x, "complex64"), (V,)),
    "reduce_precision": (lambda lax, x: lax.reduce_precision(x, 5, 10), (V,)),
    "broadcast": (lambda lax, x: lax.broadcast_in_dim(x, (2, 3), (1,)), (V,)),
    "stretch": (lambda lax, x: lax.broadcast_in_dim(x, (2, 3), (0, 1)), (spec(1, 3),)),
    "fill": (lambda lax, x: lax.broadcast_in_dim(x, (2, 3), ()), (S,)),
    "reshape": (lambda lax, x: lax.reshape(x, (3, 2)), (M,)),
    "reshape-permuted": (lambda lax, x: lax.reshape(x, (6,), (1, 0)), (M,)),
    "transpose": (lambda lax, x: lax.transpose(x, (1, 2, 0)), (T,)),
    "squeeze": (lambda lax, x: lax.squeeze(x, (0,)), (spec(1, 3),)),
    "rev": (lambda lax, x: lax.rev(x, (0,)), (V,)),
    "tile": (lambda lax, x: lax.tile(x, (2, 3)), (M,)),
    "concatenate": (lambda lax, x, y: lax.concatenate([x, y], 1), (M, spec(2, 4))),
    "split": (lambda lax, x: lax.split(x, (1, 2), 0)[1], (V,)),
    "stack": (lambda lax, x, y: lax.stack([x, y], 1), (V, V)),
    "unstack": (lambda lax, x: lax.unstack(x, 1)[0], (M,)),
    "slice": (lambda lax, x: lax.slice(x, (1,), (3,)), (V,)),
    "slice-strides": (lambda lax, x: lax.slice(x, (1,), (6,), (2,)), (spec(7),)),
    "pad": (lambda lax, x, p: lax.pad(x, p, ((1, 2, 1),)), (V, S)),
    "pad-negative": (lambda lax, x, p: lax.pad(x, p, ((-1, 2, 0),)), (V, S)),
    "barrier": (lambda lax, x: lax.optimization_barrier(x), (V,)),
}
BATCHED: dict[str, tuple[Callable, Any, tuple[Spec, ...]]] = {
    "bitcast": (lambda lax, x: lax.bitcast_convert_type(x, "uint8"), 1, (M,)),
    "broadcast": (lambda lax, x: lax.broadcast_in_dim(x, (2, 3), (1,)), 1, (spec(3, 5),)),
    "fill": (lambda lax, x: lax.broadcast_in_dim(x, (2, 3), ()), 0, (V,)),
    "reshape": (lambda lax, x: lax.reshape(x, (6,)), 1, (spec(2, 5, 3),)),
    "reshape-permuted": (lambda lax, x: lax.reshape(x, (6,), (1, 0)), 1, (spec(2, 5, 3),)),
    "transpose": (lambda lax, x: lax.transpose(x, (1, 0)), 2, (T,)),
    "squeeze": (lambda lax, x: lax.squeeze(x, (0,)), 1, (spec(1, 5, 3),)),
    "expand": (lambda lax, x: lax.expand_dims(x, (0,)), 1, (spec(3, 2),)),
    "rev": (lambda lax, x: lax.rev(x, (0,)), 1, (M,)),
    "tile": (lambda lax, x: lax.tile(x, (2,)), 0, (M,)),
    "concatenate": (lambda lax, x, y: lax.concatenate([x, y], 0), (1, None), (spec(3, 2), V)),
    "split": (lambda lax, x: lax.split(x, (1, 2), 0), 1, (spec(3, 2),)),
    "stack": (lambda lax, x, y: lax.stack([x, y], 1), (0, None), (M, V)),
    "stack-same": (lambda lax, x, y: lax.stack([x, y], 0), (1, 1), (M, M)),
    "unstack": (lambda lax, x: lax.unstack(x, 0), 0, (M,)),
    "slice": (lambda lax, x: lax.slice(x, (1,), (3,), (2,)), 1, (spec(3, 2),)),
    "pad": (lambda lax, x, p: lax.pad(x, p, ((1, 2, 0),)), (1, None), (M, S)),
    "pad-values": (lambda lax, x, p: lax.pad(x, p, ((1, 2, 0),)), (None, 0), (V, spec(2))),
    "window": (lambda lax, x, i: lax.dynamic_slice(x, (i,), (2,)), (0, None), (M, INDEX)),
    "windows": (
        lambda lax, x, i: lax.dynamic_slice(x, (0, i), (1, 2)),
        (0, 0),
        (spec(4, 2, 3), spec(4, dtype="int32")),
    ),
    "window-shared": (
        lambda lax, x, i: lax.dynamic_slice(x, (i,), (2,)),
        (None, 0),
        (V, spec(2, dtype="int32")),
    ),
    "update": (
        lambda lax, x, u, i: lax.dynamic_update_slice(x, u, (i,)),
        (None, 0, None),
        (V, spec(2, 2), INDEX),
    ),
    "updates": (
        lambda lax, x, u, i: lax.dynamic_update_slice(x, u, (i,)),
        (0, None, 0),
        (M, spec(2), spec(2, dtype="int32")),
    ),
    "barrier": (lambda lax, x, y: lax.optimization_barrier((x, y)), (0, 1), (M, spec(3, 2))),
}
STAGED: dict[str, Case] = {
    "convert-same": (lambda lax, x: lax.convert_element_type(x, "float32"), (V,)),
    "convert-python": (lambda lax, x: lax.convert_element_type(x, int), (V,)),
    "convert-constant": (lambda lax: lax.convert_element_type(1, "float32"), ()),
    "bitcast": (lambda lax, x: lax.bitcast_convert_type(x, "uint32"), (spec(3, 4, dtype="uint8"),)),
    "bitcast-wrong": (lambda lax, x: lax.bitcast_convert_type(x, "complex64"), (spec(2),)),
    "bitcast-size": (lambda lax, x: lax.bitcast_convert_type(x, "float64"), (V,)),
    "precision-wrong": (lambda lax, x: lax.reduce_precision(x, 0, 10), (V,)),
    "iota": (lambda lax: lax.broadcasted_iota("float32", (2, 3), 1), ()),
    "iota-bool": (lambda lax: lax.iota(bool, 3), ()),
    "iota-axis": (lambda lax: lax.broadcasted_iota("float32", (2, 3), 5), ()),
    "full": (lambda lax, x: lax.full((2, 3), x), (S,)),
    "full-constant": (lambda lax: (lax.full((2,), 1, "float16"), lax.full((), 2.0)), ()),
    "full-wrong": (lambda lax, x: lax.full((2, 3), x), (V,)),
    "full-negative": (lambda lax: lax.full((-1,), 1.0), ()),
    "broadcast-size": (lambda lax, x: lax.broadcast_in_dim(x, (2, 4), (1,)), (V,)),
    "broadcast-axes": (lambda lax, x: lax.broadcast_in_dim(x, (2, 3), (5,)), (V,)),
    "broadcast-length": (lambda lax, x: lax.broadcast_in_dim(x, (2, 3), (0, 1)), (V,)),
    "reshape-negative": (lambda lax, x: lax.reshape(x, (-1,)), (M,)),
    "transpose-wrong": (lambda lax, x: lax.transpose(x, (0, 0)), (M,)),
    "squeeze-wrong": (lambda lax, x: lax.squeeze(x, (0,)), (M,)),
    "squeeze-twice": (lambda lax, x: lax.squeeze(x, (0, 0)), (spec(1, 3),)),
    "rev-wrong": (lambda lax, x: lax.rev(x, (3,)), (V,)),
    "tile-wrong": (lambda lax, x: lax.tile(x, (2,)), (M,)),
    "concatenate-ranks": (lambda lax, x, y: lax.concatenate([x, y], 0), (V, M)),
    "concatenate-extents": (lambda lax, x, y: lax.concatenate([x, y], 0), (M, spec(2, 4))),
    "concatenate-none": (lambda lax: lax.concatenate([], 0), ()),
    "concatenate-axis": (lambda lax, x: lax.concatenate([x, x], 1), (V,)),
    "split-wrong": (lambda lax, x: lax.split(x, (1, 1), 0), (V,)),
    "stack-wrong": (lambda lax, x, y: lax.stack([x, y], 0), (V, M)),
    "slice-in-dim": (lambda lax, x: lax.slice_in_dim(x, -2, -1, 2, axis=1), (M,)),
    "index-in-dim": (lambda lax, x: lax.index_in_dim(x, -1, axis=1, keepdims=False), (M,)),
    "slice-limit": (lambda lax, x: lax.slice(x, (1,), (4,)), (V,)),
    "slice-start": (lambda lax, x: lax.slice(x, (-1,), (2,)), (V,)),
    "pad-result": (lambda lax, x: lax.pad(x, 0.0, ((-5, 1, 0),)), (V,)),
    "pad-dtype": (lambda lax, x: lax.pad(x, 0, ((1, 1, 0),)), (V,)),
    "select": (lambda lax, p, x, y: lax.select(p, x, y), (spec(3, dtype="bool"), V, V)),
    "select-three": (lambda lax, p, x: lax.select_n(p, x, x, x), (INDEX, V)),
    "select-shapes": (lambda lax, p, x, y: lax.select_n(p, x, y), (FLAG, V, M)),
    "select-which": (lambda lax, p, x: lax.select_n(p, x, x), (V, V)),
    "window": (lambda lax, x, i: lax.dynamic_slice(x, (i,), (2,)), (V, INDEX)),
    "window-constant": (lambda lax, x: lax.dynamic_slice(x, (-1, -2), (1, 2)), (M,)),
    "window-array": (
        lambda lax, x, i: lax.dynamic_slice(x, i, (1, 2)),
        (M, spec(2, dtype="int32")),
    ),
    "window-unsigned": (
        lambda lax, x, i: lax.dynamic_slice(x, (i,), (2,)),
        (V, spec(dtype="uint32")),
    ),
    "window-float": (lambda lax, x, i: lax.dynamic_slice(x, (i,), (2,)), (V, S)),
    "window-large": (lambda lax, x, i: lax.dynamic_slice(x, (i,), (4,)), (V, INDEX)),
    "update-rank": (lambda lax, x, u, i: lax.dynamic_update_slice(x, u, (i,)), (V, M, INDEX)),
    "collapse": (lambda lax, x: lax.collapse(x, 0, 2), (T,)),
    "rank": (lambda lax, x: lax.broadcast_to_rank(x, 3), (V,)),
    "constant": (lambda lax, x: lax.stop_gradient((x, 1)), (V,)),
}
SELECTS: tuple[tuple[Any, tuple[Spec, ...]], ...] = (
    ((0, 0, None), (spec(2, dtype="bool"), M, V)),
    ((None, 0, None), (FLAG, M, V)),
    ((None, 0, None), (spec(3, dtype="bool"), M, V)),
    ((0, None, None), (spec(2, dtype="bool"), V, V)),
    ((0, None, None), (spec(2, dtype="bool"), S, S)),
    ((1, 1, 1), (spec(3, 2, dtype="bool"), spec(3, 2), spec(3, 2))),
    ((0, 1, 0), (spec(2, 3, dtype="bool"), spec(3, 2), M)),
    ((None, 0, 0), (FLAG, M, M)),
    ((1, 1, None), (spec(3, 2, dtype="bool"), spec(3, 2), V)),
    ((1, None, 1), (spec(3, 2, dtype="bool"), V, spec(3, 2))),
)


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


@pytest.mark.parametrize("case", STAGED.values(), ids=STAGED)
def test_staging(jax: ModuleType, case: Case) -> None:
    """The program, or the error."""
    call, operands = case
    check_text(tapeless, jax, lambda s, *x: call(s.lax, *x), *operands)


@pytest.mark.parametrize("case", LINEAR.values(), ids=LINEAR)
def test_linear_operations(jax: ModuleType, case: Case) -> None:
    """Program, tangents, and cotangents of ones."""
    call, operands = case

    def tangents(system: ModuleType, *x: Any) -> Any:
        """Push the operands forward as their own tangents."""
        return system.jvp(lambda *y: call(system.lax, *y), x, x)

    def cotangents(system: ModuleType, *x: Any) -> Any:
        """Pull the result back as its own cotangent."""
        out, pullback = system.vjp(lambda *y: call(system.lax, *y), *x)
        return pullback(out)

    for function in (lambda s, *x: call(s.lax, *x), tangents, cotangents):
        check_text(tapeless, jax, function, *operands)


@pytest.mark.parametrize("case", BATCHED.values(), ids=BATCHED)
def test_batching(jax: ModuleType, case: tuple) -> None:
    """The batch axis goes where JAX puts it."""
    call, dims, operands = case

    def mapped(system: ModuleType, *x: Any) -> Any:
        """Map over the axes of the case."""
        return system.vmap(lambda *y: call(system.lax, *y), dims)(*x)

    check_text(tapeless, jax, mapped, *operands)


@pytest.mark.parametrize("case", SELECTS)
def test_batching_choices(jax: ModuleType, case: tuple) -> None:
    """Predicates and cases with and without batch axes."""
    dims, operands = case

    def mapped(system: ModuleType, *x: Any) -> Any:
        """Map a choice between two."""
        return system.vmap(system.lax.select_n, dims)(*x)

    check_text(tapeless, jax, mapped, *operands)


def test_cotangents_of_choices(jax: ModuleType) -> None:
    """Of two cases by a bool, of three by an integer."""
    for which, n_cases in ((FLAG, 2), (INDEX, 3)):

        def pulled(system: ModuleType, p: Any, x: Any, n_cases: int = n_cases) -> Any:
            """Pull `x` back through a choice among copies of itself."""
            return system.vjp(lambda *y: system.lax.select_n(p, *y), *(x,) * n_cases)[1](x)

        check_text(tapeless, jax, pulled, which, V)


def test_windows_have_tangents_and_cotangents(jax: ModuleType) -> None:
    """Reading transposes to writing, and the other way round."""

    def read(system: ModuleType, x: Any, i: Any) -> Any:
        """Push and pull through a read."""

        def window(y: Any) -> Any:
            """Read two elements."""
            return system.lax.dynamic_slice(y, (i,), (2,))

        out, pullback = system.vjp(window, x)
        return system.jvp(window, (x,), (x,)), pullback(out)

    def write(system: ModuleType, x: Any, u: Any, i: Any) -> Any:
        """Pull through a write."""
        call = system.lax.dynamic_update_slice
        return system.vjp(lambda *y: call(*y, (i,)), x, u)[1](x)

    check_text(tapeless, jax, read, V, INDEX)
    check_text(tapeless, jax, write, V, spec(2), INDEX)


def test_constants_from_numpy_are_converted_at_once(jax: ModuleType) -> None:
    """They appear in the program as what they have become."""
    ones = np.ones(3, np.float32)
    check_text(tapeless, jax, lambda s: s.lax.convert_element_type(ones, "float16"))
    check_text(tapeless, jax, lambda s, x: s.lax.mul(x, np.float32(2.0)), V)
