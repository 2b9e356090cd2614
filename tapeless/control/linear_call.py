"""The `linear_call` primitive: a linear function with a transpose of the user's.

    arguments   [ residuals | linear arguments ]

It is linear in the second group alone: a tangent of a residual is refused.  `transpose` is a flat
function (residuals, cotangents) -> cotangents of the linear arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapeless.control.bodies import flatten_values, trace_body
from tapeless.control.common import ProgramPrimitive, batch_to_front, nonzero_mask
from tapeless.control.custom_rules import Rows
from tapeless.control.custom_vjp import batched_backward
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.linear import Linear
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import instantiate
from tapeless.transforms.batch import batch_jaxpr
from tapeless.transforms.stage import stage_flat
from tapeless.tree.flatten import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["LinearCall", "linear_call", "linear_call_p"]


class LinearCall(ProgramPrimitive):
    """Run `callee`, a program of (residuals, linear arguments); num_res: how many are residuals."""

    name = "linear_call"
    instrumented = False  # its program is looked at as a linear function
    evaluated_in_python = True
    inline_program = True

    def abstract(
        self, *avals: ShapedArray, callee: Jaxpr, **params: Any
    ) -> tuple[ShapedArray, ...]:
        """Return the program's output types."""
        return callee.out_avals

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return the program, which takes the operands and returns the results."""
        return [(params["callee"], avals, outs)]

    def jvp(self, primals: Values, tangents: Sequence, *, num_res: int, **params: Any) -> tuple:
        """Apply the function to the tangents of the linear arguments."""
        if any(nonzero_mask(tangents[:num_res])):
            raise AssertionError(
                "linear_call is linear in its linear arguments only: it cannot be differentiated "
                "by its residuals"
            )
        outs = self.bind(*primals, num_res=num_res, **params)
        moved = [*primals[:num_res], *map(instantiate, tangents[num_res:])]
        return outs, self.bind(*moved, num_res=num_res, **params)

    def transpose(
        self,
        cotangents: Sequence,
        args: Sequence,
        *,
        callee: Jaxpr,
        transpose: Callable,
        num_res: int,
    ) -> tuple:
        """Call the user's transpose; its own transpose is the function."""
        residuals = args[:num_res]
        cts = [instantiate(ct) for ct in cotangents]
        back = stage_flat(
            lambda *values: transpose(values[:num_res], values[num_res:]),
            [typeof(x) for x in (*residuals, *cts)],
            "linear_call",
        )

        def forwards(values: Sequence[Value], tangents: Sequence) -> Sequence[Value]:
            """Evaluate the function."""
            return eval_jaxpr(callee, callee.consts, *values, *map(instantiate, tangents))

        consts = back.consts

        def forwards_of(values: Sequence[Value], tangents: Sequence) -> Sequence[Value]:
            """Leave out what the transpose captured."""
            return forwards(values[len(consts) :], tangents)

        outs = self.bind(
            *consts,
            *residuals,
            *cts,
            callee=back.lift_consts(),
            transpose=forwards_of,
            num_res=len(consts) + num_res,
        )
        linear = args[num_res:]
        return (
            *(None,) * num_res,
            *[ct if type(x) is Linear else None for ct, x in zip(outs, linear, strict=True)],
        )

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        *,
        callee: Jaxpr,
        transpose: Callable,
        num_res: int,
    ) -> tuple:
        """Map the function and its transpose."""
        batched = tuple(dim is not None for dim in dims)
        mapped = batch_jaxpr(callee, axis, batched, (True,) * len(callee.outvars))[0]
        front = tuple(0 if flag else None for flag in batched)
        over = Rows(axis, None, self.name)
        over.batched, over.residual_dims = [True] * len(callee.outvars), front[:num_res]
        back = batched_backward(transpose, over, front[num_res:])
        outs = self.bind(
            *batch_to_front(args, dims), callee=mapped, transpose=back, num_res=num_res
        )
        return outs, (0,) * len(outs)

    def decompose(self, *args: Value, callee: Jaxpr, **params: Any) -> tuple[Value, ...]:
        """Evaluate the program."""
        return eval_jaxpr(callee, callee.consts, *args)

    def lower(self, b: Any, args: Sequence, outs: tuple, *, callee: Jaxpr, **params: Any) -> tuple:
        """Inline the program."""
        return b.inline(callee, args)

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, callee: Jaxpr, **params: Any) -> tuple:
        """Write the program in place."""
        return b.inline(callee, args)


linear_call_p = LinearCall()


def linear_call(
    fun: Callable, fun_transpose: Callable, residual_args: Any, linear_args: Any
) -> Any:
    """Return `fun(residual_args, linear_args)`, linear in the second, with a given transpose.

    fun_transpose: `(residual_args, cotangent of the result) -> cotangent of linear_args`.

    >>> linear_call(lambda r, x: x / r, lambda r, ct: ct / r, 2.0, 6.0)
    Array(3., dtype=float32, weak_type=True)
    """
    leaves, tree = flatten_values((residual_args, linear_args))
    body = trace_body(fun, tree, [typeof(leaf) for leaf in leaves], "linear_call")
    residual_tree, linear_tree = tree.children()
    n_consts = len(body.consts)
    linear_avals = [typeof(leaf) for leaf in tree_leaves(linear_args)]

    def transpose(residuals: Sequence[Value], cotangents: Sequence) -> list[Value]:
        """Call the user's transpose, and check what it returns."""
        given = tree_unflatten(residual_tree, residuals[n_consts:])
        cts = tree_unflatten(body.out_tree, [instantiate(ct) for ct in cotangents])
        results, out_tree = tree_flatten(fun_transpose(given, cts))
        if out_tree != linear_tree:
            raise TypeError(
                "transpose output pytree structure must match that of linear inputs, got output "
                f"structure {out_tree} and input structure {linear_tree}."
            )
        for result, aval in zip(results, linear_avals, strict=True):
            got = typeof(result)
            if (got.shape, got.dtype) != (aval.shape, aval.dtype):
                raise ValueError(
                    f"Expected cotangent type {aval.str_short(False)} but got "
                    f"{got.str_short(False)}"
                )
        return results

    outs = linear_call_p.bind(
        *body.consts,
        *leaves,
        callee=body.jaxpr,
        transpose=transpose,
        num_res=n_consts + residual_tree.num_leaves,
    )
    return tree_unflatten(body.out_tree, outs)
