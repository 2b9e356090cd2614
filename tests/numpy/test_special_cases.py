"""The special cases of the array API standard hold: in a vector, in its tail, alone, under jit."""

from __future__ import annotations

import math
import operator
from functools import partial

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.numpy import special_cases

FLOATS = ("float16", "bfloat16", "float32", "float64")
CONSTANTS = {"inf": math.inf, "-inf": -math.inf, "+0": 0.0, "-0": -0.0, "pi": math.pi}
CONSTANTS |= {"pi/2": math.pi / 2, "pi/4": math.pi / 4, "3*pi/4": 3 * math.pi / 4}
CONSTANTS |= {"-" + name: -CONSTANTS[name] for name in ("pi", "pi/2", "pi/4", "3*pi/4")}
TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-14}
TOLERANCE |= {"complex64": 1e-6, "complex128": 1e-14}
# What a vector of the host holds, and one more than a whole number of vectors.
LENGTHS = (1, 37)


def agrees(found: float, wanted: str, operands: tuple[float, ...], tolerance: float) -> bool:
    """Tell whether a real number is the result that a case names."""
    if "|" in wanted:
        return any(agrees(found, part, operands, tolerance) for part in wanted.split("|"))
    if wanted in ("?0", "?inf"):
        return abs(found) == (0.0 if wanted == "?0" else math.inf)
    if wanted in ("True", "False"):
        return bool(found) is (wanted == "True")
    if wanted == "nan":
        return math.isnan(found)
    if wanted == "0":
        return found == 0
    signed = {"±0": 0.0, "±inf": math.inf}
    named = {"same": operands[0], "minus": -operands[0], "second": operands[-1]}
    if wanted in signed:
        value = math.copysign(signed[wanted], operands[0])
    else:
        value = named[wanted] if wanted in named else CONSTANTS.get(wanted) or float(wanted)
    same_sign = math.copysign(1, found) == math.copysign(1, value)
    return same_sign and (found == value or abs(found - value) <= tolerance * abs(value))


def complex_agrees(found: complex, wanted: str, tolerance: float) -> bool:
    """Tell whether a complex number is the result that a case names."""
    parts = (found.real, found.imag)
    names = wanted.strip("()").split(",")
    return all(
        agrees(x, name, (x,), tolerance) for x, name in zip(parts, names, strict=len(names) == 2)
    )


def evaluated(function: object, columns: list[np.ndarray]) -> list[np.ndarray]:
    """Return the results alone, in vectors and their tails, and under jit."""
    n = len(columns[0])
    together = np.asarray(jax.jit(function)(*columns))
    found = [together]
    for length in LENGTHS:
        stretched = [np.repeat(column, length) for column in columns]
        found += list(np.asarray(function(*stretched)).reshape(n, length).T)
    return found


def check_real_numbers(name: str, function: object, dtype: str) -> None:
    """Assert that a function has the results of the table of a name."""
    table = (special_cases.UNARY | special_cases.BINARY)[name]
    rows = list(special_cases.cases(table))
    kind = jnp.dtype(dtype)
    with jax.enable_x64(True), np.errstate(over="ignore"):
        rows = [row for row in rows if all(x != x or x == float(kind.type(x)) for x in row[0])]
        columns = [
            np.array(column).astype(kind) for column in zip(*[r[0] for r in rows], strict=True)
        ]
        results = evaluated(function, columns)
    wrong = {
        (*row, float(value))
        for result in results
        for row, value in zip(rows, result, strict=True)
        if not agrees(float(value), row[1], row[0], TOLERANCE[dtype])
    }
    assert len(rows) > 2
    assert not wrong


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*special_cases.UNARY, *special_cases.BINARY])
def test_special_cases_of_real_numbers(name, dtype):
    check_real_numbers(name, getattr(jnp, name), dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("name", special_cases.OPERATORS)
def test_special_cases_of_operators(name, dtype):
    function = getattr(operator, special_cases.OPERATORS[name])
    check_real_numbers(name, lambda *columns: function(*map(jnp.asarray, columns)), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_has_a_sign(dtype):
    with jax.enable_x64(True):
        x = np.array([np.nan, -np.nan, -1.0, 1.0] * 9 + [-np.nan]).astype(jnp.dtype(dtype))
        expected = np.signbit(np.asarray(x, float))
        ones = np.ones(x.shape, x.dtype)
        for result in evaluated(jnp.signbit, [x]):
            np.testing.assert_array_equal(result, expected)
        for result in evaluated(jnp.copysign, [ones, x]):
            np.testing.assert_array_equal(np.asarray(result, float), 1 - 2.0 * expected)


def with_conjugates(rows: list[tuple[complex, str]]) -> list[tuple[complex, complex, str]]:
    """Return operands, and whether the result is to be conjugated, with the text of the result."""
    return [(z, False, text) for z, text in rows] + [
        (z.conjugate(), True, text) for z, text in rows
    ]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", special_cases.COMPLEX)
def test_special_cases_of_complex_numbers(name, dtype):
    rows = with_conjugates(list(special_cases.pairs(special_cases.COMPLEX[name])))
    with jax.enable_x64(True):
        z = np.array([row[0] for row in rows]).astype(dtype)
        results = evaluated(getattr(jnp, name), [z])
    wrong = set()
    for result in results:
        for (operand, conjugated, text), value in zip(rows, result, strict=True):
            found = complex(value)
            found = found.conjugate() if conjugated else found
            if not complex_agrees(found, text, TOLERANCE[dtype]):
                wrong.add((str(operand), text, str(complex(value))))
    assert not wrong


def turned(z: complex) -> complex:
    """Return i z, part by part."""
    return complex(-z.imag, z.real)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", special_cases.CONJUGATED)
def test_special_cases_that_follow_from_others(name, dtype):
    other = special_cases.CONJUGATED[name]
    rows = with_conjugates(list(special_cases.pairs(special_cases.COMPLEX[other])))
    with jax.enable_x64(True):
        z = np.array([complex(w.imag, -w.real) for w, _, _ in rows])  # i z is the other's operand
        results = evaluated(getattr(jnp, name), [z.astype(dtype)])
    wrong = set()
    for result in results:
        for (operand, conjugated, text), value in zip(rows, result, strict=True):
            found = complex(value)
            found = found if name == "cos" else turned(found)
            found = found.conjugate() if conjugated else found
            if not complex_agrees(found, text, TOLERANCE[dtype]):
                wrong.add((str(operand), text, str(complex(value))))
    assert not wrong


REDUCTIONS = (
    # name, operand, result
    ("max", [1, np.nan, 3], "nan"),
    ("min", [1, np.nan, 3], "nan"),
    ("max", [-np.inf, 2, np.inf], "inf"),
    ("min", [-np.inf, 2, np.inf], "-inf"),
    ("sum", [], "+0"),
    ("sum", [1, np.nan], "nan"),
    ("sum", [np.inf, -np.inf], "nan"),
    ("sum", [np.inf, 1], "inf"),
    ("prod", [], "1"),
    ("prod", [2, np.nan], "nan"),
    ("prod", [0, np.inf], "nan"),
    ("mean", [], "nan"),
    ("mean", [1, np.nan], "nan"),
    ("mean", [np.inf, 1], "inf"),
    ("std", [], "nan"),
    ("std", [1, np.nan], "nan"),
    ("std", [np.inf, 1], "nan"),
    ("std", [5], "+0"),
    ("var", [], "nan"),
    ("var", [1, np.nan], "nan"),
    ("var", [5], "+0"),
    ("all", [], "True"),
    ("any", [], "False"),
    ("all", [1, np.nan, np.inf, -np.inf], "True"),
    ("any", [0, -0.0], "False"),
    ("any", [0, np.nan], "True"),
)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "values", "wanted"), REDUCTIONS)
def test_special_cases_of_reductions(name, values, wanted, dtype):
    with jax.enable_x64(True):
        columns = jnp.array(values, dtype).reshape(-1, 1)
        function = getattr(jnp, name)
        for x in (columns, jnp.tile(columns, 37)):
            results = [function(x, axis=0), jax.jit(partial(function, axis=0))(x)]
            for result in results:
                assert all(agrees(float(value), wanted, (0.0,), 1e-3) for value in result)


@pytest.mark.parametrize("correction", [1, 1.0, 2, 3])
def test_no_degrees_of_freedom_give_nan(correction):
    assert np.isnan(jnp.var(jnp.ones(1), correction=correction))
    assert np.isnan(jnp.std(jnp.ones(1), correction=correction))


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_cases_of_clip_and_cumulative(dtype):
    with jax.enable_x64(True):
        x = jnp.array([np.nan, -3, 3, np.inf, -np.inf], dtype)
        np.testing.assert_array_equal(np.asarray(jnp.clip(x, -1, 1), float), [np.nan, -1, 1, 1, -1])
        assert np.isnan(jnp.clip(x, np.nan, 1)).all()
        assert np.isnan(jnp.clip(x, -1, jnp.array(np.nan, dtype))).all()
        y = jnp.array([1, np.inf, -np.inf, 2], dtype)
        np.testing.assert_array_equal(
            np.asarray(jnp.cumulative_sum(y), float), np.array([1, np.inf, np.nan, np.nan])
        )
        z = jnp.array([2, np.inf, 0, 2], dtype)
        np.testing.assert_array_equal(
            np.asarray(jnp.cumulative_prod(z), float), np.array([2, np.inf, np.nan, np.nan])
        )
        np.testing.assert_array_equal(
            np.asarray(jnp.cumulative_sum(z, include_initial=True), float),
            [0, 2, np.inf, np.inf, np.inf],
        )
        np.testing.assert_array_equal(jnp.cumulative_prod(z[:0], include_initial=True), [1])


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
def test_sets_tell_nans_apart_and_zeros_not(name, dtype):
    with jax.enable_x64(True):
        x = jnp.array([np.nan, 1, np.nan, 0.0, -0.0, 1], dtype)
        result = getattr(jnp, name)(x)
        values = result if name == "unique_values" else result.values
        assert int(jnp.isnan(values).sum()) == 2
        assert values.shape == (4,)
        if hasattr(result, "counts"):
            assert sorted(map(int, result.counts)) == [1, 1, 2, 2]
        if hasattr(result, "inverse_indices"):
            again = values[result.inverse_indices]
            assert bool(jnp.all((again == x) | jnp.isnan(x)))


def test_isin_and_searchsorted_with_special_values():
    x = jnp.array([np.nan, 0.0, -0.0, np.inf])
    np.testing.assert_array_equal(jnp.isin(x, x), [False, True, True, True])
    grid = jnp.array([-np.inf, -0.0, 0.0, 1.0, np.inf])
    np.testing.assert_array_equal(jnp.searchsorted(grid, x[1:]), [1, 1, 4])
    np.testing.assert_array_equal(jnp.searchsorted(grid, x[1:], side="right"), [3, 3, 5])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_cases_of_linspace(dtype):
    with jax.enable_x64(True):
        assert jnp.linspace(0.0, 1.0, 0, dtype=dtype).shape == (0,)
        np.testing.assert_array_equal(jnp.linspace(2.0, 7.0, 1, dtype=dtype), [2])
        np.testing.assert_array_equal(jnp.linspace(3.0, 3.0, 4, dtype=dtype), [3] * 4)
        assert jnp.linspace(0.0, 0.7, 8, dtype=dtype)[-1] == jnp.asarray(0.7, dtype)
        np.testing.assert_array_equal(jnp.linspace(0, 4, 4, endpoint=False, dtype=dtype), range(4))
        z = jnp.linspace(0.0, 1 + 2j, 3)
        np.testing.assert_allclose(z, [0, 0.5 + 1j, 1 + 2j])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("size", ["max", "smallest_normal"])
def test_square_roots_and_atanh_of_huge_and_tiny_numbers(size, dtype):
    with jax.enable_x64(True):
        extreme = float(getattr(jnp.finfo(dtype), size)) * 0.9
        z = np.array([extreme, extreme * (1 + 1j), 1j * extreme, -extreme], dtype)
        np.testing.assert_allclose(jnp.sqrt(z), np.sqrt(z), rtol=4 * jnp.finfo(dtype).eps)
        large = np.array([1e18 + 1e17j, -1e15 + 3j, 1e12j + 2e12], dtype)
        wide = large.astype("complex128")
        np.testing.assert_allclose(
            np.arctanh(wide).real, np.asarray(jnp.arctanh(large)).real, rtol=1e-6
        )
