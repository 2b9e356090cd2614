"""What the functions with rules of the user's share: `custom_jvp_call` and `custom_vjp_call`.

The parameter `call_jaxpr` is a flat Python function until the call is staged, and a program from
then on; what the function captured become leading arguments, `num_consts` of them, which the user's
rules do not see.  Evaluating, compiling and typing such a call look at the program alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tapeless.control.common import ProgramPrimitive
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import DebugInfo, Jaxpr
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Context, Tag, Value
from tapeless.prims.common import batch_dim_to
from tapeless.transforms.batch import batch_flat
from tapeless.transforms.stage import stage_flat

__all__ = [
    "CustomCall",
    "Program",
    "call_program",
    "is_plain",
    "known_arrays",
    "map_front",
]

Program = Jaxpr | Callable[..., Sequence[Value]]


def call_program(program: Program, args: Sequence[Value]) -> Sequence[Value]:
    """Call a flat function, or evaluate the program that it was staged to."""
    if isinstance(program, Jaxpr):
        return eval_jaxpr(program, program.consts, *args)
    return program(*args)


def is_plain(x: Value) -> bool:
    """Tell whether a value is a Python scalar, which rules may look at and rows share."""
    return isinstance(x, (bool, int, float, complex))


def known_arrays(args: Sequence[Value]) -> list[Value]:
    """Return arguments with arrays for Python's scalars, which programs have as literals."""
    return [Context.base.constant(x) if is_plain(x) else x for x in args]


def map_front(
    function: Callable,
    axis: Axis,
    args: Sequence[Value],
    dims: Sequence,
    tag: Tag | None = None,
) -> list[Value]:
    """Map a flat function; all its results get the mapped axis in front.

    tag: of the batch that what the function captured may belong to.
    """
    outs, out_dims = batch_flat(function, axis, args, dims, tag)
    placed = zip(outs, out_dims, strict=True)
    return [batch_dim_to(out, dim, 0, axis.size) for out, dim in placed]


class CustomCall(ProgramPrimitive):
    """Call `call_jaxpr`; subclasses say how it is differentiated and batched."""

    hidden = {"num_consts": ...}
    evaluated_in_python = True
    inline_program = True
    maps_functions = True

    def abstract(
        self,
        *avals: ShapedArray,
        call_jaxpr: Jaxpr,
        **params: Any,
    ) -> tuple[ShapedArray, ...]:
        """Return the program's output types."""
        return call_jaxpr.out_avals

    def programs(
        self,
        avals: Sequence,
        outs: Sequence,
        **params: Any,
    ) -> Sequence[tuple]:
        """Return the program, which takes the operands and returns the results."""
        return [(params["call_jaxpr"], avals, outs)]

    def printed(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters, rules by their names."""
        shown = super().printed(params)
        return {key: getattr(value, "__name__", value) for key, value in shown.items()}

    def stage(self, trace: Any, args: Values, params: dict[str, Any]) -> tuple[Value, ...]:
        """Stage the function; what it captured becomes leading arguments."""
        program = params["call_jaxpr"]
        if not isinstance(program, Jaxpr):
            name = params["name"]
            avals = [typeof(x) for x in args]
            program = stage_flat(program, avals, name, DebugInfo(name))
            consts = program.consts
            args = (*consts, *args)
            n_consts = params["num_consts"] + len(consts)
            params = {**params, "call_jaxpr": program.lift_consts(), "num_consts": n_consts}
        return trace.emit(self, args, params)

    def decompose(self, *args: Value, call_jaxpr: Program, **params: Any) -> tuple[Value, ...]:
        """Call the function."""
        return tuple(call_program(call_jaxpr, args))

    def lower(
        self, b: Any, args: Sequence, outs: tuple, *, call_jaxpr: Jaxpr, **params: Any
    ) -> tuple:
        """Inline the program."""
        return b.inline(call_jaxpr, args)

    def hlo(
        self, b: Any, args: Sequence, outs: tuple, *, call_jaxpr: Jaxpr, **params: Any
    ) -> tuple:
        """Write the program in place."""
        return b.inline(call_jaxpr, args)
