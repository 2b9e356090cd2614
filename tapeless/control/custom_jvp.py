"""The `custom_jvp_call` primitive: a function with a derivative rule of the user's.

Its parameters are Python functions until it is staged: `call_jaxpr` is a flat function, or its
program once a staging trace has met it; `jvp` is the flat rule (primals, tangents) -> (outs,
tangents).  Forward mode calls the rule instead of looking inside.  Batching maps the function and
the rule; the results of a mapped call that depend on the row are batched, in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapeless.control.custom_rules import CustomCall, Program, Rows, call_program, known_arrays
from tapeless.core.aval import typeof
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Tag, Value
from tapeless.prims.common import instantiate
from tapeless.transforms.transpose import backward

__all__ = ["CustomJVP", "custom_jvp_call_p"]


class CustomJVP(CustomCall):
    """Call `call_jaxpr`; differentiate by `jvp`.

    num_consts: how many leading arguments are captured values, which the rule does not see.
    symbolic_zeros: whether the rule takes `Zero` tangents instead of arrays of zeros.
    """

    name = "custom_jvp_call"

    def jvp(
        self, primals: Values, tangents: Sequence, *, jvp: Callable, num_consts: int, **params: Any
    ) -> tuple:
        """Call the user's rule."""
        primals, tangents = primals[num_consts:], tangents[num_consts:]
        if not params["symbolic_zeros"]:
            tangents = [instantiate(tangent) for tangent in tangents]
        return jvp(known_arrays(primals), tangents)

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
        tag: Tag | None = None,
        **params: Any,
    ) -> tuple:
        """Map the function and the rule, which may have captured values of the batch `tag`."""
        n_consts = params["num_consts"]
        over = Rows(axis, tag, params["name"])

        def mapped(*inputs: Value) -> list[Value]:
            """Map the function."""
            return over.results(
                *over.run(lambda *rows: call_program(call_jaxpr, rows), inputs, dims)
            )

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

            found, found_dims = over.run(rule, [*primals, *given], [*own_dims, *tangent_dims])
            half = len(found) // 2
            outs = over.results(found[:half], found_dims[:half], found_dims[half:])
            return outs, over.results(found[half:], found_dims[half:])

        mapped_jvp.__name__ = jvp.__name__
        outs = self.bind(*args, call_jaxpr=mapped, jvp=mapped_jvp, **params)
        return outs, over.dims


custom_jvp_call_p = CustomJVP()
