"""`jax.extend.core`: primitives of libraries, and programs as data.

A program has its constants attached, so `ClosedJaxpr` and `Jaxpr` are one class.  Equations bind
sequences: all operations of this house have `multiple_results`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tapeless.core import jaxpr as programs
from tapeless.core.any_array import AnyArray
from tapeless.core.aval import ShapedArray, is_value, shaped
from tapeless.core.check import check_jaxpr
from tapeless.core.effects import NO_EFFECTS, Effect, Effects
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import DebugInfo, Eqn, Jaxpr, Literal, Var
from tapeless.core.source import current_source
from tapeless.core.trace import Context, Tag, Trace, Tracer, Value, context
from tapeless.errors import ConcretizationTypeError, InconclusiveDimensionOperation, JaxprTypeError
from tapeless.extend.core import primitives
from tapeless.extend.rules import Primitive
from tapeless.transforms.batch import BatchTrace
from tapeless.transforms.stage import StageTrace
from tapeless.util.names import close_module
from tapeless.util.records import record

__all__ = [
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "TraceTag",
    "Var",
    "array_types",
    "check_jaxpr",
    "concrete_or_error",
    "find_top_trace",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]

ClosedJaxpr = Jaxpr
JaxprEqn = Eqn
TraceTag = Tag
no_effects = NO_EFFECTS
array_types: set[type] = {np.ndarray, np.generic, AnyArray}


class DropVar:
    """The class of results that nothing uses; here they are variables like others."""


@record
class OpaqueTraceState:
    """Which trace was current: equal to another if that was the same."""

    tag: Tag


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """Return a value that changes as the current trace does.

    >>> get_opaque_trace_state() == get_opaque_trace_state()
    True
    """
    return OpaqueTraceState(context.trace.tag)


def find_top_trace(values: Sequence[Any]) -> Trace:
    """Return the current trace, which handles every operation."""
    return context.trace


@contextmanager
def take_current_trace() -> Generator[Trace, None, None]:
    """Give the current trace, and let operations be evaluated inside the block."""
    taken = context.trace
    with set_current_trace(Context.base):
        yield taken


@contextmanager
def set_current_trace(trace: Trace, check_leaks: bool = False) -> Generator[None, None, None]:
    """Let `trace` handle the operations inside the block."""
    previous = context.trace
    context.trace = trace
    try:
        yield
    finally:
        context.trace = previous


def jaxpr_as_fun(jaxpr: Jaxpr, *args: Value) -> Any:
    """Evaluate a program; without arguments, return the function that does.

    >>> from tapeless import make_jaxpr
    >>> jaxpr_as_fun(make_jaxpr(lambda x: x + 1)(2))(2)
    [Array(3, dtype=int32, weak_type=True)]
    """
    if not args and jaxpr.invars:
        return lambda *values: jaxpr_as_fun(jaxpr, *values)
    return list(eval_jaxpr(jaxpr, jaxpr.consts, *args))


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """Return the programs that the equations of a program contain."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def jaxprs_in_params(params: Mapping[str, Any]) -> Iterator[Jaxpr]:
    """Return the programs among the parameters of an equation."""
    yield from programs.subjaxprs(params)


def new_jaxpr_eqn(
    invars: Sequence[programs.Atom],
    outvars: Sequence[Var],
    primitive: Any,
    params: Mapping[str, Any],
    effects: Effects = NO_EFFECTS,
    source_info: Any = None,
    ctx: Any = None,
) -> Eqn:
    """Return an equation."""
    return Eqn(primitive, invars, outvars, params, effects, source_info or current_source())


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """Return the type of a row, of a value with the mapped axis `axis` of this size.

    >>> mapped_aval(3, 0, ShapedArray((3, 2), np.float32))
    ShapedArray(float32[2])
    """
    if axis is None:
        return aval
    if aval.shape[axis] != size:
        raise TypeError(f"axis {axis} of {aval.str_short(False)} was said to have size {size}")
    shape = list(aval.shape)
    del shape[axis]
    return aval.update(shape=tuple(shape))


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """Return the type of a batch of `size` rows, with the mapped axis `axis`.

    >>> unmapped_aval(3, 1, ShapedArray((2,), np.float32))
    ShapedArray(float32[2,3])
    """
    if axis is None:
        return aval
    shape = list(aval.shape)
    shape.insert(axis, size)
    return aval.update(shape=tuple(shape))


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """Return the dtype of tangents of values of a dtype.

    >>> primal_dtype_to_tangent_dtype(np.int32)
    dtype([('float0', 'V')])
    """
    return shaped((), primal_dtype).tangent().dtype


def valid_jaxtype(x: object) -> bool:
    """Tell whether `x` can be an operand.

    >>> valid_jaxtype(1), valid_jaxtype("one")
    (True, False)
    """
    return is_value(x)


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """Return `force(val)`, or raise ConcretizationTypeError where `val` is traced.

    >>> concrete_or_error(int, np.int32(3))
    3
    """
    if isinstance(val, Tracer) and val.concrete() is None:
        raise ConcretizationTypeError(
            f"Abstract tracer value encountered where concrete value is expected: {val!r}\n"
            f"{context}{val.origin()}"
        )
    known = val.concrete() if isinstance(val, Tracer) else val
    return known if force is None else force(known)


def _enclosing(kind: type[Trace]) -> bool:
    """Tell whether the current trace, or one around it, is of a kind."""
    trace: Trace | None = context.trace
    while trace is not None and not isinstance(trace, kind):
        trace = trace.parent
    return trace is not None


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Tell whether a named axis is in scope."""
    return bool(context.axes)


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """Return the names of the axes in scope, outermost first."""
    return [axis.name for axis in context.axes]


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Tell whether a program is being staged."""
    return _enclosing(StageTrace)


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Tell whether rows are being mapped."""
    return _enclosing(BatchTrace)


close_module("jax.extend.core", globals())
