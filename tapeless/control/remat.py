"""The `remat2` primitive: a program whose intermediates are computed again in the backward pass.

It is the split of a program with its residuals replaced by its inputs: the known half runs and
returns the known outputs alone, and the staged half holds the whole computation of what it needs.
A policy names operations whose results are kept all the same; the staged half starts from them.

The compiler keeps the program apart (it shares no computation with its surroundings), or else the
two copies would be merged and nothing would be saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.control.common import (
    ProgramPrimitive,
    join_tangents,
    lift_tracers,
    linear_mask,
    none_of,
    nonzero_mask,
    transposed_results,
)
from tapeless.control.jit import IN_PLACE, jit_p
from tapeless.core.aval import ShapedArray
from tapeless.core.effects import NO_EFFECTS
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Eqn, Jaxpr, Var
from tapeless.core.primitive import Mask, Split, Values
from tapeless.core.source import Source
from tapeless.core.trace import Axis, Value
from tapeless.prims.convert import reduce_precision_p
from tapeless.transforms.batch import batch_jaxpr_at
from tapeless.transforms.dce import dce_jaxpr
from tapeless.transforms.jvp import jvp_jaxpr
from tapeless.transforms.linearize import SplitJaxpr, split_jaxpr
from tapeless.transforms.transpose import transpose_jaxpr
from tapeless.util.seqs import invert, select

__all__ = ["Remat", "remat_p", "saveable"]

Policy = Callable[..., bool]


class Remat(ProgramPrimitive):
    """Run `jaxpr`; when differentiated, store its inputs instead of its intermediates.

    policy: None, or a function (primitive, *avals, **params) -> bool that names results to store.
    differentiated: True in the copy that the backward pass runs.
    """

    name = "remat2"

    def with_captured(self, args: tuple, params: dict) -> tuple[tuple, dict]:
        """Return the tracers that the program captured as its first operands."""
        jaxpr, captured = lift_tracers(params["jaxpr"])
        return ((*captured, *args), {**params, "jaxpr": jaxpr}) if captured else (args, params)

    def abstract(self, *avals: ShapedArray, jaxpr: Jaxpr, **params: Any) -> tuple[ShapedArray, ...]:
        """Return the program's output types."""
        return jaxpr.out_avals

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return the program, which takes the operands and returns the results."""
        return [(params["jaxpr"], avals, outs)]

    def jvp(self, primals: Values, tangents: Sequence, *, jaxpr: Jaxpr, **params: Any) -> tuple:
        """Bind the program of values and tangents."""
        nonzero = nonzero_mask(tangents)
        n_outs = len(jaxpr.outvars)
        given = select(tangents, nonzero)
        with_tangents, nonzero_out = jvp_jaxpr(jaxpr, nonzero, none_of(jaxpr.outvars))
        outs = self.bind(*primals, *given, jaxpr=with_tangents, **params)
        return outs[:n_outs], join_tangents(outs[n_outs:], nonzero_out, jaxpr.out_avals)

    def transpose(
        self, cotangents: Sequence, args: Sequence, *, jaxpr: Jaxpr, **params: Any
    ) -> tuple:
        """Bind the program that computes what it needs again and then runs backwards."""
        linear = linear_mask(args)
        nonzero = nonzero_mask(cotangents)
        back, returned = transpose_jaxpr(jaxpr, linear, nonzero)
        values = select(args, invert(linear))
        given = select(cotangents, nonzero)
        outs = self.bind(*values, *given, jaxpr=back, **params)
        return transposed_results(outs, linear, returned, args)

    def batch(
        self, axis: Axis, args: Values, dims: Sequence, *, jaxpr: Jaxpr, **params: Any
    ) -> tuple:
        """Bind the program over batches."""
        mapped, out_dims = batch_jaxpr_at(jaxpr, axis, tuple(dims))
        return self.bind(*args, jaxpr=mapped, **params), out_dims

    def split(self, unknown: Mask, *, jaxpr: Jaxpr, policy: Policy | None, **params: Any) -> Split:
        """Run the known half without storing its residuals; stage the whole."""
        unrepeatable = [effect for effect in jaxpr.effects if not effect.replayable]
        if unrepeatable:
            raise NotImplementedError(
                f"Effects not supported in AD of `checkpoint`/`remat`: {unrepeatable}"
            )
        halves = split_jaxpr(jaxpr, unknown, none_of(jaxpr.outvars))
        known = halves.known
        n_outs = len(known.outvars) - len(halves.residual_avals)
        may_save = saveable(known, policy)
        staged = _staged_program(halves, may_save)
        staged, needed = dce_jaxpr(staged, (True,) * len(staged.outvars), none_of(staged.invars))
        saved = select(may_save, needed[: len(may_save)])
        n_saved = len(saved)
        outvars = (*known.outvars[:n_outs], *saved)
        everything = (True,) * len(outvars), (True,) * len(known.invars)
        kept, _ = dce_jaxpr(known.replace(outvars=outvars), *everything)
        kept = _rounded(kept, kept.outvars[n_outs:])
        known_inputs = [n_saved + i for i, flag in enumerate(unknown) if not flag]
        unknown_inputs = [n_saved + i for i, flag in enumerate(unknown) if flag]
        inputs = select([*known_inputs, *unknown_inputs], needed[len(may_save) :])
        positions = [*range(n_saved), *inputs]
        staged_params = {**params, "jaxpr": staged, "policy": policy, "differentiated": True}
        return Split(
            (jit_p, {"name": "checkpoint", "jaxpr": kept, "inline": IN_PLACE}),
            (self, staged_params),
            halves.unknown_outputs,
            n_saved,
            tuple(positions),
        )

    def dce(self, used: Mask, n_inputs: int, *, jaxpr: Jaxpr, **params: Any) -> tuple:
        """Shrink the program."""
        shrunk, needed = dce_jaxpr(jaxpr, used, (False,) * n_inputs)
        return needed, {**params, "jaxpr": shrunk}, used

    def decompose(self, *args: Value, jaxpr: Jaxpr, **params: Any) -> tuple[Value, ...]:
        """Evaluate the program by its equations."""
        return eval_jaxpr(jaxpr, jaxpr.consts, *args)

    def lower(self, b: Any, args: Sequence, outs: tuple, *, jaxpr: Jaxpr, **params: Any) -> tuple:
        """Inline the program; nothing is shared with what surrounds it."""
        return b.inline(jaxpr, args)

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, jaxpr: Jaxpr, **params: Any) -> tuple:
        """Write the program in place; the copy in a backward pass is kept apart from the first."""
        if params["differentiated"] and params.get("prevent_cse", True) and args:
            args = b.op("stablehlo.optimization_barrier", args, [arg.aval for arg in args])
        return b.inline(jaxpr, args, ("checkpoint",))


def saveable(jaxpr: Jaxpr, policy: Policy | None) -> list[Var]:
    """Return the variables of a program whose values the policy keeps."""
    if policy is None:
        return []
    saved: list[Var] = []
    for eqn in jaxpr.eqns:
        avals = [atom.aval for atom in eqn.invars]
        answer = policy(eqn.primitive, *avals, **eqn.params)
        if not isinstance(answer, bool):
            raise TypeError(
                "Value returned by a remat policy should be a bool or `ad_checkpoint.Recompute`, "
                "`ad_checkpoint.Saveable` or `ad_checkpoint.Offloadable(...)`. Got "
                f"{answer} of type {type(answer)}."
            )
        if answer:
            saved.extend(eqn.outvars)
    return saved


def _rounded(known: Jaxpr, saved: Sequence[Any]) -> Jaxpr:
    """Round to its own precision each saved value that the known half uses itself.

    A compiler that computes in a wider format would else save another value than the one it uses.
    """
    used = {atom for eqn in known.eqns for atom in eqn.invars}
    wanted = used.intersection(saved)
    names: dict[Any, Any] = {}
    eqns: list[Eqn] = []
    for eqn in known.eqns:
        invars = [names.get(atom, atom) for atom in eqn.invars]
        eqns.append(eqn.replace(invars=invars))
        for var in eqn.outvars:
            if var in wanted and dtypes.issubdtype(var.aval.dtype, np.floating):
                names[var] = Var(var.aval)
                eqns.append(_rounding(var, names[var], eqn))
    outvars = [names.get(atom, atom) for atom in known.outvars]
    return known.replace(eqns=eqns, outvars=outvars)


def _rounding(var: Var, rounded: Var, eqn: Eqn) -> Eqn:
    """Return the equation that rounds a result of `eqn` to the precision that it has."""
    info = dtypes.finfo(var.aval.dtype)
    params = {
        "exponent_bits": info.nexp,
        "mantissa_bits": info.nmant,
    }
    return Eqn(
        reduce_precision_p,
        (var,),
        (rounded,),
        params,
        NO_EFFECTS,
        eqn.source,
    )


def _staged_program(halves: SplitJaxpr, saved: Sequence[Var]) -> Jaxpr:
    """Return (*saved, *known, *unknown inputs) -> unknown outputs, all else computed again."""
    known, staged = halves.known, halves.staged
    n_residuals = len(halves.residual_avals)
    residuals = known.outvars[len(known.outvars) - n_residuals :]
    given = set(saved)
    again = [
        eqn for eqn in known.eqns if eqn.effects or not all(var in given for var in eqn.outvars)
    ]
    # A variable that is saved is an input now; an equation that also makes others makes a copy.
    again = [_computed_again(_rename_outputs(eqn, given)) for eqn in again]
    renamed = dict(zip(staged.invars[:n_residuals], residuals, strict=True))
    rest = [
        eqn.replace(
            invars=tuple(
                renamed.get(atom, atom) if type(atom) is Var else atom for atom in eqn.invars
            )
        )
        for eqn in staged.eqns
    ]
    outs = [renamed.get(atom, atom) if type(atom) is Var else atom for atom in staged.outvars]
    # Halves share constants.
    constants = dict(zip(known.constvars, known.consts, strict=True))
    constants |= zip(staged.constvars, staged.consts, strict=True)
    return Jaxpr(
        tuple(constants),
        (*saved, *known.invars, *staged.invars[n_residuals:]),
        outs,
        (*again, *rest),
        tuple(constants.values()),
        type(known.debug)(known.debug.function),
    )


def _computed_again(eqn: Eqn) -> Eqn:
    """Return the equation with a name stack that tells the copy from the first."""
    source = eqn.source
    return eqn.replace(source=Source(source.frame, ("rematted_computation", *source.names)))


def _rename_outputs(eqn: Eqn, given: set[Var]) -> Eqn:
    """Return the equation with fresh names for the outputs that are given from outside."""
    if not any(var in given for var in eqn.outvars):
        return eqn
    return eqn.replace(outvars=tuple(Var(v.aval) if v in given else v for v in eqn.outvars))


remat_p = Remat()
