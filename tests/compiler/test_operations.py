"""Every operation on every dtype, as single values and as lanes, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tapeless
from tapeless.compiler.formats import format_of
from tapeless.compiler.operations import identity, is_operation
from tapeless.kernel.ir import Loop
from tests.compiler.native import Work

SIGNED = [np.dtype(f"i{size}") for size in (1, 2, 4, 8)]
UNSIGNED = [np.dtype(f"u{size}") for size in (1, 2, 4, 8)]
TINY = [np.dtype(t) for t in (ml_dtypes.int4, ml_dtypes.uint4)]
WIDE = [np.dtype(np.float32), np.dtype(np.float64)]
NARROW = [
    np.dtype(t)
    for t in (
        *(np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn),
        *(ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz),
        *(ml_dtypes.float8_e4m3, ml_dtypes.float8_e3m4),
    )
]
FLOATS = WIDE + NARROW
INTEGERS = SIGNED + UNSIGNED
BOOL = np.dtype(np.bool_)
named = pytest.mark.parametrize


def samples(dtype: np.dtype) -> np.ndarray:
    """Values of a dtype: the edges, small ones and random bits."""
    random = np.random.default_rng(5)
    if dtype == BOOL:
        return np.array([False, True] * 9)
    if dtype in TINY:
        return np.arange(16).astype(np.int8).view(np.int8).astype(dtype)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        edges = [info.min, info.max, 0, 1, 2, 3, 7, info.max - 1, info.max // 2]
        edges += [] if info.min == 0 else [-1, -2, -3, -7, info.min + 1]
        drawn = random.integers(info.min, info.max, 14, dtype, endpoint=True)
        return np.concatenate([np.array(edges, dtype), drawn])
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, 3.5, np.inf, -np.inf, np.nan, 1e-5, 300.0]
    edges += [1e-40, 6e-8, 65504.0, 65520.0, 3e38, -448.0, 464.0, 57344.0, 0.001953125, 130.0]
    unsigned = np.dtype(f"u{dtype.itemsize}")
    drawn = random.integers(0, np.iinfo(unsigned).max, 20, unsigned, endpoint=True).view(dtype)
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(edges, np.float64).astype(dtype), drawn])


def pairs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Every sample with every sample."""
    values = samples(dtype)
    left, right = np.meshgrid(values.view(f"u{dtype.itemsize}"), values.view(f"u{dtype.itemsize}"))
    return left.ravel().view(dtype), right.ravel().view(dtype)


def compute(name: str, *arrays: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
    """Run one operation over arrays; as lanes and one by one, which must agree."""
    results = []
    for independent in (True, False):
        work = Work()
        buffers = [work.input(array) for array in arrays]
        n = arrays[0].size
        i = work.index("i", n)
        options = {} if dtype is None else {"dtype": dtype}
        value = work.op(name, *(work.get(buffer, i) for buffer in buffers), **options)
        output = work.output((n,), value.dtype)
        work.body.append(Loop(i, n, (work.put(output, (i,), value),), independent=independent))
        results.extend(work.run())
    same_bits(results[0], results[1])
    return results[0]


def same_bits(expected: np.ndarray, actual: np.ndarray) -> None:
    """Compare bits, except that any NaN is as good as another."""
    assert expected.dtype == actual.dtype
    if expected.dtype in FLOATS:
        nan = np.isnan(expected)
        np.testing.assert_array_equal(nan, np.isnan(actual))
        expected, actual = expected[~nan], actual[~nan]
    unsigned = f"u{expected.dtype.itemsize}"
    np.testing.assert_array_equal(expected.view(unsigned), actual.view(unsigned))


def quietly(function: object, *arrays: np.ndarray) -> np.ndarray:
    """Call a NumPy function without its warnings."""
    with np.errstate(all="ignore"):
        return function(*arrays)


ARITHMETIC = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


@named("dtype", FLOATS + INTEGERS + TINY, ids=str)
@named("name", ARITHMETIC)
def test_arithmetic_wraps_or_rounds(name: str, dtype: np.dtype) -> None:
    x, y = pairs(dtype)
    same_bits(quietly(ARITHMETIC[name], x, y), compute(name, x, y))


@named("dtype", FLOATS, ids=str)
def test_division_of_floats_is_rounded_correctly(dtype: np.dtype) -> None:
    x, y = pairs(dtype)
    same_bits(quietly(np.divide, x, y), compute("div", x, y))


@named("dtype", WIDE, ids=str)
def test_remainder_of_floats_has_the_sign_of_the_dividend(dtype: np.dtype) -> None:
    x, y = pairs(dtype)
    same_bits(quietly(np.fmod, x, y), compute("rem", x, y))


@named("dtype", INTEGERS, ids=str)
def test_division_of_integers_is_total(dtype: np.dtype) -> None:
    x, y = pairs(dtype)
    exact_x, exact_y = x.astype(object), y.astype(object)
    quotient, remainder = [], []
    for a, b in zip(exact_x, exact_y, strict=True):
        q = -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        quotient.append(q)
        remainder.append(a if b == 0 else a - q * b)
    mask = (1 << (8 * dtype.itemsize)) - 1
    unsigned = np.dtype(f"u{dtype.itemsize}")
    expected = np.array([q & mask for q in quotient], unsigned).view(dtype)
    same_bits(expected, compute("div", x, y))
    expected = np.array([r & mask for r in remainder], unsigned).view(dtype)
    same_bits(expected, compute("rem", x, y))


@named("dtype", SIGNED, ids=str)
@named("divisor", [1, 2, 3, -1, -5, 0, 7])
def test_division_by_a_constant_is_division(divisor: int, dtype: np.dtype) -> None:
    x = samples(dtype)
    work = Work()
    source, i = work.input(x), work.index("i", x.size)
    output = work.output(x.shape, dtype)
    value = work.div(work.get(source, i), divisor)
    work.body.append(Loop(i, x.size, (work.put(output, (i,), value),)))
    same_bits(compute("div", x, np.full_like(x, divisor)), work.run()[0])


@named("dtype", FLOATS + INTEGERS, ids=str)
def test_extremes_propagate_nan_and_order_zeros(dtype: np.dtype) -> None:
    x, y = pairs(dtype)
    least, most = quietly(np.minimum, x, y), quietly(np.maximum, x, y)
    if dtype in FLOATS:
        zeros = (x == 0) & (y == 0)
        negative = np.signbit(x.astype(np.float64)), np.signbit(y.astype(np.float64))
        least[zeros] = np.where(negative[0] | negative[1], -0.0, 0.0).astype(dtype)[zeros]
        most[zeros] = np.where(negative[0] & negative[1], -0.0, 0.0).astype(dtype)[zeros]
    same_bits(least, compute("min", x, y))
    same_bits(most, compute("max", x, y))


COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@named("dtype", FLOATS + INTEGERS + [BOOL], ids=str)
def test_comparisons(dtype: np.dtype) -> None:
    x, y = pairs(dtype)
    for name, function in COMPARISONS.items():
        same_bits(quietly(function, x, y), compute(name, x, y))


UNARY = {
    "neg": np.negative,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round_even": np.rint,
    "sqrt": np.sqrt,
    "is_finite": np.isfinite,
    "sign": lambda x: np.where(x == 0, x, np.where(np.isnan(x), x, np.sign(x).astype(x.dtype))),
}


@named("dtype", FLOATS, ids=str)
@named("name", UNARY)
def test_unary_operations_on_floats(name: str, dtype: np.dtype) -> None:
    x = samples(dtype)
    if name == "neg" and dtype.name.endswith("fnuz"):
        x = x[~np.isnan(x)]
    expected = quietly(UNARY[name], x.astype(np.float64) if dtype in NARROW else x)
    if name != "is_finite":
        expected = quietly(lambda value: value.astype(dtype), expected)
    same_bits(expected, compute(name, x))


@named("dtype", SIGNED, ids=str)
def test_unary_operations_on_integers(dtype: np.dtype) -> None:
    x = samples(dtype)
    same_bits(np.negative(x), compute("neg", x))
    same_bits(np.abs(x), compute("abs", x))
    same_bits(np.sign(x), compute("sign", x))


@named("dtype", FLOATS, ids=str)
def test_copysign_takes_the_sign_of_zeros_too(dtype: np.dtype) -> None:
    x, y = pairs(dtype)
    keep = ~np.isnan(x) & ~np.isnan(y)
    x, y = x[keep], y[keep]
    expected = np.copysign(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    same_bits(expected, compute("copysign", x, y))


@named("dtype", INTEGERS, ids=str)
def test_bit_operations(dtype: np.dtype) -> None:
    x, y = pairs(dtype)
    same_bits(x & y, compute("and", x, y))
    same_bits(x | y, compute("or", x, y))
    same_bits(x ^ y, compute("xor", x, y))
    same_bits(~x, compute("not", x))
    bits = [format(v & ((1 << 8 * dtype.itemsize) - 1), "b") for v in x.astype(object)]
    same_bits(np.array([b.count("1") for b in bits], dtype), compute("popcount", x))
    zeros = [8 * dtype.itemsize - (0 if b == "0" else len(b)) for b in bits]
    same_bits(np.array(zeros, dtype), compute("clz", x))
    high = [(a * b) >> (8 * dtype.itemsize) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    same_bits(np.array(high, dtype), compute("mulhi", x, y))


@named("dtype", INTEGERS, ids=str)
def test_shifts_past_the_width_are_defined(dtype: np.dtype) -> None:
    x, count = pairs(dtype)
    width, mask = 8 * dtype.itemsize, (1 << 8 * dtype.itemsize) - 1
    unsigned = np.dtype(f"u{dtype.itemsize}")
    counts = [min(int(c) & mask, width) for c in count]
    values = [int(v) for v in x]
    pair = list(zip(values, counts, strict=True))
    left = np.array([(v << c) & mask for v, c in pair], unsigned).view(dtype)
    logical = np.array([(v & mask) >> c for v, c in pair], unsigned).view(dtype)
    same_bits(left, compute("shift_left", x, count))
    same_bits(logical, compute("shift_right_logical", x, count))
    if dtype in SIGNED:
        arithmetic = np.array([v >> c for v, c in pair], dtype)
        same_bits(arithmetic, compute("shift_right_arithmetic", x, count))


def test_operations_on_bools() -> None:
    x, y = pairs(BOOL)
    same_bits(x & y, compute("and", x, y))
    same_bits(x | y, compute("or", x, y))
    same_bits(x ^ y, compute("xor", x, y))
    same_bits(~x, compute("not", x))
    same_bits(x | y, compute("add", x, y))
    same_bits(x & y, compute("mul", x, y))


@named("dtype", FLOATS + INTEGERS + TINY + [BOOL], ids=str)
def test_select_chooses_lane_by_lane(dtype: np.dtype) -> None:
    x = samples(dtype)
    condition = np.arange(x.size) % 3 == 0
    y = x[::-1].copy()
    unsigned = f"u{dtype.itemsize}"
    expected = np.where(condition, x.view(unsigned), y.view(unsigned)).view(dtype)
    same_bits(expected, compute("select", condition, x, y))


SOME_FLOATS = [*WIDE, *NARROW[:2], NARROW[3]]


@named("target", INTEGERS + [BOOL], ids=str)
@named("source", SOME_FLOATS, ids=str)
def test_float_to_integer_saturates(source: np.dtype, target: np.dtype) -> None:
    x = samples(source)
    if target == BOOL:
        same_bits(x.astype(np.float64) != 0, compute("convert", x, dtype=target))
        return
    info = np.iinfo(target)
    expected = []
    for value in x.astype(np.float64):
        if np.isnan(value):
            expected.append(0)
        elif np.isinf(value):
            expected.append(info.max if value > 0 else info.min)
        else:
            expected.append(min(max(int(value), info.min), info.max))
    same_bits(np.array(expected, target), compute("convert", x, dtype=target))


@named("target", FLOATS, ids=str)
@named("source", SOME_FLOATS, ids=str)
def test_float_to_float_rounds_to_nearest_even(source: np.dtype, target: np.dtype) -> None:
    x = samples(source)
    with np.errstate(all="ignore"):
        through = x.astype(np.float32) if source in NARROW or target in NARROW else x
        expected = through.astype(target)
    same_bits(expected, compute("convert", x, dtype=target))


@named("target", SOME_FLOATS + INTEGERS + [BOOL], ids=str)
@named("source", [*INTEGERS, BOOL], ids=str)
def test_integer_to_anything(source: np.dtype, target: np.dtype) -> None:
    x = samples(source)
    with np.errstate(all="ignore"):
        through = x.astype(np.float32) if target in NARROW else x
        same_bits(through.astype(target), compute("convert", x, dtype=target))


@named("dtype", FLOATS + INTEGERS, ids=str)
def test_bitcast_keeps_the_bits(dtype: np.dtype) -> None:
    x = samples(dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    if dtype in FLOATS:
        x = x[~np.isnan(x)]
    same_bits(x.view(unsigned), compute("bitcast", x, dtype=unsigned))
    same_bits(x, compute("bitcast", x.view(unsigned), dtype=dtype))


@named("dtype", WIDE, ids=str)
def test_fma_rounds_once(dtype: np.dtype) -> None:
    one = np.array(1, dtype)
    x = np.full(20, one + np.finfo(dtype).eps)
    product = x * x
    error = compute("fma", x, x, -product)
    assert np.all(error != 0)
    np.testing.assert_array_equal(error, np.finfo(dtype).eps ** 2)


def test_identities_do_not_change_any_value() -> None:
    for dtype in (*FLOATS, *INTEGERS, BOOL):
        form = format_of(dtype)
        x = samples(dtype)
        names = ["min", "max", "add", "mul"] if dtype in FLOATS else ["min", "max", "and", "or"]
        for name in names:
            if (
                dtype in NARROW
                and name in ("min", "max")
                and "inf" not in str(np.array(np.inf).astype(dtype))
            ):
                continue
            neutral = np.full(x.shape, identity(name, form)).astype(dtype)
            same_bits(x, compute(name, x, neutral))


def test_only_single_operations_are_emitted_here() -> None:
    assert is_operation("fma")
    assert not is_operation("exp")


@named("dtype", [np.dtype("i4"), np.dtype("u4")])
def test_quotients_just_below_a_whole_number_are_not_rounded_up(dtype: np.dtype) -> None:
    random = np.random.default_rng(1)
    y = random.integers(1, 2**16, 1000)
    whole = random.integers(1, 2**15, 1000) * y
    x = np.concatenate([whole - 1, whole, whole + 1]).astype(dtype)
    y = np.tile(y, 3).astype(dtype)
    np.testing.assert_array_equal(compute("div", x, y), x // y)
    np.testing.assert_array_equal(compute("rem", x, y), x % y)


@pytest.mark.skipif(ml_dtypes.__version__ == "0.5.0", reason="it rounds float8_e8m0fnu wrongly")
@named("dtype", [np.dtype(ml_dtypes.float8_e8m0fnu), np.dtype(ml_dtypes.float4_e2m1fn)])
def test_formats_without_infinities_round_as_in_numpy(dtype):
    steps = np.array([0.2, 0.25, 0.3, 0.75, 1.0, 1.4, 1.5, 1.75, 2.5, 3.0, 3.5, 5.0, 6.0, 7.0])
    scales = 2.0 ** np.array([-140, -128, -127, -126, 0, 1, 2, 127])
    values = np.concatenate([np.outer(scales, steps).ravel(), [0.0, np.inf, np.nan]])
    values = np.concatenate([values, -values[:-1]])
    with np.errstate(all="ignore"):
        values = values.astype(np.float32)
        expected = values.astype(dtype)
    narrow = compute("convert", values, dtype=dtype)
    np.testing.assert_array_equal(narrow.view(np.uint8), expected.view(np.uint8))
    wide = compute("convert", expected, dtype=np.dtype(np.float32))
    np.testing.assert_array_equal(wide, expected.astype(np.float32))


@pytest.mark.parametrize("effort", [0, 1])
def test_arithmetic_of_halves_is_that_of_float32_rounded(effort: int) -> None:
    bits = np.random.default_rng(0).integers(0, 1 << 16, (2, 100_003), dtype=np.uint16)
    x, y = bits.view(np.float16)

    def every(x: object, y: object) -> tuple:
        """Combine two numbers in all ways that round."""
        return x + y, x - y, x * y, x / y, tapeless.lax.sqrt(x), x * y - x, (x + y) * (x - y) / y

    options = {"effort": effort}
    results = tapeless.jit(every, compiler_options=options)(x, y)
    a, b = x.astype(np.float32), y.astype(np.float32)

    def rounded(z: np.ndarray) -> np.ndarray:
        """Round to a half, and widen."""
        return z.astype(np.float16).astype(np.float32)

    with np.errstate(all="ignore"):
        total, difference, product = rounded(a + b), rounded(a - b), rounded(a * b)
        last = rounded(rounded(total * difference) / b)
        expected = (total, difference, product, a / b, np.sqrt(a), product - a, last)
        for result, number in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, number.astype(np.float16))
