"""Accuracy and special values of the recipes, evaluated by the NumPy interpreter.

The `slow` test runs compiled code over every 61st float32; dev/ulp_table.py can run over all.
"""

from __future__ import annotations

from pathlib import Path

import mpmath
import numpy as np
import pytest

from tapeless.kernel.scalar import RECIPES
from tests.kernel.accuracy import CASES, Case, errors, run_native, run_recipe, samples
from tests.kernel.evaluate import ulp_errors

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
PAGE = Path(__file__).parents[2] / "docs" / "numerics.md"
INF, NAN = np.inf, np.nan
named = pytest.mark.parametrize
each_dtype = named("dtype", [F32, F64], ids=str)


@named("case", CASES, ids=lambda case: case.name)
@named(("dtype", "count"), [(F32, 20000), (F64, 2000)], ids=["float32", "float64"])
def test_error_is_within_bound(case: Case, dtype: np.dtype, count: int) -> None:
    x = samples(case, dtype, count)
    found = errors(case, x, run_recipe(case.name, x))
    worst = found.argmax()
    assert found[worst] <= case.bound, f"{case.name}({x[worst]!r}) is {found[worst]:.2f} ulp off"
    said = table()[case.name][dtype.itemsize // 8]
    assert found[worst] <= said + 0.005, (
        f"docs/numerics.md says {said} of {case.name}({x[worst]!r})"
    )


def table() -> dict[str, tuple[float, float]]:
    """Return the largest errors in float32 and float64 that docs/numerics.md tells, by function."""
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {row[0][2:]: (float(row[1]), float(row[3])) for row in rows[2:]}


def test_the_table_has_every_case() -> None:
    assert list(table()) == [case.name for case in CASES]


SPECIAL = {
    "exp": ([0, INF, -INF, NAN, 1000, -1000], [1, INF, 0, NAN, INF, 0]),
    "exp2": ([0, INF, -INF, NAN, 10, -3], [1, INF, 0, NAN, 1024, 0.125]),
    "expm1": ([0.0, -0.0, INF, -INF, NAN], [0.0, -0.0, INF, -1, NAN]),
    "log": ([1, 0.0, -0.0, -1, INF, -INF, NAN], [0, -INF, -INF, NAN, INF, NAN, NAN]),
    "log2": ([8, 0.0, 0.125, -1, INF], [3, -INF, -3, NAN, INF]),
    "log1p": ([0.0, -0.0, -1, -2, INF, NAN], [0.0, -0.0, -INF, NAN, INF, NAN]),
    "sin": ([0.0, -0.0, INF, -INF, NAN], [0.0, -0.0, NAN, NAN, NAN]),
    "cos": ([0.0, -0.0, INF, -INF, NAN], [1, 1, NAN, NAN, NAN]),
    "tan": ([0.0, -0.0, INF, -INF, NAN], [0.0, -0.0, NAN, NAN, NAN]),
    "tanh": ([0.0, -0.0, INF, -INF, NAN], [0.0, -0.0, 1, -1, NAN]),
    "sinh": ([0.0, -0.0, INF, -INF, NAN], [0.0, -0.0, INF, -INF, NAN]),
    "cosh": ([0.0, -0.0, INF, -INF, NAN], [1, 1, INF, INF, NAN]),
    "asin": ([0.0, -0.0, 2, NAN], [0.0, -0.0, NAN, NAN]),
    "acos": ([1, 2, -2, NAN], [0, NAN, NAN, NAN]),
    "atan": ([0.0, -0.0, NAN], [0.0, -0.0, NAN]),
    "asinh": ([0.0, -0.0, INF, -INF, NAN], [0.0, -0.0, INF, -INF, NAN]),
    "acosh": ([1, 0.5, -5, INF, NAN], [0, NAN, NAN, INF, NAN]),
    "atanh": ([0.0, -0.0, 1, -1, 2, NAN], [0.0, -0.0, INF, -INF, NAN, NAN]),
    "logistic": ([0, INF, -INF, NAN], [0.5, 1, 0, NAN]),
    "rsqrt": ([0.0, -0.0, INF, -1, NAN, 4], [INF, -INF, 0, NAN, NAN, 0.5]),
    "cbrt": ([0.0, -0.0, INF, -INF, NAN, -8], [0.0, -0.0, INF, -INF, NAN, -2]),
    "erf": ([0.0, -0.0, INF, -INF, NAN], [0.0, -0.0, 1, -1, NAN]),
    "erfc": ([0, INF, -INF, NAN], [1, 0, 2, NAN]),
    "erf_inv": ([0.0, -0.0, 1, -1, 1.5, NAN], [0.0, -0.0, INF, -INF, NAN, NAN]),
    "lgamma": ([1, 2, 0, -1, -2, INF, -INF, NAN], [0, 0, INF, INF, INF, INF, INF, NAN]),
    "digamma": ([0.0, -0.0, -1, INF, -INF, NAN], [-INF, INF, NAN, INF, NAN, NAN]),
}


def same_bits(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Tell whether arrays are equal, with signs of zero, NaN equal to NaN."""
    np.testing.assert_array_equal(actual, expected)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(actual[zeros]), np.signbit(expected[zeros]))
    return True


@named("name", SPECIAL)
@each_dtype
def test_special_values(name: str, dtype: np.dtype) -> None:
    x, expected = (np.array(values, dtype) for values in SPECIAL[name])
    assert same_bits(run_recipe(name, x), expected)


def test_every_recipe_has_a_test() -> None:
    tested = {case.name for case in CASES} | {"pow", "atan2", "nextafter", "erf_inv"}
    assert tested == set(RECIPES)


@each_dtype
def test_sin_and_cos_stay_in_bounds(dtype: np.dtype) -> None:
    n = np.arange(1, 40000)
    x = (n * (np.pi / 2)).astype(dtype)
    assert np.abs(run_recipe("sin", x)).max() <= 1
    assert np.abs(run_recipe("cos", x)).max() <= 1


@each_dtype
@named("name", ["sin", "cos", "tan"])
def test_near_multiples_of_half_pi(name: str, dtype: np.dtype) -> None:
    """The subtraction of n pi / 2 cancels most here; huge n take the rare path."""
    random = np.random.default_rng(0)
    largest = 2.0**31 if dtype == F32 else 2.0**60
    n = np.exp(random.uniform(0, np.log(largest), 400)).astype(np.int64)
    with mpmath.workdps(40):
        x = np.array([float(k * mpmath.pi / 2) for k in n.tolist()]).astype(dtype)
    case = next(case for case in CASES if case.name == name)
    assert errors(case, x, run_recipe(name, x)).max() <= 2


def powers(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (x, y) whose power is all over the range of dtype."""
    random = np.random.default_rng(0)
    info = np.finfo(dtype)
    low, high = np.log(float(info.smallest_subnormal)), np.log(float(info.max))
    logs = np.concatenate([random.uniform(low, high, 400), random.uniform(-1, 1, 400)])
    logs = np.concatenate([logs, random.uniform(-1e-3, 1e-3, 400)])
    x = np.exp(logs).astype(dtype)
    logs = np.log(x.astype(np.float64))
    logs[logs == 0] = 1
    y = random.uniform(low * 1.01, high * 1.01, x.size) / logs
    return x, y.astype(dtype)


@named(("dtype", "bound"), [(F32, 0.51), (F64, 1.0)], ids=["float32", "float64"])
def test_pow_error_is_within_bound(dtype: np.dtype, bound: float) -> None:
    x, y = powers(dtype)
    with mpmath.workdps(40):
        pairs = zip(x.tolist(), y.tolist(), strict=True)
        values = [mpmath.mpf(a) ** mpmath.mpf(b) for a, b in pairs]
        exact = np.array([np.longdouble(mpmath.nstr(value, 25)) for value in values])
    assert ulp_errors(run_recipe("pow", x, y), exact).max() <= bound


@each_dtype
def test_pow_special_values_follow_c99(dtype: np.dtype) -> None:
    info = np.finfo(dtype)
    values = [0.0, 1, 2, 0.5, 3, 1.5, INF, info.max, info.smallest_subnormal, 1e20]
    values += [1 + info.eps, 2.0**24 - 1, 2.0**24, 2.0**53 - 1, 2.0**53]
    values = np.array([*values, *(-value for value in values), NAN], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    actual = run_recipe("pow", x, y)
    exact = np.isnan(expected) | np.isinf(expected) | (expected == 0) | (expected == 1)
    assert exact.sum() > 500
    assert same_bits(actual[exact], expected[exact])


@each_dtype
def test_pow_is_exact_where_the_power_is(dtype: np.dtype) -> None:
    x, y = np.meshgrid(np.arange(1, 12).astype(dtype), np.arange(0, 7).astype(dtype))
    np.testing.assert_array_equal(run_recipe("pow", x, y), x**y)


@each_dtype
def test_atan2_error_and_special_values(dtype: np.dtype) -> None:
    random = np.random.default_rng(0)
    angles = random.uniform(-4, 4, 2000)
    scale = 10.0 ** random.uniform(-6, 6, 2000)
    special = np.array([0.0, -0.0, INF, -INF, NAN, 1, -1, np.finfo(dtype).max])
    y = np.concatenate([scale * np.sin(angles), np.repeat(special, 8)]).astype(dtype)
    x = np.concatenate([scale * np.cos(angles), np.tile(special, 8)]).astype(dtype)
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    actual = run_recipe("atan2", y, x)
    unit = np.spacing(np.maximum(np.abs(exact.astype(dtype)), np.finfo(dtype).tiny))
    finite = np.isfinite(exact)
    assert (np.abs(actual - exact) / unit)[finite].max() <= 2
    assert same_bits(actual[~finite], exact[~finite].astype(dtype))
    np.testing.assert_array_equal(np.signbit(actual[finite]), np.signbit(exact[finite]))


@named("dtype", [np.dtype(np.float16), F32, F64], ids=str)
def test_nextafter_matches_numpy(dtype: np.dtype) -> None:
    random = np.random.default_rng(0)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    x = random.integers(0, np.iinfo(unsigned).max, 500, dtype=unsigned).view(dtype)
    special = np.array([0.0, -0.0, INF, -INF, NAN, 1, np.finfo(dtype).max], dtype)
    x = np.concatenate([x, np.repeat(special, 7)])
    y = np.concatenate([random.permutation(x[:500]), np.tile(special, 7)])
    with np.errstate(all="ignore"):
        expected = np.where(x == y, y, np.nextafter(x, y))
    assert same_bits(run_recipe("nextafter", x, y), expected)


@each_dtype
def test_erf_inv_is_the_inverse_of_erf(dtype: np.dtype) -> None:
    x = np.linspace(-0.999, 0.999, 401).astype(dtype)
    y = run_recipe("erf_inv", x).astype(np.float64)
    back = np.array([float(mpmath.erf(value)) for value in y])
    # relative to |x|, erf' is at most 2 / sqrt(pi) |y / x|
    assert (np.abs(back - x) <= 8 * np.finfo(dtype).eps * np.abs(x)).all()


def test_narrow_formats_are_rounded_from_float32() -> None:
    x = np.linspace(-5, 5, 101).astype(np.float16)
    expected = run_recipe("exp", x.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(run_recipe("exp", x), expected)


@named("name", RECIPES)
@each_dtype
def test_compiled_code_gives_the_same_bits(name: str, dtype: np.dtype) -> None:
    case = next((case for case in CASES if case.name == name), CASES[0])
    x = samples(case, dtype, 2000)
    special = np.array([0.0, -0.0, INF, -INF, NAN, 1, -1], dtype)
    x = np.concatenate([x, special])
    arguments = (x, x[::-1].copy()) if name in ("pow", "atan2", "nextafter") else (x,)
    assert same_bits(run_native(name, *arguments), run_recipe(name, *arguments))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@named("case", CASES, ids=lambda case: case.name)
def test_error_over_all_float32(case: Case) -> None:
    """Every 61st bit pattern, in 61 equal parts."""
    patterns = np.arange(0, 2**32, 61, dtype=np.uint64).astype(np.uint32)
    worst = 0.0
    for part in np.array_split(patterns, 61):
        x = part.view(np.float32)
        if case.scale is not None:
            x = np.ascontiguousarray(x[~(x <= -1e5)])
        if not x.size:
            continue
        worst = max(worst, errors(case, x, run_native(case.name, x)).max())
    assert worst <= case.bound
