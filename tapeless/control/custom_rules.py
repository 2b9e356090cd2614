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
from tapeless.util.depth import nested

__all__ = [
    "CustomCall",
    "Program",
    "Rows",
    "call_program",
    "known_arrays",
]

Program = Jaxpr | Callable[..., Sequence[Value]]


def call_program(program: Program, args: Sequence[Value]) -> Sequence[Value]:
    """Call a flat function, or evaluate the program that it was staged to."""
    if isinstance(program, Jaxpr):
        return eval_jaxpr(program, program.consts, *args)
    with nested():
        return program(*args)


def known_arrays(args: Sequence[Value]) -> list[Value]:
    """Return arguments with arrays for Python's scalars, which programs have as literals."""
    plain = (bool, int, float, complex)
    return [Context.base.constant(x) if isinstance(x, plain) else x for x in args]


class Rows:
    """How the functions of one call are mapped over an axis.

    A result has the axis, in front, where the function that runs first depends on a row; the other
    functions follow it, since the call may have been staged by then.
    """

    def __init__(self, axis: Axis, tag: Tag | None, name: str) -> None:
        """tag: of the batch that what the functions captured may belong to.  name: the call's.

        batched, residual_dims: what is known of results and of a forward rule's residuals.
        """
        self.axis = axis
        self.tag = tag
        self.name = name
        self.batched: list[bool] = []
        self.residual_dims: Sequence[int | None] = ()

    @property
    def dims(self) -> tuple[int | None, ...]:
        """The mapped axes of the call's results."""
        return tuple([0 if flag else None for flag in self.batched])

    def run(self, function: Callable, args: Sequence[Value], dims: Sequence) -> tuple[list, list]:
        """Map a flat function; return its results and their mapped axes."""
        return batch_flat(function, self.axis, args, dims, self.tag)

    def results(self, outs: Sequence[Value], dims: Sequence, settled: Sequence = ()) -> list[Value]:
        """Return results, or their tangents, with the axis where the call's results have it.

        settled: further mapped axes, of the tangents; results with one have the axis as well.
        """
        given = zip(dims, settled or dims, strict=True)
        self.batched = self.batched or [dim is not None or more is not None for dim, more in given]
        return [self._result(*result) for result in zip(outs, dims, self.batched, strict=True)]

    def _result(self, out: Value, dim: int | None, batched: bool) -> Value:
        """Return one result; refuse one that depends on the row where that of the call does not."""
        if batched:
            return batch_dim_to(out, dim, 0, self.axis.size)
        if dim is None:
            return out
        raise TypeError(
            f"under vmap, {self.name} has a result of shape {typeof(out).shape[1:]} that is the "
            f"same for all rows, but a rule of {self.name} returns one for each of the "
            f"{self.axis.size} rows. Let the function depend on the mapped arguments that the rule "
            f"uses there, for example by adding `0 * y`."
        )


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
