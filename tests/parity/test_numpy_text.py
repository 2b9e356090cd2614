"""Functions of `jax.numpy` stage to the programs that JAX prints, and raise its errors."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tapeless
import tapeless.numpy
from tests.parity.programs import F32, check_text, spec

pytestmark = pytest.mark.oracle

UNARY = (
    *("abs absolute acos acosh angle asin asinh atan atanh bitwise_count bitwise_not cbrt").split(),
    *("ceil conj cos cosh deg2rad degrees exp exp2 expm1 fabs floor i0 imag invert").split(),
    *("iscomplex isfinite isinf isnan isneginf isposinf isreal log log10 log1p log2").split(),
    *("logical_not modf nan_to_num negative positive rad2deg real reciprocal rint sign").split(),
    *("signbit sin sinh spacing sqrt square tan tanh trunc round around conjugate").split(),
)
BINARY = (
    *("add arctan2 bitwise_and left_shift right_shift copysign divide equal float_power").split(),
    *("floor_divide fmax fmin fmod gcd greater heaviside hypot isclose lcm less logaddexp").split(),
    *("logaddexp2 logical_and maximum minimum mod multiply nextafter not_equal power").split(),
    *("remainder subtract true_divide").split(),
)
# These divide floating numbers otherwise than JAX: docs/differences.md, `signs-of-quotients`.
DIVISIONS = {"floor_divide", "mod", "remainder"}
# These end for all signed integers: docs/differences.md, `divisors-of-the-least-integer`.
DIVISORS = {"gcd", "lcm"}
DTYPES = (F32, "int32", "bool", "complex64", "uint8")

# Expressions in `jnp`, x: f32[3,4] and i: i32[].
SHAPES = """
jnp.reshape(x, (4, -1)) | jnp.reshape(x, (4, 3), order='F') | jnp.ravel(x) | jnp.ravel(x, 'F')
x.reshape(4, 3) | x.flatten() | x.T | x.mT | jnp.transpose(x, (1, 0)) | jnp.moveaxis(x, 0, 1)
jnp.swapaxes(x, 0, 1) | jnp.expand_dims(x, (0, 2)) | jnp.squeeze(x[None]) | jnp.rollaxis(x, 1)
jnp.broadcast_to(x, (2, 3, 4)) | jnp.broadcast_arrays(x, x[:, :1]) | jnp.concatenate([x, x], 1)
jnp.concatenate([x, x.astype(int)], axis=None) | jnp.stack([x, x], 1) | jnp.vstack([x, x])
jnp.hstack([x, x]) | jnp.dstack([x, x]) | jnp.column_stack([x[0], x[1]]) | jnp.tile(x, (2, 1, 2))
jnp.repeat(x, 2) | jnp.repeat(x, 2, axis=0) | jnp.roll(x, 1) | jnp.roll(x, (1, 2), axis=(0, 1))
jnp.rot90(x) | jnp.rot90(x, 2) | jnp.flip(x) | jnp.fliplr(x) | jnp.pad(x, 1, mode='edge')
jnp.pad(x, 1, mode='reflect') | jnp.pad(x, 1, mode='symmetric') | jnp.pad(x, 1, mode='wrap')
jnp.pad(x, 1, mode='mean') | jnp.pad(x, 1, mode='maximum') | jnp.pad(x, 1, mode='empty')
jnp.atleast_1d(x[0, 0]) | jnp.atleast_2d(x[0]) | jnp.atleast_3d(x) | jnp.append(x, x)
jnp.append(x, x, axis=0) | jnp.resize(x, (3, 3)) | jnp.array([1, 2, 3, 4]) * x | jnp.array(1) * x
jnp.add(np.arange(4), x) | x * np.float32(3) | jnp.asarray(np.arange(4.0)) * x | jnp.sin(2.0) * x
jnp.array(True) * x | jnp.zeros(()) + i
jnp.block([[x, x], [x, x]]) | jnp.permute_dims(x, (1, 0)) | jnp.unstack(x) | jnp.array([x, x])
jnp.array([[x[0, 0], 1], [2, i]]) | jnp.array(x) | jnp.asarray(x) | jnp.array(x, dtype=int)
"""
CREATION = """
jnp.zeros((2, 3)) | jnp.zeros(()) | jnp.ones(3, int) | jnp.full((2,), 3) | jnp.full((), 2.0)
jnp.zeros_like(x) | jnp.ones_like(x, dtype=int) | jnp.full_like(x, 2, shape=3) | jnp.empty((2,))
jnp.empty_like(x) | jnp.arange(3.0) | jnp.arange(1, 3) | jnp.arange(0, 1, 0.3)
jnp.arange(3) * x[0, 0]
jnp.arange(5, dtype='int8') | jnp.linspace(0, 1, 5) | jnp.linspace(0, 1, 5, endpoint=False)
jnp.linspace(x, x + 1, 3) | jnp.logspace(0, 1, 3) | jnp.geomspace(1, 8, 4) | jnp.eye(3, 4, 1)
jnp.identity(2) | jnp.tri(3) | jnp.tril(x) | jnp.triu(x, 1) | jnp.diag(x[0]) | jnp.diag(x)
jnp.diagonal(x) | jnp.meshgrid(x[0], x[1]) | jnp.indices((2, 3)) | jnp.vander(x[0]) | jnp.copy(x)
jnp.diag_indices(3) | jnp.mgrid[0:3] | jnp.ogrid[0:3, 0:2] | jnp.r_[0:3, 5] | jnp.trace(x)
x.astype(bool) | jnp.astype(x, int) | jnp.float32(3) | jnp.array(2.0) * x
"""
INDEXING = """
x[0] | x[-1] | x[1, 2] | x[1:2] | x[:, 1] | x[::2] | x[::-1] | x[::-2] | x[1:, :-1] | x[...]
x[None] | x[:, None] | x[..., 0] | x[0, ..., None] | x[()] | x[i] | x[i, 0] | x[:, i] | x[i, i]
x[I] | x[:, I] | x[I, I] | x[I[:, None], I] | x[I, 1] | x[1, I] | x[I, :2] | x[I, None] | x[None, I]
x[i][i] | x[1:2, i] | x[i, ::2] | x[::2, i] | x[I, i] | x[0:0] | x[I, ::-1] | x[i, ::-1]
x.at[0].set(1) | x.at[0, 1].set(1) | x.at[:, 1].add(2.0) | x.at[i].set(5) | x.at[I].add(x[:2])
x.at[I].mul(2) | x.at[I].divide(2) | x.astype(int).at[I].divide(2) | x.at[0:0].set(2)
i // 2 | i % 2 | divmod(i, 2)[0] | x.at[I].power(2) | x.at[I].min(2) | x.at[I].max(2)
x.at[I].get(mode='fill', fill_value=0) | x.at[I].get(mode='clip') | x.at[::2].set(0)
x.at[1:].set(x[1:]) | x.at[...].set(0) | x.at[I, I].subtract(1) | x.at[0].get(mode='fill')
x.at[i].get(mode='fill') | x.at[i].get(mode='clip') | x.at[I].set(1, mode='clip')
x.at[I].get(wrap_negative_indices=False) | x.at[::-1].set(x[:, :1]) | x.astype(int).at[I].add(1.5)
jnp.take(x, I, axis=0) | jnp.take(x, I) | jnp.take(x, I, axis=0, mode='wrap')
jnp.take(x, I, axis=0, mode='clip') | jnp.take_along_axis(x, jnp.zeros((3, 1), int), 1)
jnp.where(x > 0, x, 0.0) | jnp.where(x[:, :1] > 0, x[0], x) | jnp.clip(x, 0) | jnp.clip(x, max=1)
jnp.select([x > 0, x < 0], [x, 2 * x], 0) | jnp.maximum(x, 0) | x**2 | x**0.5 | 2**x | x**-1
-x | abs(x) | round(x, 2) | x & 1 | x == 1 | x + x[0]
"""
FAULTS = """
jnp.reshape(x, (4, 2)) | jnp.reshape(x, (5, -1)) | jnp.moveaxis(x, (0, 1), (0,)) | jnp.squeeze(x, 0)
jnp.expand_dims(x, 4) | jnp.broadcast_to(x, (4, 3)) | jnp.concatenate([]) | jnp.concatenate([1, 2])
jnp.concatenate([x, x[0]]) | x[0:0][0] | x.at[0].set(jnp.ones((1, 3)))
jnp.stack([x, x[0]]) | jnp.split(x, 3, 1) | jnp.rot90(x[0])
jnp.flip(x, 3) | jnp.pad(x, -1) | jnp.pad(x, 1, mode='zz') | jnp.zeros(-1) | jnp.zeros(2.5)
jnp.eye(2.5) | jnp.linspace(0, 1, -1) | jnp.diag(x[None]) | jnp.tril(x[0]) | jnp.meshgrid(x)
x[1.5] | x['a'] | x[0, 0, 0] | x[[0, 1]] | x[..., ...] | x.at[I].set(jnp.ones(3)) | x[0:1:0]
jnp.sin([1]) | jnp.add(None, 1) | jnp.add(x, x[:2]) | jnp.bitwise_and(x, x) | jnp.take(x, 1.5)
jnp.take_along_axis(x, I, 1) | jnp.put(x, I, 9) | len(x[0, 0]) | iter(x[0, 0]) | jnp.clip(x, 1j)
jnp.round(x > 0) | jnp.select([], []) | jnp.arange(1j) | jnp.gcd(x, x) | jnp.hypot(1j, x)
"""


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself, with its array library."""
    importlib.import_module("jax.numpy")
    return importlib.import_module("jax")


def expressions(text: str) -> list[str]:
    """Return the expressions that a text lists."""
    return [part.strip() for part in text.replace("\n", "|").split("|") if part.strip()]


def evaluate(expression: str) -> Any:
    """Return the function of (system, x, i) that an expression denotes."""
    code = compile(expression.replace(" OR ", "|"), expression, "eval")

    def function(system: ModuleType, x: Any, i: Any) -> Any:
        """Evaluate it."""
        jnp = system.numpy
        return eval(code, {"np": np, "jnp": jnp, "x": x, "i": i, "I": jnp.array([0, 1])})

    return function


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_operand(jax: ModuleType, name: str, dtype: str) -> None:
    check_text(
        tapeless, jax, lambda system, x: getattr(system.numpy, name)(x), spec(3, 4, dtype=dtype)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands(jax: ModuleType, name: str, dtype: str) -> None:
    if (name in DIVISIONS and dtype == F32) or (name in DIVISORS and dtype == "int32"):
        return
    operand = spec(3, dtype=dtype)
    check_text(tapeless, jax, lambda s, x, y: getattr(s.numpy, name)(x, y), operand, operand)
    if dtype in (F32, "int32"):
        check_text(tapeless, jax, lambda s, x: getattr(s.numpy, name)(x, 2), operand)


@pytest.mark.parametrize("expression", expressions(SHAPES + CREATION + INDEXING))
def test_expressions(jax: ModuleType, expression: str) -> None:
    check_text(tapeless, jax, evaluate(expression), spec(3, 4), spec(dtype="int32"))


@pytest.mark.parametrize("expression", expressions(FAULTS))
def test_faults(jax: ModuleType, expression: str) -> None:
    check_text(tapeless, jax, evaluate(expression), spec(3, 4), spec(dtype="int32"))
