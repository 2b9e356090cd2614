"""A NumPy interpreter of scalar DAGs, and the measurement of errors in units of the last place.

It gives every operation the meaning of the table in `tapeless/kernel/ir.py`, on whole arrays, so
that recipes can be tested without the compiler.  `fma` is the one operation that NumPy lacks; it is
a loop compiled with llvmlite.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache

import llvmlite.binding as llvm
import numpy as np

from tapeless.kernel.ir import Const, Op, Scalar

__all__ = ["evaluate", "ulp_errors"]

_FMA_TEXT = """
declare {t} @llvm.fma.{n}({t}, {t}, {t})
define void @fma(ptr %a, ptr %b, ptr %c, ptr %out, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %body]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %pa = getelementptr {t}, ptr %a, i64 %i
  %pb = getelementptr {t}, ptr %b, i64 %i
  %pc = getelementptr {t}, ptr %c, i64 %i
  %po = getelementptr {t}, ptr %out, i64 %i
  %x = load {t}, ptr %pa
  %y = load {t}, ptr %pb
  %z = load {t}, ptr %pc
  %r = call {t} @llvm.fma.{n}({t} %x, {t} %y, {t} %z)
  store {t} %r, ptr %po
  %next = add i64 %i, 1
  br label %loop
done:
  ret void
}}
"""


@cache
def _fma_loop(name: str) -> tuple[object, Callable[..., None]]:
    """Compile the loop; returns the engine, which must stay alive, and the function."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    kind = {"float32": ("float", "f32"), "float64": ("double", "f64")}[name]
    module = llvm.parse_assembly(_FMA_TEXT.format(t=kind[0], n=kind[1]))
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
    return engine, signature(engine.get_function_address("fma"))


def _fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """x * y + z, rounded once."""
    shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
    arrays = [np.ascontiguousarray(np.broadcast_to(a, shape)) for a in (x, y, z)]
    result = np.empty(shape, arrays[0].dtype)
    _, function = _fma_loop(result.dtype.name)
    function(*(a.ctypes.data for a in (*arrays, result)), result.size)
    return result


def _shift(operation: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Make a shift total: counts of the width or more shift everything out."""

    def shift(x: np.ndarray, count: np.ndarray) -> np.ndarray:
        width = 8 * x.dtype.itemsize
        wide = count.astype(np.uint64) >= width
        result = operation(x, np.where(wide, 0, count).astype(x.dtype))
        return np.where(wide, np.array(0, x.dtype), result)

    return shift


def _logical(x: np.ndarray, count: np.ndarray) -> np.ndarray:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return (x.view(unsigned) >> count.astype(unsigned)).view(x.dtype)


def _mulhi(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    product = x.astype(object) * y.astype(object)
    return (product >> (8 * x.dtype.itemsize)).astype(x.dtype)


def _convert(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return x.astype(dtype)
    info = np.iinfo(dtype)
    inside = (x >= float(info.min)) & (x < float(info.max) + (info.bits < 64))
    exact = np.where(inside, x, 0).astype(dtype)
    limits = np.where(x > 0, info.max, np.where(x < 0, info.min, 0)).astype(dtype)
    return np.where(inside, exact, limits)


_OPERATIONS: Mapping[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "fma": _fma,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round_even": np.rint,
    "sqrt": np.sqrt,
    "copysign": np.copysign,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shift_left": _shift(np.left_shift),
    "shift_right_logical": _shift(_logical),
    "shift_right_arithmetic": np.right_shift,
    "mulhi": _mulhi,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "is_finite": np.isfinite,
    "select": np.where,
    "rare": np.where,
}


def evaluate(root: Scalar, inputs: Mapping[Scalar, np.ndarray]) -> np.ndarray:
    """Compute `root` at every element of the arrays that `inputs` gives for the leaves."""
    values: dict[Scalar, np.ndarray] = dict(inputs)
    with np.errstate(all="ignore"):
        for node in _in_order(root):
            if node not in values:
                values[node] = _value(node, values)
    return values[root]


def _value(node: Scalar, values: dict[Scalar, np.ndarray]) -> np.ndarray:
    """Compute one node from the values of its operands."""
    if isinstance(node, Const):
        return np.array(node.value, node.dtype)
    assert isinstance(node, Op), f"no value for {node}"
    operands = [values[arg] for arg in node.args]
    if node.name == "convert":
        return _convert(operands[0], node.dtype)
    if node.name == "bitcast":
        return np.asarray(operands[0]).view(node.dtype)
    result = _OPERATIONS[node.name](*operands)
    assert result.dtype == node.dtype, f"{node.name} gave {result.dtype}, not {node.dtype}"
    return result


def _in_order(root: Scalar) -> list[Scalar]:
    """List the DAG under `root`, operands before their users."""
    order: dict[Scalar, None] = {}
    stack: list[tuple[Scalar, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order[node] = None
        elif node not in order:
            stack.append((node, True))
            stack.extend((arg, False) for arg in getattr(node, "args", ()))
    return list(order)


def ulp_errors(actual: np.ndarray, high: np.ndarray, low: np.ndarray | float = 0.0) -> np.ndarray:
    """Errors of `actual` against the exact values high + low, in units of the last place.

    `high` and `low` are long doubles (or float64 when `actual` is float32).  Equal infinities and
    NaN have no error, different ones an infinite error.  A value beyond the largest number may be
    that number or infinity.
    """
    info = np.finfo(actual.dtype)
    wide = np.longdouble
    with np.errstate(all="ignore"):
        exact = np.asarray(high, wide)
        size = np.maximum(np.abs(exact), wide(info.smallest_normal))
        exponent = np.frexp(np.minimum(size, wide(info.max)))[1] - 1
        unit = np.ldexp(wide(1), exponent - info.nmant)
        finite = np.where(np.isinf(actual), np.copysign(wide(2) ** info.maxexp, actual), actual)
        limit = wide(2) ** info.maxexp
        bounded = np.clip(exact, -limit, limit)
        error = np.abs((finite.astype(wide) - bounded) - np.where(bounded == exact, low, 0)) / unit
    same = (actual == exact) | (np.isnan(actual) & np.isnan(exact))
    return np.where(same & (np.asarray(low) == 0), 0, np.where(np.isnan(error), np.inf, error))
