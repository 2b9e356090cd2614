"""Elementwise operations stage, differentiate and batch to the programs that JAX prints."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest

import tapeless
import tapeless.lax
from tests.parity.programs import F32, Spec, check_text, spec

pytestmark = pytest.mark.oracle

UNARY = (
    *("abs acos acosh asin asinh atan atanh cbrt ceil cos cosh exp exp2 expm1 floor").split(),
    *("log log1p log2 logistic neg reciprocal round rsqrt sign sin sinh sqrt square tan").split(),
    *("tanh one_minus_square real imag bitwise_not clz population_count digamma lgamma").split(),
    *("erf_inv bessel_i0e bessel_i1e").split(),
)
BINARY = (
    *("add sub mul div rem max min pow atan2 nextafter bitwise_and bitwise_or").split(),
    *("bitwise_xor shift_left shift_right_arithmetic shift_right_logical").split(),
    *("eq ne lt le gt ge complex mulhi zeta polygamma").split(),
)
SMOOTH = ("add", "sub", "mul", "div", "rem", "max", "min", "pow", "atan2", "nextafter")
DTYPES = (F32, "complex64", "int32", "bool")
DIMS: tuple[tuple[Any, Spec, Spec], ...] = (
    ((0, None), spec(2, 3), spec(3)),
    ((1, None), spec(3, 2), spec(3)),
    ((0, 0), spec(2, 3), spec(2)),
    ((None, 0), spec(3), spec(2)),
    ((1, 0), spec(3, 2), spec(2, 3)),
    ((1, None), spec(3, 2), spec()),
    ((0, 0), spec(3), spec(3)),
)


@pytest.fixture(scope="module")
def jax() -> ModuleType:
    """JAX itself."""
    return importlib.import_module("jax")


def apply(name: str) -> Any:
    """Return the function that applies one operation of `lax`."""
    return lambda system, *args: getattr(system.lax, name)(*args)


def total(system: ModuleType, name: str) -> Any:
    """Return the function that sums the results of one operation."""
    return lambda *args: system.lax.reduce_sum(getattr(system.lax, name)(*args), (0,))


def line_sum(system: ModuleType, x: Any, slope: Any) -> Any:
    """Return the sum of 1 + slope x over a vector."""
    return system.lax.reduce_sum(system.lax.polynomial(x, [1.0, slope]), (0,))


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_staging_one_operand(jax: ModuleType, name: str, dtype: str) -> None:
    """The equation, or the refusal of the dtype."""
    check_text(tapeless, jax, apply(name), spec(3, dtype=dtype))


@pytest.mark.parametrize("name", [name for name in UNARY if name != "is_finite"])
def test_differentiating_one_operand(jax: ModuleType, name: str) -> None:
    """Tangents, gradients of sums, and gradients of gradients."""
    call = apply(name)
    check_text(
        tapeless, jax, lambda s, x, t: s.jvp(lambda y: call(s, y), (x,), (t,)), spec(3), spec(3)
    )
    check_text(tapeless, jax, lambda s, x: s.grad(total(s, name))(x), spec(3))
    check_text(tapeless, jax, lambda s, x: s.grad(s.grad(lambda y: call(s, y)))(x), spec())


@pytest.mark.parametrize("name", UNARY)
def test_complex_tangents(jax: ModuleType, name: str) -> None:
    """Complex numbers, where the operation takes them."""
    call = apply(name)
    operands = (spec(3, dtype="complex64"),) * 2
    check_text(tapeless, jax, lambda s, x, t: s.jvp(lambda y: call(s, y), (x,), (t,)), *operands)


@pytest.mark.parametrize("name", UNARY)
def test_batching_one_operand(jax: ModuleType, name: str) -> None:
    """The batch axis stays where it is."""
    call = apply(name)
    check_text(tapeless, jax, lambda s, x: s.vmap(lambda y: call(s, y), 1, 1)(x), spec(2, 3))


@pytest.mark.parametrize("name", BINARY)
def test_staging_two_operands(jax: ModuleType, name: str) -> None:
    """Each dtype; ranks, shapes and dtypes that do not go together."""
    call = apply(name)
    for dtype in DTYPES:
        check_text(tapeless, jax, call, spec(3, dtype=dtype), spec(3, dtype=dtype))
    for other in (spec(), spec(4), spec(2, 3), spec(1), spec(3, dtype="int32")):
        check_text(tapeless, jax, call, spec(3), other)


@pytest.mark.parametrize("name", SMOOTH)
def test_differentiating_two_operands(jax: ModuleType, name: str) -> None:
    """Tangents of both and of one, gradients with stretched operands."""
    call = apply(name)
    quadruple = (spec(3),) * 4
    check_text(
        tapeless,
        jax,
        lambda s, x, y, t, u: s.jvp(lambda *z: call(s, *z), (x, y), (t, u)),
        *quadruple,
    )
    check_text(
        tapeless,
        jax,
        lambda s, x, y, t: s.jvp(lambda z: call(s, x, z), (y,), (t,)),
        *(spec(3), spec(), spec()),
    )
    for pair in ((spec(3), spec(3)), (spec(3), spec()), (spec(), spec(3)), (spec(3), spec(1))):
        check_text(tapeless, jax, lambda s, x, y: s.grad(total(s, name), (0, 1))(x, y), *pair)


@pytest.mark.parametrize("name", BINARY)
def test_batching_two_operands(jax: ModuleType, name: str) -> None:
    """Batch axes are aligned as JAX aligns them."""
    call = apply(name)
    for dims, first, second in DIMS:

        def mapped(system: ModuleType, x: Any, y: Any, dims: Any = dims) -> Any:
            """Map over the axes of this case."""
            return system.vmap(lambda *z: call(system, *z), dims)(x, y)

        check_text(tapeless, jax, mapped, first, second)


@pytest.mark.parametrize("y", [-2, -1, 0, 1, 2, 3, 5])
def test_integer_powers(jax: ModuleType, y: int) -> None:
    """Value, gradient, and the refusal of negative powers of integers."""
    check_text(tapeless, jax, lambda s, x: s.grad(lambda z: s.lax.integer_pow(z, y))(x), spec())
    check_text(tapeless, jax, lambda s, x: s.lax.integer_pow(x, y), spec(3, dtype="int32"))
    check_text(tapeless, jax, lambda s, x: s.grad(lambda z: s.lax.pow(z, y))(x), spec())


def test_polynomials(jax: ModuleType) -> None:
    """Shared and separate coefficients, with gradients and batches."""
    three = [1.0, 2.0, 3.0]
    check_text(tapeless, jax, lambda s, x: s.lax.polynomial(x, three, unroll=2), spec(3))
    check_text(tapeless, jax, lambda s, x, c: s.lax.polynomial(x, c), spec(3), spec(3))
    check_text(
        tapeless,
        jax,
        lambda s, x, c: s.grad(lambda *z: line_sum(s, *z), (0, 1))(x, c),
        *(spec(3), spec()),
    )
    check_text(
        tapeless,
        jax,
        lambda s, x, c: s.vmap(lambda y, d: s.lax.polynomial(y, [1.0, d, 2.0]))(x, c),
        *(spec(2, 3), spec(2)),
    )


def test_clamp(jax: ModuleType) -> None:
    """Value, tangents, batches with shared and separate bounds, and errors."""
    clamp = apply("clamp")
    check_text(tapeless, jax, clamp, spec(2), spec(3), spec(2))
    check_text(tapeless, jax, clamp, spec(dtype="int32"), spec(3), spec(dtype="int32"))
    check_text(
        tapeless,
        jax,
        lambda s, a, x, b: s.jvp(lambda *z: clamp(s, *z), (a, x, b), (a, x, b)),
        *(spec(3),) * 3,
    )
    for dims, shapes in (
        ((None, 0, None), ((3,), (2, 3), (3,))),
        ((None, 0, None), ((), (2, 3), ())),
        ((None, None, 0), ((), (3,), (2,))),
        ((0, 0, None), ((2,), (2, 3), ())),
    ):
        check_text(
            tapeless,
            jax,
            lambda s, *z, dims=dims: s.vmap(lambda *y: clamp(s, *y), dims)(*z),
            *(spec(*shape) for shape in shapes),
        )
