"""The `scan` primitive: a loop with a carry, a known trip count, and stacked inputs and outputs.

    arguments   [ consts | init carry | xs ]          xs have a leading axis of `length`
    body        [ consts | carry | x ] -> [ carry | y ]
    results     [ final carry | ys ]                  ys have a leading axis of `length`

All rules follow one scheme: find, by a fixed point over the carry, which inputs take part; derive a
body by the pass of that name; sort its inputs and outputs back into the three groups; bind.

Residuals of the split are of three kinds.  What depends on consts alone is computed once, before
the
loop, and is a const of the staged loop; what is an input of the loop is passed again; only the rest
is stacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.control.common import (
    ProgramPrimitive,
    fixed_point,
    join_tangents,
    lift_tracers,
    linear_mask,
    mapped_dims,
    none_of,
    nonzero_mask,
)
from tapeless.control.jit import jit_p
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.jaxpr import Atom, Jaxpr, Var
from tapeless.core.linear import Linear
from tapeless.core.primitive import Mask, Split, Values
from tapeless.core.trace import Axis, Value
from tapeless.prims.common import batch_dim_to, instantiate, zeros
from tapeless.prims.convert import convert
from tapeless.transforms.batch import batch_jaxpr
from tapeless.transforms.dce import dce_jaxpr
from tapeless.transforms.jvp import jvp_jaxpr
from tapeless.transforms.linearize import SplitJaxpr, split_jaxpr
from tapeless.transforms.stage import stage_flat, stage_jaxpr
from tapeless.transforms.transpose import backward
from tapeless.util.cache import weak_identity_cache
from tapeless.util.seqs import invert, merge, select, split_at

__all__ = ["Scan", "scan_p"]


class Scan(ProgramPrimitive):
    """Run the body `jaxpr` `length` times.

    num_consts, num_carry: the sizes of the first two argument groups.
    reverse: run from the last slice to the first; slices and outputs keep their places.
    unroll: how many steps the compiler may write out; it does not change values.
    """

    name = "scan"

    def with_captured(self, args: tuple, params: dict) -> tuple[tuple, dict]:
        """Return the tracers that the body captured as its first constants."""
        jaxpr, captured = lift_tracers(params["jaxpr"])
        if not captured:
            return args, params
        n_consts = len(captured) + params["num_consts"]
        return (*captured, *args), {**params, "jaxpr": jaxpr, "num_consts": n_consts}

    def abstract(
        self, *avals: ShapedArray, jaxpr: Jaxpr, length: int, num_carry: int, **params: Any
    ) -> tuple[ShapedArray, ...]:
        """Return the carry types and the stacked output types."""
        carry, rows = split_at(jaxpr.out_avals, num_carry)
        ys = [row.update(shape=(length, *row.shape)) for row in rows]
        return (*carry, *ys)

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return the body: it takes consts, carry and slices, and returns the carry and slices."""
        sizes = params["num_consts"], params["num_carry"]
        consts, carry, xs = split_at(avals, *sizes)
        _, ys = split_at(outs, params["num_carry"])
        length = params["length"]
        if any(x.shape[:1] != (length,) for x in xs):
            raise TypeError(f"scan of length {length} has inputs of the types {xs}")
        x_rows = [x.update(shape=x.shape[1:]) for x in xs]
        y_rows = [y.update(shape=y.shape[1:]) for y in ys]
        in_avals = [*consts, *carry, *x_rows]
        out_avals = [*carry, *y_rows]
        return [(params["jaxpr"], in_avals, out_avals)]

    def jvp(
        self,
        primals: Values,
        tangents: Sequence,
        **params: Any,
    ) -> tuple:
        """Carry the tangents of consts, carry and slices through the loop."""
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        jaxpr = params["jaxpr"]
        none = none_of(jaxpr.outvars[n_carry:])
        n_ys = len(none)
        nz_consts, nz_init, nz_xs = split_at(nonzero_mask(tangents), n_consts, n_carry)

        def step(carry: Mask) -> Mask:
            """Return which carries have a tangent after a step."""
            mask = (*nz_consts, *carry, *nz_xs)
            _, nonzero = jvp_jaxpr(jaxpr, mask, (*carry, *none))
            return nonzero[:n_carry]

        nz_carry = fixed_point(step, tuple(nz_init))
        nonzero = (*nz_consts, *nz_carry, *nz_xs)
        body, nz_out = jvp_jaxpr(jaxpr, nonzero, (*nz_carry, *none))
        sizes = (n_consts, n_carry, len(nz_xs))
        tangent_sizes = (sum(nz_consts), sum(nz_carry), sum(nz_xs))
        body = _interleave(body, sizes, tangent_sizes)
        body = _interleave_outputs(body, (n_carry, n_ys), sum(nz_carry))
        given = [instantiate(tangent) for tangent in select(tangents, nonzero)]
        args = _by_group(primals, given, sizes, tangent_sizes)
        new = {
            "jaxpr": body,
            "num_consts": n_consts + sum(nz_consts),
            "num_carry": n_carry + sum(nz_carry),
        }
        outs = self.bind(*args, **{**params, **new})
        carry, carry_tangents, ys, ys_tangents = split_at(outs, n_carry, sum(nz_carry), n_ys)
        out_tangents = (*carry_tangents, *ys_tangents)
        avals = self.abstract(**params)
        return (*carry, *ys), join_tangents(out_tangents, nz_out, avals)

    def transpose(
        self,
        cotangents: Sequence,
        args: Sequence,
        **params: Any,
    ) -> tuple:
        """Run the loop backwards, accumulating the cotangents of linear consts."""
        linear = linear_mask(args)
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        carried = self.unknown_carries(linear, params)
        if not all(carried):
            return _transpose_after_split(self, cotangents, args, linear, params)
        lin_consts, lin_init, lin_xs = split_at(linear, n_consts, n_carry)
        ct_carry, ct_ys = split_at(cotangents, n_carry)
        nonzero_ys = nonzero_mask(ct_ys)
        # A carry may start at a value (zeros, mostly) and be linear all the same.
        in_body = (*lin_consts, *carried, *lin_xs)
        ct_carry = list(map(instantiate, ct_carry))
        strong = tuple(not typeof(ct).weak_type for ct in ct_carry)
        body = transposed_body(params["jaxpr"], n_consts, n_carry, in_body, nonzero_ys, strong)
        consts, _, xs = split_at(args, n_consts, n_carry)
        ct_consts = [zeros(arg.aval.tangent()) for arg in select(consts, lin_consts)]
        values = select(consts, invert(lin_consts))
        stacked = select(xs, invert(lin_xs))
        inputs = (
            *values,
            *ct_consts,
            *ct_carry,
            *select(ct_ys, nonzero_ys),
            *stacked,
        )
        new = {
            "jaxpr": body,
            "reverse": not params["reverse"],
            "num_consts": len(values),
            "num_carry": len(ct_consts) + n_carry,
        }
        outs = self.bind(*inputs, **{**params, **new})
        out_consts, out_carry, out_xs = split_at(outs, len(ct_consts), n_carry)
        results = iter([*out_consts, *select(out_carry, lin_init), *out_xs])
        return tuple(next(results) if flag else None for flag in linear)

    def batch(
        self,
        axis: Axis,
        args: Values,
        dims: Sequence,
        **params: Any,
    ) -> tuple:
        """Keep one loop; the carry and the slices get a mapped axis."""
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        jaxpr = params["jaxpr"]
        none = none_of(jaxpr.outvars[n_carry:])
        batched = tuple(dim is not None for dim in dims)
        b_consts, b_init, b_xs = split_at(batched, n_consts, n_carry)

        def step(carry: Mask) -> Mask:
            """Return which carries are batched after a step."""
            mask = (*b_consts, *carry, *b_xs)
            _, out_batched = batch_jaxpr(jaxpr, axis, mask, (*carry, *none))
            return out_batched[:n_carry]

        b_carry = fixed_point(step, tuple(b_init))
        mask = (*b_consts, *b_carry, *b_xs)
        body, out_batched = batch_jaxpr(jaxpr, axis, mask, (*b_carry, *none))
        # A slice has its mapped axis in front, so that the stacked array has it second.
        places = (*(0,) * (n_consts + n_carry), *(1,) * len(b_xs))
        moved = []
        for x, dim, place, flag in zip(args, dims, places, mask, strict=True):
            moved.append(batch_dim_to(x, dim, place, axis.size) if flag else x)
        outs = self.bind(*moved, **{**params, "jaxpr": body})
        out_carry, out_ys = split_at(out_batched, n_carry)
        return outs, (*mapped_dims(out_carry), *[1 if flag else None for flag in out_ys])

    def split(self, unknown: Mask, **params: Any) -> Split:
        """Run the known half of the body in one loop, the rest in another."""
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        u_consts, _, u_xs = split_at(unknown, n_consts, n_carry)
        u_carry = self.unknown_carries(unknown, params)
        body_unknown = (*u_consts, *u_carry, *u_xs)
        halves = _body_halves(params, body_unknown)
        return SplitScan(self, params, body_unknown, unknown, halves).split()

    def unknown_carries(self, unknown: Mask, params: dict) -> Mask:
        """Return which carries depend on the arguments `unknown`, after any number of steps."""
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        u_consts, u_init, u_xs = split_at(unknown, n_consts, n_carry)

        def step(carry: Mask) -> Mask:
            """Return the carries that a step makes unknown."""
            halves = _body_halves(params, (*u_consts, *carry, *u_xs))
            return halves.unknown_outputs[:n_carry]

        return fixed_point(step, tuple(u_init))

    def dce(
        self,
        used: Mask,
        n_inputs: int,
        **params: Any,
    ) -> tuple:
        """Drop outputs that nobody uses, and carries that serve only themselves."""
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        jaxpr = params["jaxpr"]
        nothing = none_of(jaxpr.invars)
        used_carry, used_ys = split_at(used, n_carry)

        def step(carry: Mask) -> Mask:
            """Return the carries that a step needs for the carries `carry`."""
            _, needed = dce_jaxpr(jaxpr, (*carry, *used_ys), nothing)
            return tuple(needed[n_consts : n_consts + n_carry])

        kept = fixed_point(step, tuple(used_carry))
        no_consts, _, no_xs = split_at(nothing, n_consts, n_carry)
        keep_inputs = (*no_consts, *kept, *no_xs)
        body, needed = dce_jaxpr(jaxpr, (*kept, *used_ys), keep_inputs)
        new = {"jaxpr": body, "num_consts": sum(needed[:n_consts]), "num_carry": sum(kept)}
        return needed, {**params, **new}, (*kept, *used_ys)

    def lower(
        self,
        b: Any,
        args: Sequence,
        outs: tuple[ShapedArray, ...],
        **params: Any,
    ) -> tuple:
        """Write a native loop: carries in place, slices read and outputs stored in place.

        Without a carry the iterations are independent, and may run in any order.
        """
        n_carry, jaxpr = params["num_carry"], params["jaxpr"]
        consts, init, xs = split_at(args, params["num_consts"], n_carry)
        carry = b.carries(b.in_lanes(jaxpr, init))
        ys = [b.buffer(aval) for aval in outs[n_carry:]]

        def step(i: Any) -> None:
            """Write one iteration."""
            slices = [b.row(x, i) for x in xs]
            with b.iteration(b.affine(i)):
                results = b.inline(jaxpr, [*consts, *b.read_carries(carry), *slices])
            new, rows = split_at(results, n_carry)
            for y, row in zip(ys, rows, strict=True):
                b.assign_row(y, i, row)
            b.update_carries(carry, new)

        length = params["length"]
        in_order = bool(n_carry) or any(eqn.effects for eqn in jaxpr.eqns)
        with b.numbered_loop(lambda: b.const(length, np.dtype(np.int32))):
            b.loop(length, step, not in_order, in_order and params["reverse"])
        return (*b.read_carries(carry), *ys)

    def hlo(
        self,
        b: Any,
        args: Sequence,
        outs: tuple[ShapedArray, ...],
        **params: Any,
    ) -> tuple:
        """Write a loop over a counter, the carry and the stacked outputs."""
        n_carry, length, jaxpr = params["num_carry"], params["length"], params["jaxpr"]
        consts, init, xs = split_at(args, params["num_consts"], n_carry)
        counter = ShapedArray((), np.dtype(np.int32))
        zero = b.constant(0, counter)
        empty = [b.constant(0, out) for out in outs[n_carry:]]
        start = [zero, *init, *empty]

        def step(i: Any, *state: Any) -> list:
            """Run the body on the slices at the counter, and put its outputs there."""
            carry, stacked = split_at(state, n_carry)
            place = i
            if params["reverse"]:
                last = b.constant(length - 1, counter)
                (place,) = b.op("stablehlo.subtract", [last, i], [counter])
            slices = [b.row(x, place) for x in xs]
            results = b.inline(jaxpr, [*consts, *carry, *slices])
            new, rows = split_at(results, n_carry)
            ys = [b.put_row(y, row, place) for y, row in zip(stacked, rows, strict=True)]
            one = b.constant(1, counter)
            after = b.op("stablehlo.add", [i, one], [counter])
            return [*after, *new, *ys]

        def condition(i: Any, *state: Any) -> Any:
            """Count to the length."""
            return b.compare("LT", i, b.constant(length, counter))

        return b.while_loop(start, condition, step)[1:]


class SplitScan:
    """The two loops that a scan with unknown inputs becomes.

    A residual of the body's split is *invariant* when it depends on known consts alone, a *slice*
    when it is a known input of the body's xs, an *output* when it is one that is stacked anyway,
    and *stacked* otherwise.
    """

    def __init__(
        self, prim: Scan, params: dict, body_unknown: Mask, unknown: Mask, halves: SplitJaxpr
    ):
        """body_unknown: per body input; unknown: per argument of the scan (inits may be known)."""
        self.prim = prim
        self.params = params
        self.body_unknown = body_unknown
        self.unknown = unknown
        self.halves = halves
        self.n_consts, self.n_carry = params["num_consts"], params["num_carry"]
        self.known_inputs = [i for i, flag in enumerate(body_unknown) if not flag]
        self.n_residuals = len(halves.residual_avals)
        self.n_known_consts = sum(not flag for flag in body_unknown[: self.n_consts])

    def split(self) -> Split:
        """Return the split."""
        kinds = self.kinds()
        known = self.known_program(kinds)
        n_invariant = kinds.count("invariant")
        n_stacked = kinds.count("stacked")
        n_residuals = n_invariant + n_stacked
        position = {
            "invariant": iter(range(n_invariant)),
            "stacked": iter(range(n_invariant, n_residuals)),
        }
        const_args, xs_args, const_vars, xs_vars = [], [], [], []
        staged = self.halves.staged
        residuals = self.halves.known.outvars[-self.n_residuals :]
        for number, kind in enumerate(kinds):
            source = self.halves.residual_inputs[number]
            if kind == "output":
                arg = n_residuals + len(self.unknown) + self.known_ys()[residuals[number]]
            elif kind in position or source is None:
                arg = next(position[kind])
            else:
                arg = n_residuals + self.known_inputs[source]
            is_const = kind in ("invariant", "const")
            (const_args if is_const else xs_args).append(arg)
            (const_vars if is_const else xs_vars).append(staged.invars[number])
        rest = staged.invars[self.n_residuals :]
        sizes = [sum(g) for g in split_at(self.body_unknown, self.n_consts, self.n_carry)]
        u_consts, u_carry, u_xs = split_at(rest, *sizes[:2])
        args = [n_residuals + i for i, flag in enumerate(self.body_unknown) if flag]
        a_consts, a_carry, a_xs = split_at(args, *sizes[:2])
        body = staged.replace(invars=(*const_vars, *u_consts, *u_carry, *xs_vars, *u_xs))
        body = _strengthened(body, len(const_vars) + len(u_consts), len(u_carry))
        staged_params = {
            **self.params,
            "jaxpr": body,
            "num_consts": len(const_vars) + len(u_consts),
            "num_carry": len(u_carry),
        }
        return Split(
            (jit_p, {"name": "known", "jaxpr": known, "inline": True}),
            (self.prim, staged_params),
            self.halves.unknown_outputs,
            n_residuals,
            (*const_args, *a_consts, *a_carry, *xs_args, *a_xs),
        )

    def kinds(self) -> list[str]:
        """Return the kind of each residual."""
        known = self.halves.known
        varying = set(known.invars[self.n_known_consts :])
        for eqn in known.eqns:
            if eqn.effects or any(type(atom) is Var and atom in varying for atom in eqn.invars):
                varying.update(eqn.outvars)
        n_outs = len(known.outvars) - self.n_residuals
        n_known_carry = sum(
            not f for f in self.body_unknown[self.n_consts : self.n_consts + self.n_carry]
        )
        first_xs = self.n_known_consts + n_known_carry
        kinds = []
        for var, source in zip(known.outvars[n_outs:], self.halves.residual_inputs, strict=True):
            if source is not None and source < self.n_known_consts:
                kinds.append("const")
            elif source is not None and source >= first_xs:
                kinds.append("slice")
            elif var in self.known_ys():
                kinds.append("output")
            else:
                kinds.append("stacked" if var in varying else "invariant")
        return kinds

    def known_ys(self) -> dict[Atom, int]:
        """Return the numbers of the known outputs, by the variables that are stacked to them."""
        known = self.halves.known
        _, u_carry, _ = split_at(self.body_unknown, self.n_consts, self.n_carry)
        n_outs = len(known.outvars) - self.n_residuals
        numbered = [*enumerate(known.outvars[:n_outs])][sum(invert(u_carry)) :]
        return {var: number for number, var in reversed(numbered) if type(var) is Var}

    def known_program(self, kinds: list[str]) -> Jaxpr:
        """Return the program of the known half: hoisted residuals, then the known loop.

        It takes the known arguments of the scan; carries that start known but become unknown are
        not used.
        """
        known = self.halves.known
        n_outs = len(known.outvars) - self.n_residuals
        residuals = known.outvars[n_outs:]
        invariant = select(residuals, [kind == "invariant" for kind in kinds])
        stacked = select(residuals, [kind == "stacked" for kind in kinds])
        # What has an effect stays in the loop; no invariant depends on it.
        quiet = [eqn for eqn in known.eqns if not eqn.effects]
        hoisted, needed = dce_jaxpr(
            known.replace(outvars=invariant, eqns=quiet),
            (True,) * len(invariant),
            (False,) * len(known.invars),
        )
        body = known.replace(outvars=(*known.outvars[:n_outs], *stacked))
        everything = (True,) * len(body.outvars), (True,) * len(body.invars)
        body, _ = dce_jaxpr(body, *everything)
        _, unknown_carry, _ = split_at(self.body_unknown, self.n_consts, self.n_carry)
        n_known_carry = sum(invert(unknown_carry))
        is_known = invert(self.unknown)
        in_avals = select(self.argument_avals(), is_known)
        used = select(invert(self.body_unknown), is_known)
        params = {
            **self.params,
            "jaxpr": body,
            "num_consts": self.n_known_consts,
            "num_carry": n_known_carry,
        }

        def run(*args: Value) -> list[Value]:
            """Compute the hoisted residuals, then run the loop."""
            inputs = select(args, used)
            given = select(inputs, needed)
            once = jit_p.bind(*given, name="hoisted", jaxpr=hoisted, inline=True)
            outs: Sequence[Value] = ()
            if body.outvars or body.effects:
                outs = self.prim.bind(*inputs, **params)
            return [*outs[:n_outs], *once, *outs[n_outs:]]

        return stage_flat(run, in_avals, "scan")

    def argument_avals(self) -> list[ShapedArray]:
        """Return the types of the scan's arguments."""
        length = self.params["length"]
        avals = self.params["jaxpr"].in_avals
        fixed = self.n_consts + self.n_carry
        stacked = [aval.update(shape=(length, *aval.shape)) for aval in avals[fixed:]]
        return [*avals[:fixed], *stacked]


def _strengthened(body: Jaxpr, n_consts: int, n_carry: int) -> Jaxpr:
    """Return a body whose carries are weakly typed only where JAX's are, without the conversions
    of the others.

    That is, where they remain so after a step, or their last use is not that of a conversion: a
    sum of cotangents has the type of the first.
    """
    conversion = "convert_element_type"
    last: dict[Atom, str] = {}
    for eqn in body.eqns:
        last.update(dict.fromkeys(eqn.invars, eqn.primitive.name))
    carry = body.invars[n_consts : n_consts + n_carry]
    names: dict[Atom, Atom] = {
        var: Var(var.aval.strong())
        for var, out in zip(carry, body.outvars, strict=False)
        if var.aval.weak_type > out.aval.weak_type and last.get(var, conversion) == conversion
    }
    if not names:
        return body
    inputs = [names.get(var, var) for var in body.invars]
    eqns = []
    for eqn in body.eqns:
        invars = [names.get(atom, atom) for atom in eqn.invars]
        outs = [var.aval for var in eqn.outvars]
        if eqn.primitive.name == conversion and [invars[0].aval] == outs:
            names[eqn.outvars[0]] = invars[0]
        else:
            eqns.append(eqn.replace(invars=invars))
    outvars = [names.get(atom, atom) for atom in body.outvars]
    return body.replace(invars=inputs, eqns=eqns, outvars=outvars)


def _body_halves(params: dict, unknown: Mask) -> SplitJaxpr:
    """Return the split of the body for these unknown inputs; unknown carries stay unknown."""
    jaxpr, n_carry = params["jaxpr"], params["num_carry"]
    _, carry, _ = split_at(unknown, params["num_consts"], n_carry)
    none = none_of(jaxpr.outvars[n_carry:])
    return split_jaxpr(jaxpr, unknown, (*carry, *none))


def _interleave(body: Jaxpr, sizes: tuple[int, ...], tangent_sizes: tuple[int, ...]) -> Jaxpr:
    """Sort (*primals, *tangents) of three groups into (primals, tangents) per group."""
    primals, tangents = split_at(body.invars, sum(sizes))
    return body.replace(invars=_by_group(primals, tangents, sizes, tangent_sizes))


def _by_group(
    primals: Sequence, tangents: Sequence, sizes: tuple[int, ...], tangent_sizes: tuple[int, ...]
) -> list:
    """Sort primals and tangents of three groups into (primals, tangents) per group."""
    ordered = []
    primal_groups = split_at(primals, *sizes[:-1])
    tangent_groups = split_at(tangents, *tangent_sizes[:-1])
    for own, other in zip(primal_groups, tangent_groups, strict=True):
        ordered += [*own, *other]
    return ordered


def _interleave_outputs(body: Jaxpr, sizes: tuple[int, int], n_carry_tangents: int) -> Jaxpr:
    """Sort the outputs (carry, ys, carry tangents, ys tangents) by group."""
    carry, ys, carry_tangents, ys_tangents = split_at(body.outvars, *sizes, n_carry_tangents)
    ordered = (*carry, *carry_tangents, *ys, *ys_tangents)
    return body.replace(outvars=ordered)


def _placeholders(avals: Sequence[ShapedArray], linear: Sequence[bool]) -> list[Linear]:
    """Return the placeholders of the inputs that are linear."""
    return [Linear(aval) for aval in select(avals, linear)]


@weak_identity_cache
def transposed_body(
    jaxpr: Jaxpr, n_consts: int, n_carry: int, linear: Mask, nonzero_ys: Mask, strong: Mask
) -> Jaxpr:
    """Return the body of the backward loop, for a carry that is weakly typed or `strong`.

    [ other consts | ct consts, ct carry | ct ys, other xs ] -> [ ct consts, ct carry | ct xs ]
    """
    lin_consts, _, lin_xs = split_at(linear, n_consts, n_carry)
    in_consts, in_carry, in_xs = split_at(jaxpr.in_avals, n_consts, n_carry)
    values = select(in_consts, invert(lin_consts))
    ct_consts = [aval.tangent() for aval in select(in_consts, lin_consts)]
    ct_carry = [
        aval.tangent().strong() if flag else aval.tangent()
        for aval, flag in zip(in_carry, strong, strict=True)
    ]
    out_ys = jaxpr.out_avals[n_carry:]
    ct_ys = [aval.tangent() for aval in select(out_ys, nonzero_ys)]
    others = select(in_xs, invert(lin_xs))
    sizes = [len(values), len(ct_consts), n_carry, len(ct_ys)]

    def run(*inputs: Value) -> list[Value]:
        """Transpose one step."""
        fixed, sums, carry, given, slices = split_at(inputs, *sizes)
        args = merge(lin_consts, fixed, _placeholders(in_consts, lin_consts))
        args += [Linear(aval) for aval in in_carry]
        args += merge(lin_xs, slices, _placeholders(in_xs, lin_xs))
        cts = [*carry, *join_tangents(given, nonzero_ys, out_ys)]
        results = select(backward(jaxpr, jaxpr.consts, args, cts, start=sums), linear)
        found = list(map(instantiate, results))
        carried = [*sums, *carry]
        kept = list(map(_like, found, carried))
        return [*kept, *found[len(kept) :]]

    avals = [*values, *ct_consts, *ct_carry, *ct_ys, *others]
    return stage_jaxpr(run, jaxpr, avals, "transpose")


def _like(result: Value, carried: Value) -> Value:
    """Return a result as weakly typed as what the loop carries."""
    aval = typeof(carried)
    if not aval.weak_type:
        return result
    return convert(result, aval.dtype, True)


def _transpose_after_split(
    prim: Scan, cotangents: Sequence, args: Sequence, linear: Mask, params: dict
) -> tuple:
    """Transpose a loop with carries that are not linear: those run first, in their own loop."""
    split = prim.split(linear, **params)
    assert split.known is not None, "an input that is not linear leaves nothing to run"
    known_prim, known_params = split.known
    outs = known_prim.bind(*select(args, invert(linear)), **known_params)
    residuals = outs[len(outs) - split.n_residuals :]
    available = (*residuals, *args, *outs[: len(outs) - split.n_residuals])
    staged_prim, staged_params = split.staged
    cts = select(cotangents, split.unknown_outputs)
    inputs = [available[position] for position in split.staged_args]
    results = staged_prim.transpose(cts, inputs, **staged_params)
    by_argument = dict(zip(split.staged_args, results, strict=True))
    first = split.n_residuals
    return tuple(by_argument.get(first + i) if flag else None for i, flag in enumerate(linear))


scan_p = Scan()
