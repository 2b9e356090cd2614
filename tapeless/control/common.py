"""What the operations that contain programs share.

Their rules all turn masks into programs: which tangents are not zero, which inputs are batched,
linear or unknown.  For loops a carry's mask must be a fixed point: an output of the body that is
batched makes the carry batched, and that may make more outputs batched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.effects import NO_EFFECTS, STATE, Effects
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr, subjaxprs
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.ref import Ref
from tapeless.core.trace import Axis, Tracer, Value, context
from tapeless.prims.common import move_dim
from tapeless.transforms.references import bind_without, takes_references
from tapeless.transforms.stage import StageTrace, stage_jaxpr
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import replace
from tapeless.util.seqs import split

__all__ = [
    "ProgramPrimitive",
    "batch_to_front",
    "by_cotangents",
    "effects_of",
    "fixed_point",
    "join_tangents",
    "lift_tracers",
    "linear_mask",
    "mapped_dims",
    "none_of",
    "nonzero_mask",
    "transposed_results",
]

Mask = tuple[bool, ...]


def effects_of(jaxpr: Jaxpr) -> Effects:
    """Return a program's effects; one that takes references has theirs."""
    return jaxpr.effects | {STATE} if takes_references(jaxpr) else jaxpr.effects


class ProgramPrimitive(Primitive):
    """The base of operations whose parameters hold programs; effects and named axes are theirs.

    instrumented: whether the programs may have checks inside; see `control/instrument.py`.
    """

    instrumented = True
    takes_references = True

    def bind(self, *args: Value, **params: Any) -> tuple[Value, ...]:
        """Apply the operation; without references, unless it is only written down."""
        operands, params = self.with_captured(args, params)
        trace = context.trace
        if type(trace) is not StageTrace and STATE in self.effects(**params):
            return bind_without(self, operands, params)
        return trace.process(self, operands, params)

    def with_captured(self, args: tuple, params: dict) -> tuple[tuple, dict]:
        """Return operands and parameters with the tracers that programs captured as operands.

        A custom rule may have captured some, which joins the program when that is differentiated.
        """
        return args, params

    def effects(self, **params: Any) -> Effects:
        """Return the union of the programs' effects."""
        effects = NO_EFFECTS
        for jaxpr in subjaxprs(params):
            effects |= effects_of(jaxpr)
        return effects

    def axis_names(self, **params: Any) -> tuple[object, ...]:
        """Return the named axes that the programs communicate over."""
        return tuple(
            name
            for jaxpr in subjaxprs(params)
            for eqn in jaxpr.eqns
            for name in eqn.primitive.axis_names(**eqn.params)
        )

    def batch_collective(
        self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any
    ) -> tuple:
        """Do as `batch`: the collectives inside the programs see the named axis."""
        return self.batch(axis, args, dims, **params)


def nonzero_mask(tangents: Sequence[Any]) -> Mask:
    """Return which tangents or cotangents are values."""
    return tuple(type(tangent) is not Zero for tangent in tangents)


def linear_mask(args: Sequence[Any]) -> Mask:
    """Return which arguments of a transpose rule are linear."""
    return tuple(type(arg) is Linear for arg in args)


def none_of(items: Sequence[Any]) -> Mask:
    """Return the mask that marks none of some items."""
    return (False,) * len(items)


def mapped_dims(batched: Sequence[bool]) -> tuple[int | None, ...]:
    """Return the mapped axes of results: in front, where they are batched."""
    return tuple(0 if flag else None for flag in batched)


def join_tangents(values: Sequence[Value], nonzero: Mask, avals: Sequence[ShapedArray]) -> tuple:
    """Return one tangent per output: the next value where `nonzero`, else a Zero."""
    rest = iter(values)
    return tuple(
        next(rest) if flag else Zero(aval.tangent())
        for flag, aval in zip(nonzero, avals, strict=True)
    )


def transposed_results(
    outs: Sequence[Value], linear: Mask, returned: Mask, args: Sequence
) -> tuple:
    """Return one result per argument of a transpose rule.

    outs: the cotangents that the backward program returns, for the linear inputs `returned`.
    """
    rest, flags = iter(outs), iter(returned)
    results: list[Any] = []
    for is_linear, arg in zip(linear, args, strict=True):
        if not is_linear:
            results.append(None)
        elif next(flags):
            results.append(next(rest))
        else:
            assert type(arg) is Linear, "a linear argument is a placeholder"
            results.append(Zero(arg.aval.tangent()))
    return tuple(results)


def by_cotangents(program: Jaxpr, cotangents: Sequence[Value]) -> Jaxpr:
    """Return a backward program for its last inputs as they are: not weakly typed, it may be."""
    return _strong_inputs(program, tuple(not typeof(ct).weak_type for ct in cotangents))


@weak_identity_cache
def _strong_inputs(program: Jaxpr, strong: Mask) -> Jaxpr:
    """Return a program some of whose last inputs are not weakly typed."""
    avals = list(program.in_avals)
    for number, flag in enumerate(strong, len(avals) - len(strong)):
        if flag:
            avals[number] = avals[number].strong()
    if avals == list(program.in_avals):
        return program
    run = partial(eval_jaxpr, program, program.consts)
    return stage_jaxpr(run, program, avals, "transpose")


def lift_tracers(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Tracer | Ref]]:
    """Return the program with the tracers that it captured as leading inputs, and those tracers.

    So are references.  Arrays stay constants: they are the same whenever the program runs.
    """
    captured = [isinstance(value, (Tracer, Ref)) for value in jaxpr.consts]
    if not any(captured):
        return jaxpr, []
    kept_vars, lifted_vars = split(jaxpr.constvars, captured)
    kept, lifted = split(jaxpr.consts, captured)
    debug = jaxpr.debug
    if debug.arguments is not None:
        debug = replace(debug, arguments=("a captured value",) * len(lifted) + debug.arguments)
    changed = jaxpr.replace(
        constvars=kept_vars, consts=kept, invars=(*lifted_vars, *jaxpr.invars), debug=debug
    )
    return changed, lifted


def batch_to_front(args: Sequence[Value], dims: Sequence[int | None]) -> list[Value]:
    """Move the mapped axes to the front."""
    return [
        arg if dim is None or dim == 0 else move_dim(arg, dim, 0)
        for arg, dim in zip(args, dims, strict=True)
    ]


def fixed_point(step: Callable[[Mask], Mask], start: Mask) -> Mask:
    """Return the least mask above `start` that `step` does not enlarge."""
    mask = start
    for _ in range(len(start) + 1):
        grown = tuple(a or b for a, b in zip(mask, step(mask), strict=True))
        if grown == mask:
            return mask
        mask = grown
    raise AssertionError("a fixed point is reached after one step per carry")
