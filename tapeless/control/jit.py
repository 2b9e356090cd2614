"""The `jit` primitive: a program as one equation.

Its parameter `jaxpr` may have constants (arrays that the function captured); captured tracers of
enclosing transformations have been made arguments by the caller.  Every rule transforms the program
and binds the result, so that `vmap(jit(f))`, `grad(jit(f))` and the like are compiled programs,
too.

The compiler inlines it; the run time compiles it whole when it is reached eagerly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.control.common import (
    ProgramPrimitive,
    by_cotangents,
    effects_of,
    join_tangents,
    linear_mask,
    none_of,
    nonzero_mask,
    transposed_results,
)
from tapeless.core.aval import ShapedArray
from tapeless.core.effects import Effects
from tapeless.core.interpret import eval_jaxpr, operand
from tapeless.core.jaxpr import Eqn, Jaxpr, Literal, Var
from tapeless.core.primitive import Mask, Primitive, Split, Values
from tapeless.core.source import Source, Walk
from tapeless.core.trace import Axis, Value, under
from tapeless.transforms.batch import batch_jaxpr_at
from tapeless.transforms.dce import dce_jaxpr
from tapeless.transforms.jvp import jvp_jaxpr
from tapeless.transforms.linearize import SplitJaxpr, split_jaxpr
from tapeless.transforms.stage import StageTrace, StageTracer
from tapeless.transforms.transpose import transpose_jaxpr
from tapeless.util.cache import weak_identity_cache
from tapeless.util.seqs import invert, select, split_at

__all__ = ["IN_PLACE", "Jit", "jit_p", "split_with_forwarding", "write_equations"]


# A value of `inline`: the program has this caller alone, so that its equations keep their lines.
IN_PLACE = "in place"


class Jit(ProgramPrimitive):
    """Run `jaxpr` on the arguments.

    name: the function's name, for printing.  jaxpr: the program, with constants.
    inline: whether staging writes the equations instead of one `jit` equation.
    donated_invars: which operands the user donates, () for none; keep_unused: as the user set it.
    Both are shown, and mean something to the outermost program only.
    """

    name = "jit"
    hidden = {"inline": ..., "donated_invars": (), "keep_unused": False}
    shares_names = True
    inline_program = True

    def abstract(self, *avals: ShapedArray, jaxpr: Jaxpr, **params: Any) -> tuple[ShapedArray, ...]:
        """Return the program's output types."""
        return jaxpr.out_avals

    def effects(self, *, jaxpr: Jaxpr, **params: Any) -> Effects:
        """Return the program's effects."""
        return effects_of(jaxpr)

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return the program, which takes the operands and returns the results."""
        return [(params["jaxpr"], avals, outs)]

    def jvp(self, primals: Values, tangents: Sequence, *, jaxpr: Jaxpr, **params: Any) -> tuple:
        """Bind the program of values and tangents."""
        nonzero = nonzero_mask(tangents)
        n_outs = len(jaxpr.outvars)
        given = select(tangents, nonzero)
        tangent_jaxpr, nonzero_out = jvp_jaxpr(jaxpr, nonzero, none_of(jaxpr.outvars))
        donated = params.pop("donated_invars", ())
        if any(donated):
            params["donated_invars"] = (*donated, *select(donated, nonzero))
        outs = self.bind(*primals, *given, jaxpr=tangent_jaxpr, **params)
        return outs[:n_outs], join_tangents(outs[n_outs:], nonzero_out, jaxpr.out_avals)

    def transpose(
        self, cotangents: Sequence, args: Sequence, *, jaxpr: Jaxpr, **params: Any
    ) -> tuple:
        """Bind the program that runs backwards."""
        linear = linear_mask(args)
        nonzero = nonzero_mask(cotangents)
        back, returned = transpose_jaxpr(jaxpr, linear, nonzero)
        values = select(args, invert(linear))
        given = select(cotangents, nonzero)
        params.pop("donated_invars", None)
        outs = self.bind(*values, *given, jaxpr=by_cotangents(back, given), **params)
        return transposed_results(outs, linear, returned, args)

    def batch(
        self, axis: Axis, args: Values, dims: Sequence, *, jaxpr: Jaxpr, **params: Any
    ) -> tuple:
        """Bind the program over batches."""
        mapped, out_dims = batch_jaxpr_at(jaxpr, axis, tuple(dims))
        return self.bind(*args, jaxpr=mapped, **params), out_dims

    def split(self, unknown: Mask, *, jaxpr: Jaxpr, **params: Any) -> Split:
        """Divide the program; a residual that is a known input is passed, not returned."""
        halves = split_jaxpr(jaxpr, unknown, none_of(jaxpr.outvars))
        return split_with_forwarding(self, halves, unknown, params)

    def dce(self, used: Mask, n_inputs: int, *, jaxpr: Jaxpr, **params: Any) -> tuple | None:
        """Shrink the program."""
        shrunk, needed = dce_jaxpr(jaxpr, used, (False,) * n_inputs)
        if shrunk is jaxpr:
            return None
        donated = params.pop("donated_invars", ())
        if any(donated):
            params["donated_invars"] = tuple(select(donated, needed))
        return needed, {**params, "jaxpr": shrunk}, used

    def stage(self, trace: Any, args: Values, params: dict[str, Any]) -> tuple[Value, ...]:
        """Write one equation, or the program's equations when `inline` is set."""
        if params.get("inline"):
            in_place = params["inline"] == IN_PLACE
            return under(trace, write_equations, trace, params["jaxpr"], args, in_place)
        return trace.emit(self, args, params)

    def decompose(self, *args: Value, jaxpr: Jaxpr, **params: Any) -> tuple[Value, ...]:
        """Evaluate the program by its equations."""
        return eval_jaxpr(jaxpr, jaxpr.consts, *args)

    def lower(self, b: Any, args: Sequence, outs: tuple, *, jaxpr: Jaxpr, **params: Any) -> tuple:
        """Inline the program."""
        return b.inline(jaxpr, args)

    def hlo(self, b: Any, args: Sequence, outs: tuple, *, jaxpr: Jaxpr, **params: Any) -> tuple:
        """Call the program's function."""
        return b.call(params["name"], jaxpr, args)


def write_equations(
    trace: StageTrace,
    jaxpr: Jaxpr,
    args: Values,
    keeps_sources: bool,
) -> tuple[Value, ...]:
    """Write the equations of a program into the one that `trace` builds; return the results.

    The operands have the types of the inputs, so that types, effects and parameters are copied.
    keeps_sources: whether equations come from where they did, or from the caller; they have the
    names of both.
    """
    env: dict[Any, Value] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    sources: dict[Any, Source] = {}
    with Walk() as walk:
        reach = walk.reach if keeps_sources else walk.reach_names
        for eqn in jaxpr.eqns:
            origin = eqn.source
            operands = [operand(x) if type(x) is Literal else env[x] for x in eqn.invars]
            if eqn.primitive.has_stage:  # which may write something else for these operands
                reach(origin)
                outs = trace.process(eqn.primitive, operands, eqn.params.copy())
            else:
                key = origin if keeps_sources else origin.names
                source = sources.get(key)
                if source is None:
                    reach(origin)
                    source = sources[key] = trace.sources.current()
                outs = _copied(trace, eqn, operands, source)
            env.update(zip(eqn.outvars, outs, strict=True))
    return tuple([operand(x) if type(x) is Literal else env[x] for x in jaxpr.outvars])


def _copied(
    trace: StageTrace,
    eqn: Eqn,
    operands: Values,
    source: Source,
) -> list[StageTracer]:
    """Write an equation with other operands of the same types; return its results."""
    atoms = list(map(trace.atom, operands))
    outvars = [Var(var.aval) for var in eqn.outvars]
    new = Eqn(eqn.primitive, atoms, outvars, eqn.params, eqn.effects, source)
    trace.builder.eqns.append(new)
    return [StageTracer(trace, var.aval, var, source) for var in outvars]


def split_with_forwarding(
    prim: Primitive, halves: SplitJaxpr, unknown: Mask, params: dict
) -> Split:
    """Return the split of a program whose residuals may be known inputs, or known outputs.

    Those are passed to the staged half directly.
    """
    n_known_outs = len(halves.known.outvars) - len(halves.residual_avals)
    outs, residuals = split_at(halves.known.outvars, n_known_outs)
    returned = {var: number for number, var in reversed([*enumerate(outs)])}
    computed = [
        number is None and var not in returned
        for number, var in zip(halves.residual_inputs, residuals, strict=True)
    ]
    kept = (*outs, *select(residuals, computed))
    known = _returning(halves.known, kept)
    n_residuals = sum(computed)
    known_inputs = [n_residuals + i for i, flag in enumerate(unknown) if not flag]
    unknown_inputs = [n_residuals + i for i, flag in enumerate(unknown) if flag]
    donated = params.pop("donated_invars", ())
    shown = {"donated_invars": tuple(select(donated, invert(unknown)))} if any(donated) else {}
    position = iter(range(n_residuals))
    first_output = n_residuals + len(unknown)
    residual_args = []
    for number, var, flag in zip(halves.residual_inputs, residuals, computed, strict=True):
        if flag:
            residual_args.append(next(position))
        elif number is not None:
            residual_args.append(known_inputs[number])
        else:
            residual_args.append(first_output + returned[var])
    return Split(
        (prim, {**params, **shown, "jaxpr": known}) if kept or known.effects else None,
        (prim, {**params, "jaxpr": halves.staged}),
        halves.unknown_outputs,
        n_residuals,
        (*residual_args, *unknown_inputs),
    )


@weak_identity_cache
def _returning(program: Jaxpr, outvars: tuple) -> Jaxpr:
    """Return the program with other results; the same program for the same ones."""
    return program.replace(outvars=outvars)


jit_p = Jit()
