"""The `custom_jvp_call` primitive: a function with a derivative rule of the user's.

Its parameters are Python functions until it is staged: `call_jaxpr` is a flat function, or its
program once a staging trace has met it; `jvp` is the flat rule (primals, tangents) -> (outs,
tangents).  Forward mode calls the rule instead of looking inside.  Batching maps the function and
the rule; all results of a mapped call are batched, in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapeless.control.common import ProgramPrimitive
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import DebugInfo, Jaxpr
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim_to, instantiate
from tapeless.transforms.batch import batch_flat
from tapeless.transforms.stage import stage_flat
from tapeless.transforms.transpose import backward

__all__ = ["CustomJVP", "call_program", "custom_jvp_call_p", "map_front"]

Program = Jaxpr | Callable[..., Sequence[Value]]


def call_program(program: Program, args: Sequence[Value]) -> Sequence[Value]:
    """Call a flat function, or evaluate the program that it was staged to."""
    if isinstance(program, Jaxpr):
        return eval_jaxpr(program, program.consts, *args)
    return program(*args)


def map_front(function: Callable, axis: Axis, args: Sequence[Value], dims: Sequence) -> list[Value]:
    """Map a flat function; all its results get the mapped axis in front."""
    outs, out_dims = batch_flat(function, axis, args, dims)
    return [batch_dim_to(out, dim, 0, axis.size) for out, dim in zip(outs, out_dims, strict=True)]


class CustomJVP(ProgramPrimitive):
    """Call `call_jaxpr`; differentiate by `jvp`.

    num_consts: how many leading arguments are captured values, which the rule does not see.
    symbolic_zeros: whether the rule takes `Zero` tangents instead of arrays of zeros.
    """

    name = "custom_jvp_call"
    hidden = {"num_consts": ...}
    evaluated_in_python = True
    inline_program = True

    def abstract(
        self, *avals: ShapedArray, call_jaxpr: Jaxpr, **params: Any
    ) -> tuple[ShapedArray, ...]:
        """Return the program's output types."""
        return call_jaxpr.out_avals

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return the program, which takes the operands and returns the results."""
        return [(params["call_jaxpr"], avals, outs)]

    def jvp(
        self, primals: Values, tangents: Sequence, *, jvp: Callable, num_consts: int, **params: Any
    ) -> tuple:
        """Call the user's rule."""
        primals, tangents = primals[num_consts:], tangents[num_consts:]
        if not params["symbolic_zeros"]:
            tangents = [instantiate(tangent) for tangent in tangents]
        return jvp(primals, tangents)

    def transpose(
        self, cotangents: Sequence, args: Sequence, *, call_jaxpr: Jaxpr, **params: Any
    ) -> tuple:
        """Transpose the function itself, when it is used as a linear one."""
        results = backward(call_jaxpr, call_jaxpr.consts, args, cotangents)
        return tuple(
            r if type(arg) is Linear else None for r, arg in zip(results, args, strict=True)
        )

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        *,
        call_jaxpr: Program,
        jvp: Callable,
        **params: Any,
    ) -> tuple:
        """Map the function and the rule."""
        n_consts = params["num_consts"]

        def mapped(*inputs: Value) -> list[Value]:
            """Map the function."""
            return map_front(lambda *rows: call_program(call_jaxpr, rows), axis, inputs, dims)

        def mapped_jvp(primals: Sequence[Value], tangents: Sequence) -> tuple:
            """Map the rule; a zero tangent stays one."""
            given = [t for t in tangents if type(t) is not Zero]
            own_dims = dims[n_consts:]
            tangent_dims = [
                d for d, t in zip(own_dims, tangents, strict=True) if type(t) is not Zero
            ]

            def rule(*rows: Value) -> list[Value]:
                """Call the rule on one row."""
                values, rest = rows[: len(primals)], iter(rows[len(primals) :])
                tans = [
                    Zero(typeof(v).tangent()) if type(t) is Zero else next(rest)
                    for v, t in zip(values, tangents, strict=True)
                ]
                outs, out_tangents = jvp(values, tans)
                return [*outs, *map(instantiate, out_tangents)]

            outs = map_front(rule, axis, [*primals, *given], [*own_dims, *tangent_dims])
            half = len(outs) // 2
            return outs[:half], outs[half:]

        mapped_jvp.__name__ = jvp.__name__
        outs = self.bind(*args, call_jaxpr=mapped, jvp=mapped_jvp, **params)
        return outs, (0,) * len(outs)

    def stage(self, trace: Any, args: Values, params: dict[str, Any]) -> tuple[Value, ...]:
        """Stage the function; what it captured becomes leading arguments."""
        program = params["call_jaxpr"]
        if not isinstance(program, Jaxpr):
            debug = DebugInfo(params["name"])
            program = stage_flat(program, [typeof(x) for x in args], params["name"], debug)
            args = (*program.consts, *args)
            n_consts = params["num_consts"] + len(program.consts)
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


custom_jvp_call_p = CustomJVP()
