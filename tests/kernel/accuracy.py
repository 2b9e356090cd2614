"""What each recipe is compared with, where, and the error it may have.

`CASES` has one record per function.  float32 is compared with float64 functions of NumPy and SciPy,
float64 with mpmath; both are evaluated on `samples`: random bit patterns, numbers of every moderate
size, the special values with their neighbours, and the function's own critical region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy as np
import scipy.special

from tapeless.compiler.engine import compile_program
from tapeless.compiler.program import Program
from tapeless.kernel.ir import Buffer, Loop, Op, Scalar, Store
from tapeless.kernel.nodes import Nodes
from tapeless.kernel.scalar import recipe
from tests.kernel.evaluate import evaluate, ulp_errors

__all__ = ["CASES", "Case", "count_operations", "errors", "run_native", "run_recipe", "samples"]

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
Region = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """A function: references, critical regions for both dtypes, and bounds in ulp.

    scale: None, or a function (x, value) -> the size whose ulp is the unit, where that is not the
    value itself.
    """

    name: str
    wide: Callable[..., np.ndarray]
    exact: Callable[..., object]
    regions: tuple[Region, ...] = ((-1.5, 1.5),)
    regions64: tuple[Region, ...] | None = None
    bound: float = 2.0
    scale: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None


def _logistic(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def _logistic_exact(x: mpmath.mpf) -> mpmath.mpf:
    small = mpmath.exp(-abs(x))
    return (small if x < 0 else 1) / (1 + small)


def _log_abs_gamma(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.re(mpmath.loggamma(x))


def _gamma_scale(x: np.ndarray, value: np.ndarray) -> np.ndarray:
    """max(1, |value|), and for negative x also |x|."""
    size = np.maximum(1, np.abs(value))
    return np.where(x < -0.25, np.maximum(size, np.abs(x)), size)


def _cube_root(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def _real(function: Callable[[mpmath.mpf], object]) -> Callable[[mpmath.mpf], object]:
    """Make a function NaN where its value is complex."""

    def real(x: mpmath.mpf) -> object:
        value = function(x)
        return mpmath.nan if isinstance(value, mpmath.mpc) and value.imag != 0 else value

    return real


_EXP = ((-104, 89), (-1, 1))
_EXP64 = ((-746, 710), (-1, 1))
_ANGLES = ((-1.6, 1.6), (-200, 200), (-1e5, 1e5), (1e5, 1e9))
_LOGS = ((0.4, 2.5), (0.99, 1.01), (0, 1e-37))
_GAMMAS = ((0, 8), (-8, 0), (0, 100))

CASES = (
    Case("exp", np.exp, mpmath.exp, _EXP, _EXP64),
    Case("exp2", np.exp2, lambda x: mpmath.mpf(2) ** x, ((-150, 128), (-1, 1)), ((-1075, 1024),)),
    Case("expm1", np.expm1, mpmath.expm1, ((-1, 1), (-20, 89)), ((-1, 1), (-40, 710))),
    Case("log", np.log, _real(mpmath.log), _LOGS),
    Case("log2", np.log2, _real(lambda x: mpmath.log(x, 2)), _LOGS),
    Case("log1p", np.log1p, _real(mpmath.log1p), ((-1, 1.5), (-0.1, 0.1))),
    Case("sin", np.sin, mpmath.sin, _ANGLES),
    Case("cos", np.cos, mpmath.cos, _ANGLES),
    Case("tan", np.tan, mpmath.tan, _ANGLES),
    Case("tanh", np.tanh, mpmath.tanh, ((-1, 1), (-10, 10)), ((-1, 1), (-20, 20))),
    Case("sinh", np.sinh, mpmath.sinh, ((-2, 2), (88, 89.5)), ((-2, 2), (709, 711))),
    Case("cosh", np.cosh, mpmath.cosh, ((-2, 2), (88, 89.5)), ((-2, 2), (709, 711))),
    Case("asin", np.arcsin, _real(mpmath.asin), ((-1, 1),)),
    Case("acos", np.arccos, _real(mpmath.acos), ((-1, 1),)),
    Case("atan", np.arctan, mpmath.atan, ((-1.5, 1.5), (-100, 100))),
    Case("asinh", np.arcsinh, mpmath.asinh, ((-1.5, 1.5), (-100, 100))),
    Case("acosh", np.arccosh, _real(mpmath.acosh), ((1, 1.1), (1, 10))),
    Case("atanh", np.arctanh, _real(mpmath.atanh), ((-1, 1),)),
    Case("logistic", _logistic, _logistic_exact, ((-104, 20), (-3, 3)), ((-746, 40), (-3, 3))),
    Case("rsqrt", lambda x: 1 / np.sqrt(x), _real(lambda x: 1 / mpmath.sqrt(x)), ((0, 4),)),
    Case("cbrt", np.cbrt, _cube_root, ((-8, 8),)),
    Case("erf", scipy.special.erf, mpmath.erf, ((-4, 4), (0.9, 1.1)), ((-6, 6), (0.9, 1.1))),
    Case(
        "erfc", scipy.special.erfc, mpmath.erfc, ((-2, 10.2), (0.4, 1.2)), ((-2, 27.5), (0.4, 1.2))
    ),
    Case("lgamma", scipy.special.gammaln, _log_abs_gamma, _GAMMAS, None, 2.5, _gamma_scale),
    Case("digamma", scipy.special.psi, mpmath.digamma, _GAMMAS, None, 3.0, _gamma_scale),
)


def samples(case: Case, dtype: np.dtype, count: int) -> np.ndarray:
    """About `count` arguments, finite and not 0, the same each time."""
    random = np.random.default_rng(len(case.name) * 1000 + count)
    info = np.finfo(dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    patterns = random.integers(0, np.iinfo(unsigned).max, count // 4, dtype=unsigned)
    sizes = 10.0 ** random.uniform(-6, 4, count // 4) * random.choice([-1, 1], count // 4)
    regions = case.regions if dtype == F32 or case.regions64 is None else case.regions64
    parts = [random.uniform(*region, count // (2 * len(regions))) for region in regions]
    special = [0.5, 1, 1.5, 2, 3, info.max, info.smallest_normal, info.smallest_subnormal, 2**17]
    special = np.array([*special, 2.0**30, 2.0**53], dtype)
    near = [special, np.nextafter(special, dtype.type(4)), np.nextafter(special, dtype.type(-4))]
    with np.errstate(all="ignore"):
        x = np.concatenate([patterns.view(dtype), sizes, *parts, *near, *(-part for part in near)])
        x = x.astype(dtype)
    x = x[np.isfinite(x) & (x != 0)]
    # mpmath cannot evaluate the reflection far out
    return x[x > -1e5] if case.scale is not None else x


def run_recipe(name: str, *arrays: np.ndarray) -> np.ndarray:
    """Evaluate a recipe with the interpreter."""
    nodes = Nodes()
    leaves = [_leaf(nodes, array.dtype) for array in arrays]
    root = recipe(name, tuple(leaves), nodes)
    return np.broadcast_to(evaluate(root, dict(zip(leaves, arrays, strict=True))), arrays[0].shape)


def run_native(name: str, *arrays: np.ndarray) -> np.ndarray:
    """Run a recipe as compiled vector code."""
    nodes = Nodes()
    dtype, size = arrays[0].dtype, arrays[0].size
    inputs = tuple(Buffer((size,), dtype, "input") for _ in arrays)
    output = Buffer((size,), dtype, "output")
    i = nodes.index("i", size)
    value = nodes.op(name, *(nodes.load(buffer, i) for buffer in inputs))
    body = (Loop(i, size, (Store(output, nodes.affine(i), value),)),)
    program = compile_program(Program(name, inputs, (output,), (), 0, body))
    result = np.empty_like(arrays[0])
    program.run([array.ctypes.data for array in (*arrays, result)])
    return result


def count_operations(name: str, dtype: np.dtype, arity: int = 1) -> int:
    """Count the operations of a recipe."""
    nodes = Nodes()
    root = recipe(name, tuple(_leaf(nodes, dtype) for _ in range(arity)), nodes)
    seen: set[Scalar] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(getattr(node, "args", ()))
    return sum(isinstance(node, Op) for node in seen)


def _leaf(nodes: Nodes, dtype: np.dtype) -> Scalar:
    return nodes.load(Buffer((1,), dtype, "input"), 0)


def errors(case: Case, x: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """Errors of `actual` = function(x), in ulp of the value or of `case.scale`."""
    with np.errstate(all="ignore"):
        if x.dtype == F32:
            value = np.asarray(case.wide(x.astype(np.float64)), np.longdouble)
        else:
            value = _exact_values(case, x)
        if case.scale is None:
            return ulp_errors(actual, value)
        size = np.asarray(case.scale(x, value), np.float64)
        unit = np.spacing(np.minimum(size, np.finfo(x.dtype).max).astype(x.dtype))
        error = np.abs(actual - value) / unit
        beyond = np.isinf(actual) & (np.abs(value) > np.finfo(x.dtype).max)
        same = (actual == value) | (np.isnan(actual) & np.isnan(value)) | beyond
    return np.where(same, 0, np.where(np.isnan(error), np.inf, error)).astype(np.float64)


def _exact_values(case: Case, x: np.ndarray) -> np.ndarray:
    """Evaluate the mpmath reference to 30 digits, as long doubles."""
    values = np.empty(x.shape, np.longdouble)
    with mpmath.workdps(30), np.errstate(all="ignore"):
        for position, number in enumerate(x.ravel().tolist()):
            values[position] = _exact_value(case, number)
    return values


def _exact_value(case: Case, number: float) -> np.longdouble:
    """One value; at poles, and where mpmath overflows, what NumPy or SciPy has for float64."""
    try:
        value = mpmath.re(case.exact(mpmath.mpf(number)))
    except (ValueError, ZeroDivisionError, OverflowError):
        return np.longdouble(case.wide(np.float64(number)))
    if not mpmath.isfinite(value):
        return np.longdouble(float(value))
    if value == 0 or abs(mpmath.log(abs(value), 2)) < 2000:
        return np.longdouble(mpmath.nstr(value, 25))
    return np.longdouble(np.copysign(np.inf if abs(value) > 1 else 0, int(mpmath.sign(value))))
