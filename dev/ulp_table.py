"""Measure the errors of the scalar functions and write docs/numerics.md.

    python dev/ulp_table.py [STRIDE] [COUNT]

Compiled code runs over every STRIDE-th float32 (1 is exhaustive: hours; default 1021) and over
COUNT float64 samples (default 20000) that mpmath evaluates, with the cases of
tests/kernel/accuracy.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tests.kernel.accuracy import CASES, Case, count_operations, errors, run_native, samples

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
PAGE = Path(__file__).resolve().parents[1] / "docs" / "numerics.md"
CHUNK = 1 << 20
HEADER = """# Accuracy of the elementary and special functions

Written by `dev/ulp_table.py {stride} {count}`; do not edit.

The functions are recipes of our own, compiled to vector code (tapeless/kernel/scalar.py). The table
gives the largest error that was seen, in units in the last place (ulp) of the exact value; 0.5 is
correct rounding. float32 was run over every {stride}th bit pattern and compared with float64,
float64 over about {count} arguments, spread over the whole range and dense where the
function is critical, and compared with mpmath. Subnormal numbers count in full.

| function | float32 ulp | at | float64 ulp | at | operations, float32 / float64 |
| --- | --- | --- | --- | --- | --- |
"""
FOOTER = """
- The operations of `sin`, `cos` and `tan` include the rare path for huge arguments (above 2^17 in
  float32, 2^30 in float64), which is jumped over unless some lane needs it.
- `lgamma` and `digamma`: the unit is the ulp of max(1, |value|), and for negative x of
  max(1, |x|, |value|), because both have zeros between the poles where nothing better is possible
  with one word of argument reduction. Within 2.5 and 3 ulp in this measure.
- `pow` is within 0.51 ulp in float32 and 1 ulp in float64, and exact where the power is a number of
  the format. Its special cases are those of C99. `atan2` is within 2 ulp.
- `erf_inv` evaluates the polynomials of Giles and the logarithm of Cephes, as JAX does, and is as
  accurate: 5 ulp up to |x| = 0.9; up to 0.9999, 65 ulp in float32 and 84 in float64. Nearer to 1,
  digits of 1 - x**2 are lost. Results in float32 are JAX's on a CPU, bit for bit.
- `gamma` and `factorial` are within 8e-16, relatively, for positive arguments, 6e-15 from -170 on
  and 3e-14 below; in float32 results are those of float64, rounded. Factorials up to 22 are exact.
- `ndtri`, `erfcinv` and `log_ndtr` of float32 are within 2.1, 2.4 and 4 ulp at all exponents, over
  some million arguments compared with SciPy in float64; in float64 within 1e-13, relatively.
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
  scatters add up in orders of their own.
- Results do not depend on the number of threads, nor do those of functions on the vector width, but
  those of sums do; they need hardware or software `fma` with one rounding, which LLVM provides
  everywhere.
"""


def main(stride: int, count: int) -> None:
    """Measure all cases and write the page."""
    rows = []
    for case in CASES:
        single, double = sweep(case, stride), worst(case, samples(case, F64, count))
        sizes = " / ".join(str(count_operations(case.name, dtype)) for dtype in (F32, F64))
        rows.append(f"| {case.name} | {single} | {double} | {sizes} |\n")
        print(rows[-1], end="", flush=True)
    PAGE.write_text(HEADER.format(stride=stride, count=count) + "".join(rows) + FOOTER)


def sweep(case: Case, stride: int) -> str:
    """The largest error over every stride-th float32, and where."""
    best = (0.0, 0.0)
    for start in range(0, 2**32, CHUNK * stride):
        stop = min(start + CHUNK * stride, 2**32)
        x = np.arange(start, stop, stride, dtype=np.uint64).astype(np.uint32).view(np.float32)
        if case.scale is not None:
            x = np.ascontiguousarray(x[~(x <= -1e5)])
        if x.size:
            best = max(best, largest(case, x))
    return cells(*best)


def worst(case: Case, x: np.ndarray) -> str:
    """The largest error over an array, and where."""
    return cells(*largest(case, x))


def largest(case: Case, x: np.ndarray) -> tuple[float, float]:
    """The largest error over an array and the argument that has it."""
    found = errors(case, x, run_native(case.name, x))
    where = found.argmax()
    return float(found[where]), float(x[where])


def cells(error: float, x: float) -> str:
    """Format an error and its argument."""
    return f"{error:.2f} | {x:.9g}"


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    main(*numbers, *(1021, 20000)[len(numbers) :])
