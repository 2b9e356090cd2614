"""The `cond` primitive: run one of several programs.

    arguments   [ index | operands ]      index: int32, within range (the user functions clamp it)
    branches    [ operands ] -> results   all of the same types

With an index that is the same for the whole batch it stays a branch.  With one index per row every
branch runs for all rows and `select_n` picks; rows that a branch is not for pass through
`stop_gradient` in its operands, so that a derivative of theirs that is not finite does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tapeless.control.common import (
    ProgramPrimitive,
    batch_to_front,
    by_cotangents,
    join_tangents,
    linear_mask,
    mapped_dims,
    none_of,
    nonzero_mask,
    transposed_results,
)
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.effects import Effect
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.primitive import Mask, Split, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim_to
from tapeless.prims.compare import eq
from tapeless.prims.create import empty_of
from tapeless.prims.identity import stop_gradient_p
from tapeless.prims.select import select_n
from tapeless.prims.structural import broadcast_in_dim
from tapeless.transforms.batch import batch_jaxpr
from tapeless.transforms.dce import dce_jaxpr
from tapeless.transforms.jvp import jvp_jaxpr
from tapeless.transforms.linearize import SplitJaxpr, split_jaxpr
from tapeless.transforms.stage import stage_jaxpr
from tapeless.transforms.transpose import transpose_jaxpr
from tapeless.util.seqs import invert, select, split, split_at

__all__ = ["Cond", "cond_p"]


class Cond(ProgramPrimitive):
    """Run `branches[index]` on the operands."""

    name = "cond"

    def abstract(self, *avals: ShapedArray, branches: tuple[Jaxpr, ...], **params: Any) -> tuple:
        """Return the types of the results."""
        return branches[0].out_avals

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return the branches, which take all operands but the index and return the results."""
        return [(branch, avals[1:], outs) for branch in params["branches"]]

    def jvp(
        self,
        primals: Values,
        tangents: Sequence,
        *,
        branches: tuple,
        **params: Any,
    ) -> tuple:
        """Branch between the programs of values and tangents."""
        nonzero = nonzero_mask(tangents)[1:]
        n_outs = len(branches[0].outvars)
        none = none_of(branches[0].outvars)
        out = _union(jvp_jaxpr(branch, nonzero, none)[1] for branch in branches)
        with_tangents = tuple(jvp_jaxpr(branch, nonzero, out)[0] for branch in branches)
        given = select(tangents[1:], nonzero)
        results = self.bind(*primals, *given, branches=with_tangents, **params)
        outs, out_tangents = split_at(results, n_outs)
        return outs, join_tangents(out_tangents, out, branches[0].out_avals)

    def transpose(
        self, cotangents: Sequence, args: Sequence, *, branches: tuple, **params: Any
    ) -> tuple:
        """Branch between the programs that run backwards."""
        index, *operands = args
        linear = linear_mask(operands)
        nonzero = nonzero_mask(cotangents)
        returned = _union(transpose_jaxpr(branch, linear, nonzero)[1] for branch in branches)
        back = tuple(transpose_jaxpr(branch, linear, nonzero, returned)[0] for branch in branches)
        values = select(operands, invert(linear))
        given = select(cotangents, nonzero)
        back = tuple(by_cotangents(program, given) for program in back)
        outs = self.bind(index, *values, *given, branches=back, **params)
        return (None, *transposed_results(outs, linear, returned, operands))

    def batch(
        self, axis: Axis, args: Values, dims: Sequence, *, branches: tuple, **params: Any
    ) -> tuple:
        """Stay a branch if all rows agree; otherwise run all and select."""
        index, *operands = args
        n_outs = len(branches[0].outvars)
        self._refuse(branches, is_batched=dims[0] is not None)
        if dims[0] is None:
            batched = tuple(dim is not None for dim in dims[1:])
            none = none_of(branches[0].outvars)
            out = _union(batch_jaxpr(branch, axis, batched, none)[1] for branch in branches)
            mapped = tuple(batch_jaxpr(branch, axis, batched, out)[0] for branch in branches)
            fronted = batch_to_front(operands, dims[1:])
            outs = self.bind(index, *fronted, branches=mapped, **params)
            return outs, mapped_dims(out)
        return self._batch_by_select(axis, args, dims, branches), (0,) * n_outs

    def _refuse(self, branches: tuple, is_batched: bool) -> None:
        """Raise for effects that rows cannot have, or not those that take another branch."""
        effects = frozenset[Effect]().union(*(branch.effects for branch in branches))
        if any(not each.batchable and (is_batched or each.ordered) for each in effects):
            raise NotImplementedError(
                "IO effect not supported in vmap-of-cond. All branches run where rows differ. "
                "To fix this, call io_callback outside of the branches, or use lax.map."
            )

    def _batch_by_select(
        self, axis: Axis, args: Values, dims: Sequence, branches: tuple
    ) -> list[Value]:
        """Run every branch for all rows and select row by row."""
        fronted = []
        for x, dim in zip(args, dims, strict=True):
            fronted.append(batch_dim_to(x, dim, 0, axis.size))
        index, *operands = fronted
        everything = (True,) * len(operands), (True,) * len(branches[0].outvars)
        results = []
        for number, branch in enumerate(branches):
            mine = eq(index, np.int32(number))
            inputs = [_choose(mine, stop_gradient_p.bind(x)[0], x) for x in operands]
            mapped, _ = batch_jaxpr(branch, axis, *everything)
            results.append(eval_jaxpr(mapped, mapped.consts, *inputs))
        return [_choose(index, *cases) for cases in zip(*results, strict=True)]

    def split(self, unknown: Mask, *, branches: tuple, **params: Any) -> Split | None:
        """Branch twice: once for what is known, once for the rest."""
        if unknown[0]:
            return None
        inputs = unknown[1:]
        none = none_of(branches[0].outvars)
        out = _union(split_jaxpr(branch, inputs, none).unknown_outputs for branch in branches)
        halves = [split_jaxpr(branch, inputs, out) for branch in branches]
        slots = ResidualSlots(halves)
        known = tuple(slots.pad_known(number) for number in range(len(branches)))
        known_operands, unknown_operands = split(range(len(inputs)), inputs)
        n_known = len(known_operands)
        staged = tuple(slots.pad_staged(number, n_known) for number in range(len(branches)))
        n_residuals = len(slots.avals)
        first = n_residuals + 1
        operands = [first + i for i in (*known_operands, *unknown_operands)]
        positions = (n_residuals, *range(n_residuals), *operands)
        return Split(
            (self, {"branches": known, **params}),
            (self, {"branches": staged, **params}),
            out,
            n_residuals,
            positions,
        )

    def dce(
        self,
        used: Mask,
        n_inputs: int,
        *,
        branches: tuple,
        **params: Any,
    ) -> tuple:
        """Shrink every branch to what is used; keep an operand if any branch needs it."""
        nothing = none_of(branches[0].invars)
        needed = _union(dce_jaxpr(branch, used, nothing)[1] for branch in branches)
        shrunk = tuple(dce_jaxpr(branch, used, needed)[0] for branch in branches)
        return (True, *needed), {"branches": shrunk, **params}, used

    def lower(
        self, b: Any, args: Sequence, outs: tuple, *, branches: tuple, **params: Any
    ) -> tuple:
        """Write a native switch; the branches store into common memory."""
        index, *operands = args
        return tuple(b.branches(index.at(), branches, operands, outs))

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, branches: tuple, **params: Any) -> tuple:
        """Write a `case` whose regions use the operands where they are."""
        index, *operands = args
        regions = []
        for number, branch in enumerate(branches):
            write = partial(b.inline, branch, operands)
            regions.append(b.region([], write, ("cond", f"branch_{number}_fun")))
        return b.op("stablehlo.case", [index], outs, {}, regions)


class ResidualSlots:
    """The residuals of all branches, in common slots by type.

    A branch that has no residual for a slot returns any values for it.  Residuals that are known
    operands take no slot: the operands are passed again.
    """

    def __init__(self, halves: Sequence[SplitJaxpr]) -> None:
        """Assign a slot to every computed residual."""
        self.halves = halves
        self.avals: list[ShapedArray] = []
        self.slot_of: list[list[int | None]] = []
        for half in halves:
            taken: set[int] = set()
            slots: list[int | None] = []
            for aval, source in zip(half.residual_avals, half.residual_inputs, strict=True):
                slots.append(None if source is not None else self.take(aval, taken))
            self.slot_of.append(slots)

    def take(self, aval: ShapedArray, taken: set[int]) -> int:
        """Return a free slot of this type for the branch that has `taken` some."""
        for number, other in enumerate(self.avals):
            if number not in taken and other is aval:
                taken.add(number)
                return number
        self.avals.append(aval)
        taken.add(len(self.avals) - 1)
        return len(self.avals) - 1

    def pad_known(self, number: int) -> Jaxpr:
        """Return the known program of a branch, its residuals sorted into the slots."""
        half = self.halves[number]
        n_outs = len(half.known.outvars) - len(half.residual_avals)

        def run(*args: Value) -> list[Value]:
            """Run the known program and fill the slots."""
            outs = eval_jaxpr(half.known, half.known.consts, *args)
            slots: list[Value] = [empty_of(aval) for aval in self.avals]
            for slot, value in zip(self.slot_of[number], outs[n_outs:], strict=True):
                if slot is not None:
                    slots[slot] = value
            return [*outs[:n_outs], *slots]

        return stage_jaxpr(run, half.known, half.known.in_avals, "split")

    def pad_staged(self, number: int, n_known: int) -> Jaxpr:
        """Return the staged program of a branch as (*slots, *known operands, *unknown operands)."""
        half = self.halves[number]
        n_slots = len(self.avals)

        def run(*args: Value) -> tuple[Value, ...]:
            """Pick the residuals and run the staged program."""
            slots, known, unknown = split_at(args, n_slots, n_known)
            residuals = []
            for slot, source in zip(self.slot_of[number], half.residual_inputs, strict=True):
                if slot is not None:
                    residuals.append(slots[slot])
                elif source is not None:
                    residuals.append(known[source])
            return eval_jaxpr(half.staged, half.staged.consts, *residuals, *unknown)

        unknown_avals = half.staged.in_avals[len(half.residual_avals) :]
        return stage_jaxpr(
            run, half.staged, [*self.avals, *half.known.in_avals, *unknown_avals], "split"
        )


def _union(masks: Any) -> Mask:
    """Return, per position, whether any mask is set."""
    return tuple(any(flags) for flags in zip(*masks, strict=True))


def _choose(which: Value, *cases: Value) -> Value:
    """Select rows: `which` (n,) is broadcast to the cases (n, ...)."""
    aval = typeof(cases[0])
    if aval.ndim > 1:
        which = broadcast_in_dim(which, aval.shape, (0,))
    return select_n(which, *cases)


cond_p = Cond()
