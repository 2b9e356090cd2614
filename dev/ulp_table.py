"""Measure the errors of the scalar functions and write docs/numerics.md.

    python dev/ulp_table.py [STRIDE] [COUNT]

Compiled code runs over every STRIDE-th float32 (1 is exhaustive: hours; default 31: half an hour)
and over COUNT float64 samples (default 100000) that mpmath evaluates, with the cases of
tests/kernel/accuracy.py.  A sample misses the worst argument, so that a second look follows: every
float32 of the blocks where the sample was worst, and float64s about the worst samples.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tests.kernel.accuracy import CASES, Case, count_operations, errors, run_native, samples

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
PAGE = Path(__file__).resolve().parents[1] / "docs" / "numerics.md"
CHUNK = 1 << 20
# The second look: blocks of so many float32 samples, and rounds of float64s about the worst.
BLOCK, N_BLOCKS = 1 << 13, 48
ROUNDS, N_WORST, N_NEIGHBOURS = 3, 40, 400
HEADER = """# Accuracy of the elementary and special functions

Written by `dev/ulp_table.py {stride} {count}`; do not edit.

The functions are recipes of our own, compiled to vector code (tapeless/kernel/scalar.py). The table
gives the largest error that was seen, in units in the last place (ulp) of the exact value; 0.5 is
correct rounding. float32 was run over every {stride}st bit pattern, then over all where the error
was largest, and compared with float64; float64 over about {count} arguments, spread over the whole
range and dense where the function is critical, then about those with the largest errors, and
compared with mpmath. Subnormal numbers count in full.

| function | float32 ulp | at | float64 ulp | at | operations, float32 / float64 |
| --- | --- | --- | --- | --- | --- |
"""
FOOTER = """
- The operations of `sin`, `cos` and `tan` include the rare path for huge arguments (above 2^17 in
  float32, 2^30 in float64), which is jumped over unless some lane needs it.
- `lgamma` and `digamma`: the unit is the ulp of max(1, |value|), and for negative x of
  max(1, |x|, |value|), because both have zeros between the poles where nothing better is possible
  with one word of argument reduction. Within 2.6 and 3 ulp in this measure.
- `pow` is within 0.51 ulp in float32 and 1 ulp in float64, and exact where the power is a number of
  the format. Its special cases are those of C99. `atan2` is within 2 ulp.
- `erf_inv` evaluates the polynomials of Giles and the logarithm of Cephes, as JAX does, and is as
  accurate: 5 ulp up to |x| = 0.9; up to 0.9999, 65 ulp in float32 and 84 in float64. Nearer to 1,
  digits of 1 - x**2 are lost. Results in float32 are JAX's on a CPU, bit for bit.
- `gamma` and `factorial` are within 8e-16, relatively, for positive arguments, 6e-15 from -170 on
  and 3e-14 below; in float32 within 0.51 ulp. Factorials up to 22 are exact.
- `ndtri`, `erfcinv` and `log_ndtr` of float32 are within 2.1, 2.4 and 4 ulp at all exponents, over
  some million arguments compared with SciPy in float64; in float64 within 1e-13, relatively.
- `erfcx` of float32 is within 0.51 ulp, of float64 within 5 ulp where it was compared.
- `sqrt`, `+`, `-`, `*`, `/`, `nextafter` are exact or correctly rounded.
- float16, bfloat16 and narrower formats compute in float32 and round the result once; `tanh`,
  `erf`, `erfc` and `logistic` by shorter recipes, within 0.54 ulp for all arguments.
- Products of bfloat16 are summed in float32; where a processor has matrix registers (AMX), or an
  instruction for pairs of bfloat16, subnormal numbers count as zero, among factors and sums.
- Sums (`sum`, `mean`, `var`, `trapezoid`, sums of products and of other expressions; any axis) have
  errors that grow as those of pairwise summation: at most about 4 log2(n) + 12 units of rounding
  (2^-24 in float32, 2^-53 in float64), relative to the sum of the magnitudes of n terms. Every lane
  adds runs of 16 terms, then runs of 16 totals, and so on. Products of matrices and vectors (`dot`,
  `vdot`, `@`), cumulative sums, `associative_scan` of rows, sums of windows and of segments, and
  scatters add up in orders of their own, which depend on shapes only (`prims/updates.py`).
- Results do not depend on the number of threads, nor do those of functions on the vector width, but
  those of sums do; they need hardware or software `fma` with one rounding, which LLVM provides
  everywhere.
"""


def main(stride: int, count: int) -> None:
    """Measure all cases and write the page."""
    rows = []
    for case in CASES:
        single, double = cells(*sweep(case, stride)), cells(*search(case, count))
        sizes = " / ".join(str(count_operations(case.name, dtype)) for dtype in (F32, F64))
        rows.append(f"| {case.name} | {single} | {double} | {sizes} |\n")
        print(rows[-1], end="", flush=True)
    PAGE.write_text(HEADER.format(stride=stride, count=count) + "".join(rows) + FOOTER)


def sweep(case: Case, stride: int) -> tuple[float, float]:
    """The largest error over every stride-th float32 and all of the worst blocks, and where."""
    blocks: list[tuple[float, int]] = []
    for start in range(0, 2**32, CHUNK * stride):
        found = measured(case, floats(start, start + CHUNK * stride, stride))
        edges = np.arange(0, found.size, BLOCK)
        worst = np.maximum.reduceat(found, edges)
        blocks += zip(worst.tolist(), (start + edges * stride).tolist(), strict=True)
        blocks = sorted(blocks, reverse=True)[:N_BLOCKS]
    return max(largest(case, floats(at, at + BLOCK * stride, 1)) for _, at in blocks)


def floats(start: int, stop: int, stride: int) -> np.ndarray:
    """The float32s with every stride-th bit pattern of a range."""
    patterns = np.arange(start, min(stop, 2**32), stride, dtype=np.uint64)
    return patterns.astype(np.uint32).view(np.float32)


def search(case: Case, count: int) -> tuple[float, float]:
    """The largest error over float64 samples, and over more about the worst of them, and where."""
    random = np.random.default_rng(count)
    x = samples(case, F64, count)
    found = measured(case, x)
    for _ in range(ROUNDS):
        order = np.argsort(found)[-N_WORST:]
        spread = 10.0 ** random.uniform(-8, -1, (N_WORST, N_NEIGHBOURS))
        new = x[order, None] * (1 + spread * random.choice([-1, 1], spread.shape))
        x, found = np.append(x, new), np.append(found, measured(case, new.ravel()))
    where = found.argmax()
    return float(found[where]), float(x[where])


def measured(case: Case, x: np.ndarray) -> np.ndarray:
    """The errors over an array; none far out, where a reference with a scale is of no use."""
    if case.scale is not None:
        x = np.where(x <= -1e5, x.dtype.type(np.nan), x)
    return errors(case, x, run_native(case.name, x))


def largest(case: Case, x: np.ndarray) -> tuple[float, float]:
    """The largest error over an array and the argument that has it."""
    found = measured(case, x)
    where = found.argmax()
    return float(found[where]), float(x[where])


def cells(error: float, x: float) -> str:
    """Format an error and its argument."""
    return f"{error:.2f} | {x:.9g}"


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    main(*numbers, *(31, 100000)[len(numbers) :])
