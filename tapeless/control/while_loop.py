"""The `while` primitive: a loop that runs until its condition is false.

    arguments   [ cond consts | body consts | init carry ]
    cond        [ cond consts | carry ] -> one bool, or a bool per row of a batch
    body        [ body consts | carry ] -> carry

A batched condition has the shape of the batch: the loop runs while any row wants to, and rows that
are done keep their carry.  Forward mode carries tangents; reverse mode would need to store a number
of steps that is not known, and is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from typing import Any, NoReturn

import numpy as np

from tapeless.control.common import (
    ProgramPrimitive,
    batch_to_front,
    fixed_point,
    join_tangents,
    mapped_dims,
    none_of,
    nonzero_mask,
)
from tapeless.control.jit import jit_p
from tapeless.core.aval import ShapedArray
from tapeless.core.effects import CHECK, PROGRESS
from tapeless.core.jaxpr import Jaxpr, Var
from tapeless.core.primitive import Mask, Split, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim_to, instantiate
from tapeless.transforms.batch import batch_jaxpr
from tapeless.transforms.dce import dce_jaxpr
from tapeless.transforms.jvp import jvp_jaxpr
from tapeless.transforms.linearize import split_jaxpr
from tapeless.transforms.stage import stage_flat
from tapeless.util.seqs import invert, select, split_at

__all__ = ["While", "while_p"]

_COUNT = ShapedArray((), np.dtype(np.int32))  # of iterations, where the body asks for it


class While(ProgramPrimitive):
    """Run `body_jaxpr` on the carry while `cond_jaxpr` of it is true.

    cond_nconsts, body_nconsts: the sizes of the first two argument groups.
    """

    name = "while"

    def abstract(
        self, *avals: ShapedArray, body_jaxpr: Jaxpr, **params: Any
    ) -> tuple[ShapedArray, ...]:
        """Return the types of the carry."""
        return body_jaxpr.out_avals

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return the condition, which returns a bool or one a row, and the body."""
        consts, body_consts, carry = split_at(avals, params["cond_nconsts"], params["body_nconsts"])
        flag = params["cond_jaxpr"].out_avals[0].update(dtype=np.dtype(bool))
        return [
            (params["cond_jaxpr"], [*consts, *carry], [flag]),
            (params["body_jaxpr"], [*body_consts, *carry], carry),
        ]

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> tuple:
        """Carry the tangents of body consts and carry; the condition sees primals only."""
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        body = params["body_jaxpr"]
        _, nz_body, nz_init = split_at(nonzero_mask(tangents), n_cond, n_body)

        def step(carry: Mask) -> Mask:
            """Return which carries have tangents after a step."""
            return jvp_jaxpr(body, (*nz_body, *carry), carry)[1]

        nz_carry = fixed_point(step, tuple(nz_init))
        tangent_body, _ = jvp_jaxpr(body, (*nz_body, *nz_carry), nz_carry)
        cond_consts, body_consts, init = split_at(primals, n_cond, n_body)
        _, t_body, t_init = split_at(tangents, n_cond, n_body)
        t_body = select(t_body, nz_body)
        t_init = [instantiate(t) for t in select(t_init, nz_carry)]
        n_carry = len(init)
        consts_in, carry_in, t_consts_in, t_carry_in = split_at(
            tangent_body.invars, n_body, n_carry, len(t_body)
        )
        invars = (*consts_in, *t_consts_in, *carry_in, *t_carry_in)
        carried = select(body.out_avals, nz_carry)
        new = {
            "cond_jaxpr": _with_extra_carry(params["cond_jaxpr"], carried),
            "body_jaxpr": tangent_body.replace(invars=invars),
            "body_nconsts": n_body + len(t_body),
        }
        outs = self.bind(*cond_consts, *body_consts, *t_body, *init, *t_init, **{**params, **new})
        return outs[:n_carry], join_tangents(outs[n_carry:], nz_carry, body.out_avals)

    def transpose(self, cotangents: Sequence, args: Sequence, **params: Any) -> NoReturn:
        """Refuse, in JAX's words, and add what to use instead."""
        error = ValueError(
            "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
            "dynamic start/stop values. "
            "Try using lax.scan, or using fori_loop with static start/stop."
        )
        error.add_note(
            "A lax.scan up to a bound that freezes its carry once the condition is false has the "
            "same values and can be differentiated; "
            "jax.custom_vjp can give the loop a gradient."
        )
        raise error

    def batch(self, axis: Axis, args: Values, dims: Sequence, **params: Any) -> tuple:
        """Run until all rows are done; a batched condition makes the whole carry batched."""
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond, body = params["cond_jaxpr"], params["body_jaxpr"]
        batched = tuple(dim is not None for dim in dims)
        b_cond, b_body, b_init = split_at(batched, n_cond, n_body)
        # Axes of the condition lead those of the carry: an axis of the one is one of the other.
        has_rows = bool(cond.out_avals[0].shape)

        def step(carry: Mask) -> Mask:
            """Return which carries are batched after a step."""
            grown = batch_jaxpr(body, axis, (*b_body, *carry), carry)[1]
            is_needed = has_rows and any(grown)
            if is_needed or batch_jaxpr(cond, axis, (*b_cond, *carry), (False,))[1][0]:
                return (True,) * len(carry)
            return grown

        b_carry = fixed_point(step, tuple(b_init))
        forced = (has_rows and any(b_carry),)
        new = {
            "cond_jaxpr": batch_jaxpr(cond, axis, (*b_cond, *b_carry), forced)[0],
            "body_jaxpr": batch_jaxpr(body, axis, (*b_body, *b_carry), b_carry)[0],
        }
        is_batched = bool(new["cond_jaxpr"].out_avals[0].shape)
        if is_batched and not all(each.batchable for each in cond.effects | body.effects):
            raise NotImplementedError(
                "Unordered IO effects not supported in while_loop with batched predicate. Rows "
                "that are done go on with the others. To fix this, call io_callback outside of the "
                "loop, or use lax.map."
            )
        n_consts = n_cond + n_body
        consts = batch_to_front(args[:n_consts], dims[:n_consts])
        init = list(args[n_consts:])
        for position, dim in enumerate(dims[n_consts:]):
            if b_carry[position]:
                init[position] = batch_dim_to(init[position], dim, 0, axis.size)
        outs = self.bind(*consts, *init, **{**params, **new})
        return outs, mapped_dims(b_carry)

    def split(self, unknown: Mask, **params: Any) -> Split | None:
        """Run the known carries in a loop of their own, and everything again in the other."""
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond, body = params["cond_jaxpr"], params["body_jaxpr"]
        u_cond, u_body, u_init = split_at(unknown, n_cond, n_body)

        def step(carry: Mask) -> Mask:
            """Return which carries are unknown after a step."""
            if split_jaxpr(cond, (*u_cond, *carry), (False,)).unknown_outputs[0]:
                return (True,) * len(carry)
            return split_jaxpr(body, (*u_body, *carry), carry).unknown_outputs

        u_carry = fixed_point(step, tuple(u_init))
        if all(u_carry):
            return None
        known = self._known_half(unknown, u_carry, params)
        avals = [*cond.in_avals[:n_cond], *body.in_avals]

        def again(*args: Value) -> list[Value]:
            """Run the whole loop for its unknown results."""
            return select(self.bind(*args, **params), u_carry)

        staged = stage_flat(again, avals, "while")
        return Split(
            (jit_p, {"name": "known", "jaxpr": known, "inline": True}),
            (jit_p, {"name": "while", "jaxpr": staged, "inline": True}),
            u_carry,
            0,
            tuple(range(len(avals))),
        )

    def _known_half(self, unknown: Mask, u_carry: Mask, params: dict) -> Jaxpr:
        """Return the program of the loop over the known carries alone."""
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond, body = params["cond_jaxpr"], params["body_jaxpr"]
        u_cond, u_body, u_init = split_at(unknown, n_cond, n_body)
        kept = [not flag for flag in u_carry]
        body_halves = split_jaxpr(body, (*u_body, *u_carry), u_carry)
        n_outs = sum(kept)
        known_body = body_halves.known.replace(outvars=body_halves.known.outvars[:n_outs])
        known_cond = split_jaxpr(cond, (*u_cond, *u_carry), (False,)).known
        avals = [*cond.in_avals[:n_cond], *body.in_avals]
        in_avals = select(avals, invert(unknown))
        n_known_cond, n_known_body = n_cond - sum(u_cond), n_body - sum(u_body)
        starts = select(kept, invert(u_init))

        def run(*args: Value) -> tuple[Value, ...]:
            """Run the loop over the known carries."""
            consts, init = split_at(args, n_known_cond + n_known_body)
            return self.bind(
                *consts,
                *select(init, starts),
                cond_jaxpr=known_cond,
                body_jaxpr=known_body,
                cond_nconsts=n_known_cond,
                body_nconsts=n_known_body,
            )

        return stage_flat(run, in_avals, "while")

    def dce(self, used: Mask, n_inputs: int, **params: Any) -> tuple:
        """Drop carries that neither the condition nor a used carry needs."""
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond, body = params["cond_jaxpr"], params["body_jaxpr"]
        keep = (True,) * n_cond
        nothing = none_of(body.invars)
        _, cond_needs = dce_jaxpr(cond, (True,), none_of(cond.invars))
        start = tuple(map(operator.or_, used, cond_needs[n_cond:]))

        def step(carry: Mask) -> Mask:
            """Return the carries that a step needs for the carries `carry`."""
            _, needed = dce_jaxpr(body, carry, nothing)
            return needed[n_body:]

        kept = fixed_point(step, start)
        new_body, needed = dce_jaxpr(body, kept, (*nothing[:n_body], *kept))
        new = {
            "cond_jaxpr": cond.replace(invars=select(cond.invars, (*keep, *kept))),
            "body_jaxpr": new_body,
            "body_nconsts": sum(needed[:n_body]),
        }
        return (*keep, *needed), {**params, **new}, kept

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple[ShapedArray, ...],
        **params: Any,
    ) -> tuple:
        """Write a native loop; of a batched condition, any row keeps it running."""
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond, body = params["cond_jaxpr"], params["body_jaxpr"]
        cond_consts, body_consts, init = split_at(args, n_cond, n_body)
        count = [b.constant(0, _COUNT)] if {CHECK, PROGRESS} & body.effects else []
        carry, counts = b.carries(init), b.carries(count)
        batch_shape = cond.out_avals[0].shape

        def condition() -> Any:
            """Return whether any row goes on."""
            (flag,) = b.inline(cond, [*cond_consts, *b.read_carries(carry)])
            if not batch_shape:
                return flag.at()
            return b.any_element(flag)

        def step() -> None:
            """Write one iteration; rows that are done keep their carry."""
            old = b.read_carries(carry)
            if batch_shape:
                b.keep(old)
            with ExitStack() as numbered:
                for number in b.read_carries(counts):
                    numbered.enter_context(b.iteration(number.at()))
                new = b.inline(body, [*body_consts, *old])
            if batch_shape:
                (flag,) = b.inline(cond, [*cond_consts, *old])
                new = [b.where_rows(flag, x, y) for x, y in zip(new, old, strict=True)]
            b.update_carries(carry, new)
            b.update_carries(counts, [_next(b, number) for number in b.read_carries(counts)])

        with b.numbered_loop(lambda: b.read_carries(counts)[0].at()) if count else nullcontext():
            b.while_loop(condition, step)
        return tuple(b.read_carries(carry))

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple[ShapedArray, ...],
        **params: Any,
    ) -> tuple:
        """Write a loop; with a batched condition while any row goes on, selecting row by row."""
        cond, body = params["cond_jaxpr"], params["body_jaxpr"]
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, body_consts, init = split_at(args, n_cond, n_body)
        flag_aval = cond.out_avals[0]

        def condition(*carry: Any) -> Any:
            """Tell whether any row goes on."""
            (flag,) = b.inline(cond, [*cond_consts, *carry])
            if not flag_aval.shape:
                return flag
            axes = range(flag_aval.ndim)
            return b.reduce("stablehlo.or", flag, False, axes, flag_aval.update(shape=()))

        def step(*carry: Any) -> list:
            """Make one step; rows that are done keep their carry."""
            new = b.inline(body, [*body_consts, *carry])
            if not flag_aval.shape:
                return new
            (flag,) = b.inline(cond, [*cond_consts, *carry])
            return [b.select_rows(flag, x, y) for x, y in zip(new, carry, strict=True)]

        return b.while_loop(init, condition, step)


def _next(b: Any, count: Any) -> Any:
    """Return the count of iterations after one more."""
    return b.virtual(_COUNT, lambda index: b.add(count.at(), b.const(1, _COUNT.dtype)))


def _with_extra_carry(cond: Jaxpr, tangents: Sequence[ShapedArray]) -> Jaxpr:
    """Return the condition with further carries that it does not look at."""
    extra = [Var(aval.tangent()) for aval in tangents]
    debug = type(cond.debug)(cond.debug.function)
    return cond.replace(invars=(*cond.invars, *extra), debug=debug)


while_p = While()
