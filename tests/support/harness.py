"""The laws that every operation obeys, as tests made from records.

A test file names its records and says `globals().update(laws(RECORDS))`.  Each law becomes one test
function, parametrised by the records to which it applies; a record that is excepted from a law
says why (`Record.without`), and an exception from a law that does not exist is an error.

    abstract      the staged program's types are those of the arrays that come out
    compiled      jit gives the reference's values, for each dtype
    eager         operations outside jit give bitwise what jit gives
    jvp           tangents are central differences, in float64
    complex_step  tangents are imaginary parts of values at x + ih, to the last digits
    transpose     <ct, J t> = <J' ct, t>
    second        the tangent of the gradient is its central difference
    third         one more derivative of that is its central difference, compiled
    mapped        gradients and tangents of a batch, compiled = those of its rows
    vmap          mapped over each axis of each operand = one call per row
    empty         arrays without elements, of the same rank
    hlo           there is StableHLO text with a main function
    error         wrong calls raise what the record says
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tapeless as jax
from tapeless import dtypes, prims
from tapeless.config import enable_x64
from tests.support.records import Record
from tests.support.reference_trace import reference_of

__all__ = ["LAWS", "laws"]

# Rules look other operations up in the registry, so that all pages must have been read.
for _module in pkgutil.iter_modules(prims.__path__):
    importlib.import_module(f"tapeless.prims.{_module.name}")

STEP = 1e-5


def laws(records: Sequence[Record]) -> dict[str, Callable]:
    """Return the test functions of the records, by name."""
    for record in records:
        unknown = set(record.without) - set(LAWS)
        if unknown or not all(record.without.values()):
            raise ValueError(f"{record.name}: no such law, or no reason: {record.without}")
    tests = {}
    for law, check in LAWS.items():
        cases = [record for record in records if law not in record.without]
        if law in NEEDED:
            cases = [record for record in cases if NEEDED[law] not in record.without]
        if law == "complex_step":
            cases = [record for record in cases if {"float64", "complex128"} <= {*record.dtypes}]
        if law == "error":
            cases = [record for record in cases if record.errors]
        if cases:
            names = [record.name for record in cases]
            mark = pytest.mark.parametrize("record", cases, ids=names)
            tests[f"test_{law}"] = mark(_named(check, law))
    return tests


def _named(check: Callable[[Record], None], law: str) -> Callable:
    """Return a test function of its own for one law."""

    def test(record: Record) -> None:
        with enable_x64(True):
            check(record)

    test.__name__ = f"test_{law}"
    test.__doc__ = check.__doc__
    return test


# Laws


def abstract_equals_actual(record: Record) -> None:
    """The types of the staged program are those of the results."""
    for dtype in record.dtypes:
        args = record.arguments(dtype)
        staged = jax.make_jaxpr(record.call)(*args).out_avals
        outs = listed(jax.jit(record.call)(*args))
        assert [(a.shape, a.dtype) for a in staged] == [(x.shape, x.dtype) for x in outs]


def compiled_equals_reference(record: Record) -> None:
    """Compiled values are the reference's, within the record's rounding errors."""
    for dtype in record.dtypes:
        args = record.arguments(dtype)
        expected = listed(expectation(record, args))
        actual = listed(jax.jit(record.call)(*args))
        for want, got in zip(expected, actual, strict=True):
            assert_close(want, np.asarray(got), record.ulps)


def eager_equals_jit(record: Record) -> None:
    """Operation by operation, the bits are those of the compiled program."""
    for dtype in record.dtypes[:1]:
        args = record.arguments(dtype)
        for want, got in zip(
            listed(jax.jit(record.call)(*args)), listed(record.call(*args)), strict=True
        ):
            np.testing.assert_array_equal(np.asarray(want), np.asarray(got))


def jvp_equals_differences(record: Record) -> None:
    """Tangents are central differences."""
    function, args = smooth(record)
    tangents = directions(args, 1)
    outs, out_tangents = jax.jvp(function, tuple(args), tuple(tangents))
    ahead = function(*(x + STEP * t for x, t in zip(args, tangents, strict=True)))
    back = function(*(x - STEP * t for x, t in zip(args, tangents, strict=True)))
    for high, low, tangent in zip(ahead, back, out_tangents, strict=True):
        slope = (np.asarray(high) - np.asarray(low)) / (2 * STEP)
        np.testing.assert_allclose(np.asarray(tangent), slope, rtol=2e-5, atol=2e-5)


def jvp_equals_complex_step(record: Record) -> None:
    """Where the function takes real and complex numbers, its imaginary part is a tangent.

    f(x + ih) = f(x) + ih f'(x) + O(h^2) has no difference of close numbers, so that h may be tiny.
    """
    everything = record.arguments("float64")
    positions = [k for k in record.positions() if everything[k].dtype == np.float64]
    chosen = [everything[k] for k in positions]
    tangents = directions(chosen, 1)

    def function(*xs: Any) -> tuple:
        """Fill the chosen operands in; the others have the chosen ones' dtype."""
        args = [x.astype(xs[0].dtype) if x.dtype == np.float64 else x for x in everything]
        for position, x in zip(positions, xs, strict=True):
            args[position] = x
        return tuple(listed(record.call(*args)))

    _, found = jax.jvp(function, tuple(chosen), tuple(tangents))
    ahead = function(*(x + 1e-30j * t for x, t in zip(chosen, tangents, strict=True)))
    for tangent, value in zip(found, ahead, strict=True):
        slope = np.asarray(value).imag / 1e-30
        np.testing.assert_allclose(np.asarray(tangent), slope, rtol=1e-12, atol=1e-13)


def transpose_is_adjoint(record: Record) -> None:
    """The product of a cotangent with a tangent is the same on both sides."""
    function, args = smooth(record)
    tangents = directions(args, 1)
    outs, out_tangents = jax.jvp(function, tuple(args), tuple(tangents))
    _, pullback = jax.vjp(function, *args)
    cotangents = directions(outs, 2)
    found = pullback(tuple(cotangents))
    left = inner(cotangents, out_tangents)
    np.testing.assert_allclose(left, inner(found, tangents), rtol=1e-9, atol=1e-9)


def second_derivative_equals_differences(record: Record) -> None:
    """The tangent of the gradient is the central difference of the gradient."""
    function, args = smooth(record)
    weights = directions(function(*args), 2)

    def gradient(*xs: Any) -> tuple:
        """Return the cotangents of the operands for fixed weights."""
        return jax.vjp(function, *xs)[1](tuple(weights))

    tangents = directions(args, 1)
    _, curvatures = jax.jvp(gradient, tuple(args), tuple(tangents))
    ahead = gradient(*(x + STEP * t for x, t in zip(args, tangents, strict=True)))
    back = gradient(*(x - STEP * t for x, t in zip(args, tangents, strict=True)))
    for high, low, curvature in zip(ahead, back, curvatures, strict=True):
        slope = (np.asarray(high) - np.asarray(low)) / (2 * STEP)
        np.testing.assert_allclose(np.asarray(curvature), slope, rtol=2e-4, atol=2e-4)


def third_derivative_equals_differences(record: Record) -> None:
    """The compiled tangent of a curvature is the central difference of the curvature."""
    function, args = smooth(record)
    weights, tangents = directions(function(*args), 2), directions(args, 1)

    def gradient(*xs: Any) -> tuple:
        """Return the cotangents of the operands for fixed weights."""
        return jax.vjp(function, *xs)[1](tuple(weights))

    def curvature(*xs: Any) -> tuple:
        """Return the tangents of the gradient in a fixed direction."""
        return jax.jvp(gradient, xs, tuple(tangents))[1]

    third = jax.jit(lambda *xs: jax.jvp(curvature, xs, tuple(tangents))[1])(*args)
    compiled = jax.jit(curvature)
    ahead = compiled(*(x + STEP * t for x, t in zip(args, tangents, strict=True)))
    back = compiled(*(x - STEP * t for x, t in zip(args, tangents, strict=True)))
    for high, low, found in zip(ahead, back, third, strict=True):
        slope = (np.asarray(high) - np.asarray(low)) / (2 * STEP)
        np.testing.assert_allclose(np.asarray(found), slope, rtol=2e-3, atol=2e-3)


def derivatives_of_a_batch_are_those_of_its_rows(record: Record) -> None:
    """Mapped and compiled tangents and cotangents are those of each row."""
    function, args = smooth(record)
    tangents, weights = directions(args, 1), directions(function(*args), 2)

    def derivatives(xs: tuple, ts: tuple, cts: tuple) -> tuple:
        """Return tangents of the results and cotangents of the operands."""
        return jax.jvp(function, xs, ts)[1], jax.vjp(function, *xs)[1](cts)

    ends = (tuple(args), tuple(tangents), tuple(weights))
    scaled = jax.tree.map(lambda x: np.stack([x, -2 * x]), ends[1:])
    rows = (jax.tree.map(lambda x: np.stack([x, x]), ends[0]), *scaled)
    mapped = jax.tree.leaves(jax.jit(jax.vmap(derivatives))(*rows))
    for found, want in zip(mapped, jax.tree.leaves(derivatives(*ends)), strict=True):
        whole = np.stack([want, -2 * np.asarray(want)])
        np.testing.assert_allclose(np.asarray(found), whole, rtol=1e-7, atol=1e-9)


def vmap_equals_loop(record: Record) -> None:
    """Mapping gives what one call per row gives, whichever operand has the axis, and where."""
    size = 2
    rows = [record.arguments(record.dtypes[0], seed) for seed in range(size)]
    for position, x in enumerate(rows[0]):
        for axis in range(x.ndim + 1):
            check_vmap(record, rows, [axis if k == position else None for k in range(len(rows[0]))])
    check_vmap(record, rows, [0] * len(rows[0]))


def empty_arrays_work(record: Record) -> None:
    """Operands without elements give results without elements, of the staged type."""
    args = [x[:0] if x.ndim else x for x in record.arguments(record.dtypes[0])]
    staged = jax.make_jaxpr(record.call)(*args).out_avals
    outs = listed(jax.jit(record.call)(*args))
    assert [(a.shape, a.dtype) for a in staged] == [(x.shape, x.dtype) for x in outs]


def hlo_text_exists(record: Record) -> None:
    """The program can be written as StableHLO."""
    text = jax.jit(record.call).lower(*record.arguments(record.dtypes[0])).as_text()
    assert "func.func public @main" in text


def errors_are_raised(record: Record) -> None:
    """Wrong calls raise the class and the words that the record states."""
    for failure in record.errors:
        with pytest.raises(failure.kind) as caught:
            record.call(*failure.args)
        assert failure.text in str(caught.value)


LAWS: dict[str, Callable[[Record], None]] = {
    "abstract": abstract_equals_actual,
    "compiled": compiled_equals_reference,
    "eager": eager_equals_jit,
    "jvp": jvp_equals_differences,
    "complex_step": jvp_equals_complex_step,
    "transpose": transpose_is_adjoint,
    "second": second_derivative_equals_differences,
    "third": third_derivative_equals_differences,
    "mapped": derivatives_of_a_batch_are_those_of_its_rows,
    "vmap": vmap_equals_loop,
    "empty": empty_arrays_work,
    "hlo": hlo_text_exists,
    "error": errors_are_raised,
}


# What has no derivative has no higher one, and none of its rows.
NEEDED = {"third": "second", "mapped": "transpose", "complex_step": "jvp"}

# Helpers


def listed(outs: Any) -> list:
    """Return the results as a list."""
    return list(outs) if isinstance(outs, (tuple, list)) else [outs]


def expectation(record: Record, args: Sequence[np.ndarray]) -> Any:
    """Return what a record's call should give, by NumPy."""
    if record.reference is None:
        return reference_of(record.call, *args)
    return record.reference(*args)


def smooth(record: Record) -> tuple[Callable[..., tuple], list[np.ndarray]]:
    """Return the function of the differentiable operands, in double precision, and these."""
    wide = "complex128" if record.dtypes[0].startswith("complex") else "float64"
    everything = record.arguments(wide)
    positions = record.positions()

    def function(*chosen: Any) -> tuple:
        """Fill the chosen operands in among the fixed ones."""
        args = list(everything)
        for position, x in zip(positions, chosen, strict=True):
            args[position] = x
        return tuple(listed(record.call(*args)))

    return function, [everything[position] for position in positions]


def directions(like: Sequence[Any], seed: int) -> list[np.ndarray]:
    """Return random arrays of the same types."""
    generator = np.random.default_rng(seed)
    found = []
    for x in like:
        drawn = generator.standard_normal(np.shape(x))
        if dtypes.issubdtype(x.dtype, np.complexfloating):
            drawn = drawn + 1j * generator.standard_normal(np.shape(x))
        found.append(np.asarray(drawn).astype(x.dtype))
    return found


def inner(xs: Sequence[Any], ys: Sequence[Any]) -> complex:
    """Return the sum of the products, real where one side is real: tangents are real-linear."""
    total = 0.0
    for x, y in zip(xs, ys, strict=True):
        total += np.sum(np.asarray(x) * np.asarray(y)).real
    return total


def check_vmap(record: Record, rows: Sequence[list], dims: Sequence[int | None]) -> None:
    """Compare a mapped call with a call per row."""
    args = [
        rows[0][k] if dim is None else np.stack([row[k] for row in rows], dim)
        for k, dim in enumerate(dims)
    ]
    mapped = listed(jax.jit(jax.vmap(record.call, tuple(dims)))(*args))
    for number, row in enumerate(rows):
        single = [rows[0][k] if dim is None else row[k] for k, dim in enumerate(dims)]
        for want, got in zip(listed(jax.jit(record.call)(*single)), mapped, strict=True):
            np.testing.assert_allclose(
                np.asarray(got)[number].astype(_comparable(want.dtype)),
                np.asarray(want).astype(_comparable(want.dtype)),
                rtol=1e-5,
                atol=1e-6,
            )


def _comparable(dtype: np.dtype) -> np.dtype:
    """Return a dtype in which NumPy can compare."""
    return np.dtype(np.float32) if dtype == dtypes.bfloat16 else dtype


def assert_close(want: np.ndarray, got: np.ndarray, ulps: float) -> None:
    """Compare with the reference, in units of the last place of its dtype."""
    assert (want.shape, want.dtype) == (got.shape, got.dtype)
    if not dtypes.issubdtype(want.dtype, np.inexact):
        np.testing.assert_array_equal(got, want)
        return
    info = dtypes.finfo(want.dtype)
    wide = np.complex128 if dtypes.issubdtype(want.dtype, np.complexfloating) else np.float64
    np.testing.assert_allclose(
        got.astype(wide),
        want.astype(wide),
        rtol=ulps * float(info.eps),
        atol=ulps * float(info.eps) * 0.1,
    )
