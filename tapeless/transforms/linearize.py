"""Linearisation, and partial evaluation, by one mechanism: the splitter.

The problem: reverse mode needs the derivative of a function at a point as a *linear program* that
can be transposed.  The idea: the tangents of forward mode depend linearly on the input tangents, so
run forward mode with known primals and unknown tangents, do at once what is known, and write down
the rest.

`SplitTrace` does the dividing.  Its parent evaluates what is known (now, or into a program of its
own), and a stage trace takes every operation with an unknown input.  Known values that such an
operation needs become constants of the staged program: they are the *residuals*.

    linearize    = JVPTrace over SplitTrace over the current trace
    split_jaxpr  = SplitTrace over a StageTrace: a program becomes a known and a staged program

First-order operations need no rule for this.  Operations that contain programs have one, `split`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.check import after_pass
from tapeless.core.effects import STATE
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import DebugInfo, Jaxpr, Var
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Split
from tapeless.core.ref import is_ref
from tapeless.core.source import JVP, name_scope, new_stack, stack_depth
from tapeless.core.trace import Tag, Trace, Tracer, Value, context, under
from tapeless.prims.common import is_float0
from tapeless.transforms.dce import dce_jaxpr
from tapeless.transforms.jvp import JVPTrace, jvp_flat
from tapeless.transforms.references import without_references
from tapeless.transforms.stage import StageTrace
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import record
from tapeless.util.seqs import merge, select

__all__ = ["Linearized", "SplitJaxpr", "SplitTrace", "linearize_flat", "split_jaxpr"]

Mask = tuple[bool, ...]


class SplitTrace(Trace):
    """Sends operations with unknown inputs to `staged`, and all others to the parent."""

    __slots__ = ("staged",)

    def __init__(
        self,
        parent: Trace,
        staged: StageTrace,
    ) -> None:
        """A value is unknown if it is a tracer of `staged`."""
        super().__init__(parent, staged.tag)
        self.staged = staged

    def process(
        self,
        prim: Primitive,
        args: tuple[Value, ...],
        params: dict,
    ) -> tuple[Value, ...]:
        """Do it now, stage it, or let a primitive that contains programs do some of both."""
        tag = self.tag
        unknown = tuple([isinstance(arg, Tracer) and arg.tag is tag for arg in args])
        if True not in unknown:
            return self.parent.process(prim, args, params)
        previous, context.trace = context.trace, self.parent
        try:
            split = prim.split(unknown, **params)
        finally:
            context.trace = previous
        if split is None:
            return self.staged.process(prim, args, params)
        known_outs, residuals = self.run_known(split, select(args, [not flag for flag in unknown]))
        available = (*residuals, *args, *known_outs)
        staged_prim, staged_params = split.staged
        inputs = tuple(available[position] for position in split.staged_args)
        staged_outs = self.staged.process(staged_prim, inputs, staged_params)
        return tuple(merge(split.unknown_outputs, known_outs, staged_outs))

    def linear_side(self) -> Trace:
        """Return the staged program: a zero tangent that is made there is no residual."""
        return self.staged

    def run_known(
        self,
        split: Split,
        known: Sequence[Value],
    ) -> tuple[Sequence[Value], Sequence[Value]]:
        """Run the known half; return its outputs and its residuals."""
        if split.known is None:
            return (), ()
        prim, params = split.known
        outs = self.parent.process(prim, tuple(known), params)
        n_outs = len(outs) - split.n_residuals
        return outs[:n_outs], outs[n_outs:]


class LinearizeTrace(JVPTrace):
    """Forward mode over a splitter; it notes which equations an operation like `x * x` has staged.

    `operation_of` has the number of the operation by the variables of its equations, for those that
    take one value as two operands.
    """

    __slots__ = ("eqns", "operation_of")

    def __init__(self, splitter: SplitTrace) -> None:
        """Start without operations."""
        super().__init__(splitter, Tag("jvp"))
        self.eqns = splitter.staged.builder.eqns
        self.operation_of: dict[Var, int] = {}

    def process(self, prim: Primitive, args: tuple[Value, ...], params: dict) -> tuple[Value, ...]:
        """Run the rule, and note what it staged if two operands are one."""
        start = len(self.eqns)
        outs = super().process(prim, args, params)
        if len(self.eqns) > start + 1 and len(set(map(id, args))) < len(args):
            for eqn in self.eqns[start:]:
                self.operation_of.update(dict.fromkeys(eqn.outvars, start))
        return outs


@record(eq=False)
class Linearized:
    """A function at a point: its results, and its derivative as a linear program.

    jaxpr maps the tangents of the inputs `linear_inputs`, those that were wanted and have any, to
    those of the outputs `nonzero_outputs`; its constants are the residuals.  operation_of: see
    `LinearizeTrace`.
    """

    outs: list[Value]
    jaxpr: Jaxpr
    operation_of: Mapping[Var, int]
    linear_inputs: Mask
    nonzero_outputs: Mask


def linearize_flat(
    function: Callable[..., Sequence[Value]],
    primals: Sequence[Value],
    wanted: Mask | None = None,
) -> Linearized:
    """Linearise a flat function at `primals`, by the inputs `wanted` (default: all)."""
    words = "the linearised function", DebugInfo("linear")
    staged = StageTrace(context.trace, *words, depth=stack_depth())
    splitter = SplitTrace(context.trace, staged)
    avals = [typeof(x).tangent() for x in primals]
    wanted = wanted or (True,) * len(primals)
    linear = tuple(f and not is_float0(a) for f, a in zip(wanted, avals, strict=True))
    if any(is_ref(x) for x, flag in zip(primals, linear, strict=True) if flag):
        raise TypeError(
            "cannot differentiate with respect to a Ref: its gradient would have to be accumulated "
            "into a Ref. Differentiate with respect to an array, and make the Ref from it inside "
            "of the function."
        )
    tangents = [
        staged.new_input(aval) if flag else Zero(aval)
        for aval, flag in zip(avals, linear, strict=True)
    ]
    try:
        trace = LinearizeTrace(splitter)
        with name_scope(JVP):
            outs, out_tangents = jvp_flat(function, primals, tangents, trace)
        if any(map(staged.owns, outs)):
            raise ValueError(
                "Linearization failed to produce known values for all output primals. This is "
                "typically caused by attempting to differentiate a function uses an operation that "
                "does not support reverse-mode autodiff."
            )
        nonzero = tuple(type(tangent) is not Zero for tangent in out_tangents)
        atoms = [staged.atom(tangent) for tangent in select(out_tangents, nonzero)]
    finally:
        staged.tag.alive = False
    # Forward mode also writes down what no result depends on; its residuals need not be kept.
    used, inputs = (True,) * len(atoms), (True,) * sum(linear)
    whole = staged.builder.build(atoms)
    if STATE in whole.effects:
        whole = without_references(whole)
    program, _ = dce_jaxpr(whole, used, inputs)
    return Linearized(outs, program, trace.operation_of, linear, nonzero)


@record(eq=False)
class SplitJaxpr:
    """A program divided in two.

    known: (*known inputs) -> (*known outputs, *residuals).
    staged: (*residuals, *unknown inputs) -> (*unknown outputs).
    unknown_outputs: which outputs of the whole come from `staged`.
    residual_inputs: per residual, the number of the known input that it is, or None.
    """

    known: Jaxpr
    staged: Jaxpr
    unknown_outputs: Mask
    residual_avals: tuple[ShapedArray, ...]
    residual_inputs: tuple[int | None, ...]


@weak_identity_cache
def split_jaxpr(
    jaxpr: Jaxpr,
    unknown: Mask,
    forced: Mask,
) -> SplitJaxpr:
    """Divide a program by which inputs are unknown.

    forced: per output, whether it must come from the staged half even if it is known (carries).
    """
    known_trace = StageTrace(context.trace, jaxpr.debug.function, DebugInfo(jaxpr.debug.function))
    staged = StageTrace(known_trace, jaxpr.debug.function, DebugInfo(jaxpr.debug.function))
    splitter = SplitTrace(known_trace, staged)
    inputs = [
        (staged if flag else known_trace).new_input(aval)
        for aval, flag in zip(jaxpr.in_avals, unknown, strict=True)
    ]
    try:
        with new_stack():
            outs = under(splitter, eval_jaxpr, jaxpr, jaxpr.consts, *inputs)
        unknown_outs = tuple(f or staged.owns(x) for f, x in zip(forced, outs, strict=True))
        atoms = [staged.atom(out) for out in select(outs, unknown_outs)]
        # Only what the known program computes is a residual; an array from outside is a constant.
        residuals = [x for x in staged.builder.consts if known_trace.owns(x)]
        whole = _lift(staged.builder.build(atoms), residuals)
        kept = (*[False] * len(residuals), *[True] * (len(whole.invars) - len(residuals)))
        lifted, needed = dce_jaxpr(whole, (True,) * len(atoms), kept)
        residuals = select(residuals, needed[: len(residuals)])
        known_outs = select(outs, [not flag for flag in unknown_outs])
        known_atoms = [known_trace.atom(x) for x in [*known_outs, *residuals]]
    finally:
        known_trace.tag.alive = staged.tag.alive = False
    name = jaxpr.debug.function
    whole = after_pass(known_trace.builder.build(known_atoms), "split", f"{name}, known")
    known, _ = dce_jaxpr(whole, (True,) * len(known_atoms), (True,) * len(whole.invars))
    positions = {var: number for number, var in enumerate(known.invars)}
    residual_inputs = tuple(positions.get(x.atom) for x in residuals)
    avals = tuple(x.aval for x in residuals)
    after_pass(lifted, "split", f"{name}, staged")
    return SplitJaxpr(known, lifted, unknown_outs, avals, residual_inputs)


def _lift(jaxpr: Jaxpr, residuals: Sequence[Value]) -> Jaxpr:
    """Turn the constants that are residuals into leading inputs."""
    lifted = {id(x) for x in residuals}
    pairs = list(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    leading = [var for var, value in pairs if id(value) in lifted]
    kept = [(var, value) for var, value in pairs if id(value) not in lifted]
    return jaxpr.replace(
        constvars=[var for var, _ in kept],
        consts=[value for _, value in kept],
        invars=(*leading, *jaxpr.invars),
        debug=DebugInfo(jaxpr.debug.function),
    )
