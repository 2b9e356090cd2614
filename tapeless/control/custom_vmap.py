"""The `custom_vmap_call` primitive: a program with a batching rule of the user's.

    arguments   [ consts | leaves of the function's arguments ]     in_tree: (consts, arguments)
    rule        (axis size, which arguments are batched, *arguments) -> (result, which are batched)

The rule sees batches in front.  What the function captured is passed as `consts`, which the rule
does not see, so that they may not be batched.  Forward mode differentiates the program and the
rule; there is no partial evaluation, so reverse mode is refused: a batching rule says nothing about
the two halves of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tapeless.control.common import ProgramPrimitive, batch_to_front, join_tangents, nonzero_mask
from tapeless.core.aval import ShapedArray
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.linear import Zero, zero_tangent
from tapeless.core.primitive import Mask, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim_to, instantiate, is_float0
from tapeless.transforms.jvp import jvp_flat, jvp_jaxpr
from tapeless.tree.flatten import tree_flatten, tree_leaves, tree_structure, tree_unflatten
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.seqs import merge, select, split_at

__all__ = ["CustomVmap", "custom_vmap_call_p"]


class CustomVmap(ProgramPrimitive):
    """Call the program `call`; map it by `rule`.

    in_tree, out_tree: the trees of (consts, arguments) and of the result.
    """

    name = "custom_vmap_call"
    evaluated_in_python = True
    inline_program = True

    def abstract(self, *avals: ShapedArray, call: Jaxpr, **params: Any) -> tuple[ShapedArray, ...]:
        """Return the program's output types."""
        return call.out_avals

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return the program, which takes the operands and returns the results."""
        return [(params["call"], avals, outs)]

    def jvp(
        self, primals: Values, tangents: Sequence, *, call: Jaxpr, rule: Callable, **params: Any
    ) -> tuple:
        """Bind the program of values and tangents, with the derivative of the rule."""
        arguments, out_tree = params["in_tree"].children()[1], params["out_tree"]
        n_consts, n_outs = len(primals) - arguments.num_leaves, len(call.outvars)
        nonzero = nonzero_mask(tangents)
        inexact = tuple(not is_float0(aval.tangent()) for aval in call.out_avals)
        with_tangents, nonzero_out = jvp_jaxpr(call, nonzero, inexact)
        sizes = n_consts, arguments.num_leaves, sum(nonzero[:n_consts])

        def grouped(values: Sequence) -> list:
            """Sort (consts, arguments, tangents of both) into consts and arguments."""
            consts, args, const_tangents, arg_tangents = split_at(values, *sizes)
            return [[*consts, *const_tangents], [[*args], [*arg_tangents]]]

        consts, args = grouped([*primals, *select(tangents, nonzero)])
        outs = self.bind(
            *tree_leaves((consts, args)),
            call=with_tangents.replace(invars=tree_leaves(grouped(with_tangents.invars))),
            rule=differentiated(rule, arguments, out_tree, nonzero[n_consts:]),
            in_tree=tree_structure((consts, tuple(args))),
            out_tree=tree_structure(([0] * n_outs, [0] * sum(nonzero_out))),
        )
        return outs[:n_outs], join_tangents(outs[n_outs:], nonzero_out, call.out_avals)

    def batch(
        self, axis: Axis, args: Values, dims: Sequence, *, rule: Callable, **params: Any
    ) -> tuple:
        """Call the rule, and check the structure of what it returns."""
        n_consts = params["in_tree"].children()[0].num_leaves
        if any(dim is not None for dim in dims[:n_consts]):
            raise NotImplementedError("Batching custom_vmap functions over closed-over values.")
        arguments = params["in_tree"].children()[1]
        fronted = batch_to_front(args[n_consts:], dims[n_consts:])
        batched = [dim is not None for dim in dims[n_consts:]]
        result, out_batched = rule(
            axis.size, list(tree_unflatten(arguments, batched)), *tree_unflatten(arguments, fronted)
        )
        outs, flags = self.checked(rule, params["out_tree"], result, out_batched)
        return outs, tuple(0 if flag else None for flag in flags)

    def checked(
        self, rule: Callable, out_tree: PyTreeDef, result: Any, out_batched: Any
    ) -> tuple[list[Value], list[bool]]:
        """Return the leaves of a rule's result and which are batched, or raise ValueError."""
        outs, tree = tree_flatten(result)
        flags, flags_tree = tree_flatten(out_batched)
        name = getattr(rule, "__name__", str(rule))
        if tree != flags_tree:
            raise ValueError(
                "structure of output value and output batching specification returned by custom "
                f"vmap rule ({name}) do not match.\nOutput values: {tree}\nBatching spec: "
                f"{flags_tree}"
            )
        if tree != out_tree:
            raise ValueError(
                f"structure of output returned by custom vmap rule ({name}) does not match that "
                f"of original custom-vmapped function.\nOriginal output: {out_tree}\nRule output: "
                f"{tree}"
            )
        return outs, flags

    def split(self, unknown: Mask, **params: Any) -> NoReturn:
        """Refuse, in JAX's words, and say what to use instead."""
        raise ValueError(
            "Linearization failed to produce known values for all output primals. This is "
            "typically caused by attempting to differentiate a function uses an operation that "
            "does not support reverse-mode autodiff. (custom_vmap has no reverse mode: give the "
            "function a rule by jax.custom_vjp outside of it.)"
        )

    def decompose(self, *args: Value, call: Jaxpr, **params: Any) -> tuple[Value, ...]:
        """Evaluate the program."""
        return eval_jaxpr(call, call.consts, *args)

    def lower(self, b: Any, args: Sequence, outs: tuple, *, call: Jaxpr, **params: Any) -> tuple:
        """Inline the program."""
        return b.inline(call, args)

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, call: Jaxpr, **params: Any) -> tuple:
        """Write the program in place."""
        return b.inline(call, args)


def differentiated(
    rule: Callable, arguments: PyTreeDef, out_tree: PyTreeDef, nonzero: Mask
) -> Callable:
    """Return the rule of the program of values and tangents.

    nonzero: which arguments have tangents.  A value and its tangent are batched together.
    """

    def both(size: int, batched: list, primals: Sequence, tangents: Sequence) -> tuple:
        """Push tangents through the user's rule."""
        value_flags, rest = list(batched[0]), iter(batched[1])
        given_flags = [next(rest) if flag else False for flag in nonzero]
        flags = [a or b for a, b in zip(value_flags, given_flags, strict=True)]
        values = [
            batch_dim_to(x, 0 if own else None, 0, size) if flag else x
            for x, own, flag in zip(primals, value_flags, flags, strict=True)
        ]
        moved = [
            batch_dim_to(t, 0 if own else None, 0, size) if flag else t
            for t, own, flag in zip(
                tangents, select(given_flags, nonzero), select(flags, nonzero), strict=True
            )
        ]
        zeros = [zero_tangent(x) for x, flag in zip(values, nonzero, strict=True) if not flag]
        out_flags: list[bool] = []

        def flat(*leaves: Value) -> list[Value]:
            """Call the rule on flat arguments."""
            result, out = rule(
                size, list(tree_unflatten(arguments, flags)), *tree_unflatten(arguments, leaves)
            )
            outs, found = custom_vmap_call_p.checked(rule, out_tree, result, out)
            out_flags.extend(found)
            return outs

        outs, out_tangents = jvp_flat(flat, values, merge(nonzero, zeros, moved))
        kept = [type(t) is not Zero or not is_float0(t.aval) for t in out_tangents]
        pushed = [instantiate(t) for t in select(out_tangents, kept)]
        return (outs, pushed), (out_flags, select(out_flags, kept))

    both.__name__ = getattr(rule, "__name__", "rule")
    return both


custom_vmap_call_p = CustomVmap()
