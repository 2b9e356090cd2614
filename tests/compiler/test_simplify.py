"""Simplification: what disappears, and what must not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapeless
import tapeless as jax
from tapeless.compiler.simplify import simplify
from tapeless.control.jit import jit_p
from tapeless.core.jaxpr import Literal
from tests.compiler.programs import F32, aval, bind, broadcast, staged


def names(function: object, *avals: object) -> list[str]:
    """Return the operations that are left of a function."""
    return [eqn.primitive.name for eqn in simplify(staged(function, *avals)).eqns]


def test_dead_code_goes() -> None:
    assert names(lambda x: (bind("neg", x), bind("sin", x, accuracy=None))[:1], aval(3)) == ["neg"]


def test_equal_equations_become_one() -> None:
    assert names(lambda x: (bind("neg", x), bind("neg", x)), aval(3)) == ["neg"]


def test_equations_with_different_parameters_stay() -> None:
    def function(x: object) -> tuple:
        """Sum along both axes."""
        return tuple(bind("reduce_sum", x, axes=(axis,), out_sharding=None) for axis in (0, 1))

    assert names(function, aval(3, 3)) == ["reduce_sum"] * 2


def test_zeros_of_either_sign_are_different_constants() -> None:
    def function(x: object) -> tuple:
        """Divide by both zeros."""
        return bind("div", x, F32(0.0)), bind("div", x, F32(-0.0))

    assert names(function, aval(3)) == ["div", "div"]


def test_neutral_elements_go_when_that_is_exact() -> None:
    one, zero, minus = F32(1), F32(0), F32(-0.0)
    assert names(lambda x: (bind("mul", x, one),), aval(3)) == []
    assert names(lambda x: (bind("mul", one, x),), aval(3)) == []
    assert names(lambda x: (bind("div", x, one),), aval(3)) == []
    assert names(lambda x: (bind("sub", x, zero),), aval(3)) == []
    assert names(lambda x: (bind("add", x, minus),), aval(3)) == []


def test_neutral_elements_stay_when_signs_of_zero_would_change() -> None:
    zero, minus = F32(0), F32(-0.0)
    assert names(lambda x: (bind("add", x, zero),), aval(3)) == ["add"]
    assert names(lambda x: (bind("sub", x, minus),), aval(3)) == ["sub"]
    assert names(lambda x: (bind("mul", x, zero),), aval(3)) == ["mul"]
    assert names(lambda x: (bind("div", F32(1), x),), aval(3)) == ["div"]


def test_integer_zero_is_neutral() -> None:
    assert names(lambda x: (bind("add", x, np.int32(0)),), aval(3, dtype=np.int32)) == []


def test_a_broadcast_one_is_neutral() -> None:
    assert names(lambda x: (bind("mul", x, broadcast(F32(1), (3,), ())),), aval(3)) == []


def test_a_neutral_operand_that_gives_the_shape_stays() -> None:
    ones = lambda x: (bind("mul", x, broadcast(F32(1), (3,), ())),)  # noqa: E731
    assert names(ones, aval()) == ["broadcast_in_dim", "mul"]


def test_transposes_compose() -> None:
    def function(x: object) -> tuple:
        """Transpose there and back."""
        y = bind("transpose", x, permutation=(1, 2, 0))
        return bind("transpose", y, permutation=(2, 0, 1)), bind(
            "transpose", y, permutation=(1, 0, 2)
        )

    jaxpr = simplify(staged(function, aval(2, 3, 4)))
    assert jaxpr.outvars[0] is jaxpr.invars[0]
    (eqn,) = jaxpr.eqns
    assert eqn.params["permutation"] == (2, 1, 0)


def test_reshapes_and_broadcasts_compose() -> None:
    def function(x: object) -> tuple:
        """Reshape twice and broadcast twice."""
        flat = bind("reshape", x, new_sizes=(6,), dimensions=None, sharding=None)
        again = bind("reshape", flat, new_sizes=(3, 2), dimensions=None, sharding=None)
        return again, broadcast(broadcast(x, (2, 4, 3), (0, 2)), (5, 2, 4, 3), (1, 2, 3))

    jaxpr = simplify(staged(function, aval(2, 3)))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["reshape", "broadcast_in_dim"]
    assert jaxpr.eqns[1].params["broadcast_dimensions"] == (1, 3)


def test_nested_programs_are_inlined_each_with_variables_of_its_own() -> None:
    table = np.arange(3, dtype=F32)
    inner = staged(lambda x: (bind("mul", x, table),), aval(3))

    def function(x: object) -> tuple:
        """Call the same program twice."""
        (y,) = jit_p.bind(x, jaxpr=inner, name="inner", inline=False)
        (z,) = jit_p.bind(y, jaxpr=inner, name="inner", inline=False)
        return y, z

    jaxpr = simplify(staged(function, aval(3)))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul", "mul"]
    assert len(jaxpr.consts) == 1
    assert len({var for eqn in jaxpr.eqns for var in eqn.outvars}) == 2


def test_a_call_that_returns_its_input_or_a_constant_is_renamed_away() -> None:
    inner = staged(lambda x: (x, 2.0), aval(3))
    outer = staged(lambda x: jit_p.bind(x, jaxpr=inner, name="f", inline=False), aval(3))
    jaxpr = simplify(outer)
    assert jaxpr.eqns == ()
    assert jaxpr.outvars[0] is jaxpr.invars[0]
    assert isinstance(jaxpr.outvars[1], Literal)


def test_inputs_stay_even_if_nothing_uses_them() -> None:
    assert len(simplify(staged(lambda x, y: (y,), aval(3), aval(4))).invars) == 2


def test_a_rounding_to_the_precision_that_is_there_goes() -> None:
    def function(x: object) -> tuple:
        kept = bind("reduce_precision", x, exponent_bits=8, mantissa_bits=23)
        return (bind("reduce_precision", kept, exponent_bits=5, mantissa_bits=10),)

    (eqn,) = simplify(staged(function, aval(3))).eqns
    assert eqn.params["exponent_bits"] == 5


@pytest.mark.parametrize(
    ("axes", "kept"),
    [((1, 0), True), ((0, 1), False)],
    ids=["rows and columns", "order of the result"],
)
def test_products_take_what_was_not_transposed_yet(axes: tuple[int, int], kept: bool) -> None:
    x = np.random.default_rng(0).normal(size=(30, 40, 50)).astype(np.float32)
    y = np.random.default_rng(1).normal(size=(30, 20)).astype(np.float32)

    def function(x: Any, y: Any) -> Any:
        """Sum over the axis of 30; the two others in this order."""
        moved = tapeless.numpy.transpose(x, (0, *(1 + axis for axis in axes)))
        return tapeless.numpy.tensordot(moved, y, ((0,), (0,)))

    program = simplify(tapeless.make_jaxpr(function)(x, y).jaxpr)
    assert [eqn.primitive.name for eqn in program.eqns].count("transpose") == (1 if kept else 0)
    wanted = np.tensordot(np.transpose(x, (0, *(1 + axis for axis in axes))), y, ((0,), (0,)))
    np.testing.assert_allclose(tapeless.jit(function)(x, y), wanted, rtol=1e-4, atol=1e-4)


def test_a_matrix_times_its_transpose_is_not_copied() -> None:
    x = np.random.default_rng(0).normal(size=(500, 32)).astype(np.float32)
    function = tapeless.jit(lambda x: x.T @ x)
    assert "transpose" not in str(simplify(tapeless.make_jaxpr(function)(x).jaxpr))
    # The right factor is packed, the left one read where it is.
    assert function.lower(x).compile().memory_analysis().temp_size_in_bytes <= x.nbytes
    np.testing.assert_allclose(function(x), x.T @ x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kept", [False, True], ids=["turned", "read by another"])
@pytest.mark.parametrize("shared", [(), (4,)], ids=["matrices", "batches"])
def test_a_product_that_is_transposed_is_made_the_other_way_round(
    shared: tuple[int, ...], kept: bool
) -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(*shared, 20, 30)).astype(np.float32)
    y = draw.normal(size=(*shared, 30, 40)).astype(np.float32)

    def function(x: Any, y: Any) -> Any:
        """Transpose a product."""
        product = x @ y
        turned = tapeless.numpy.swapaxes(product, -1, -2) * 2
        return (turned, product) if kept else turned

    program = simplify(tapeless.make_jaxpr(function)(x, y).jaxpr)
    assert [eqn.primitive.name for eqn in program.eqns].count("transpose") == (1 if kept else 0)
    found = tapeless.jit(function)(x, y)
    wanted = np.swapaxes(x @ y, -1, -2) * 2
    np.testing.assert_allclose(found[0] if kept else found, wanted, rtol=1e-4, atol=1e-4)


def test_gradients_by_weights_are_not_transposed() -> None:
    x, w = np.ones((64, 30), np.float32), np.ones((30, 40), np.float32)

    def loss(w: Any) -> Any:
        """Sum a function of a product."""
        return (tapeless.numpy.tanh(x @ w) ** 2).sum()

    assert "transpose" not in str(simplify(tapeless.make_jaxpr(tapeless.grad(loss))(w).jaxpr))


@pytest.mark.parametrize("name", ["fft", "ifft", "fft2"])
def test_transforms_take_real_numbers_as_such(name: str) -> None:
    x = np.random.default_rng(0).normal(size=(6, 10)).astype(np.float32)
    f = getattr(tapeless.numpy.fft, name)
    (eqn,) = [e for e in simplify(tapeless.make_jaxpr(f)(x)).eqns if e.primitive.name == "fft"]
    assert eqn.invars[0].aval.dtype == np.float32
    np.testing.assert_allclose(tapeless.jit(f)(x), getattr(np.fft, name)(x), rtol=0, atol=1e-5)


def test_halves_of_spectra_stay_complex() -> None:
    x = np.arange(6, dtype=np.float32)
    program = simplify(tapeless.make_jaxpr(lambda x: tapeless.numpy.fft.irfft(x, 10))(x))
    (eqn,) = [e for e in program.eqns if e.primitive.name == "fft"]
    assert eqn.invars[0].aval.dtype == np.complex64


def test_places_of_a_gather_are_not_joined_in_memory() -> None:
    x, rows, columns = np.arange(12.0, dtype=F32).reshape(3, 4), np.array([2, 0]), np.array([1, 3])
    taken = jax.jit(lambda x, i, j: x[i, j])
    left = names(lambda *args: (taken(*args),), aval(3, 4), *[aval(2, dtype=np.int32)] * 2)
    assert "stack" in left
    assert "concatenate" not in left
    np.testing.assert_array_equal(taken(x, rows, columns), x[rows, columns])


def test_a_place_that_all_have_is_not_joined_in_memory_either() -> None:
    x, rows = np.arange(12.0, dtype=F32).reshape(3, 4), np.array([2, -3], np.int32)
    taken = jax.jit(jax.vmap(lambda x, i: x[i], in_axes=(None, 0)))
    left = names(lambda *args: (taken(*args),), aval(3, 4), aval(2, dtype=np.int32))
    assert "stack" in left
    assert "concatenate" not in left
    np.testing.assert_array_equal(taken(x, rows), x[rows])
