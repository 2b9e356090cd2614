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
In a program, an equation without that rule goes to its half as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.check import after_pass
from tapeless.core.effects import STATE
from tapeless.core.jaxpr import Atom, DebugInfo, Eqn, Jaxpr, Var
from tapeless.core.linear import Zero
from tapeless.core.primitive import Primitive, Split
from tapeless.core.ref import is_ref
from tapeless.core.source import (
    JVP,
    UNKNOWN_SOURCE,
    name_scope,
    new_stack,
    override_source,
    stack_depth,
)
from tapeless.core.trace import Tag, Trace, Tracer, Value, context, under
from tapeless.prims.common import is_float0
from tapeless.transforms.dce import dce_jaxpr
from tapeless.transforms.jvp import JVPTrace, jvp_flat
from tapeless.transforms.references import without_references
from tapeless.transforms.stage import RewriteTrace, StageTrace, StageTracer
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import record
from tapeless.util.seqs import merge, select, split

__all__ = ["Linearized", "SplitJaxpr", "SplitTrace", "linearize_flat", "split_jaxpr"]

Mask = tuple[bool, ...]


class SplitTrace(Trace):
    """Sends operations with unknown inputs to `staged`, and all others to the parent."""

    __slots__ = ("staged",)

    def __init__(self, parent: Trace, staged: StageTrace) -> None:
        """A value is unknown if it is a tracer of `staged`."""
        super().__init__(parent, staged.tag)
        self.staged = staged

    def process(self, prim: Primitive, args: tuple[Value, ...], params: dict) -> tuple[Value, ...]:
        """Do it now, stage it, or let a primitive that contains programs do some of both."""
        tag = self.tag
        unknown = tuple([isinstance(arg, Tracer) and arg.tag is tag for arg in args])
        if True not in unknown:
            return self.parent.process(prim, args, params)
        rule = under(self.parent, prim.split, unknown, **params) if prim.has_split else None
        if rule is None:
            return self.staged.process(prim, args, params)
        known_outs, residuals = self.run_known(rule, select(args, [not flag for flag in unknown]))
        available = (*residuals, *args, *known_outs)
        staged_prim, staged_params = rule.staged
        inputs = tuple(available[position] for position in rule.staged_args)
        staged_outs = self.staged.process(staged_prim, inputs, staged_params)
        return tuple(merge(rule.unknown_outputs, known_outs, staged_outs))

    def linear_side(self) -> Trace:
        """Return the staged program: a zero tangent that is made there is no residual."""
        return self.staged

    def run_known(self, split: Split, known: Sequence[Value]) -> tuple[Sequence, Sequence]:
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
        super().__init__(splitter, Tag("grad / vjp"))
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


class _StagedHalf(StageTrace):
    """The staged half of a program, and `known`, the other half.

    Most equations go to one half as they are, under the names of the whole.  Only an operation with
    a `split` rule is traced; `names` has what its results are called.  residuals: known variables
    that are needed here.
    """

    __slots__ = ("known", "known_vars", "names", "residuals", "unknown_vars")

    def __init__(self, jaxpr: Jaxpr, unknown: Mask) -> None:
        """Share out the inputs; constants are common."""
        self.known = RewriteTrace(jaxpr)
        builder = self.known.builder
        super().__init__(self.known, builder.debug.function, builder.debug)
        builder.invars, self.builder.invars = split(jaxpr.invars, unknown)
        self.known_vars, self.unknown_vars = set(builder.invars), set(self.builder.invars)
        self.names = self.known.names
        self.residuals: dict[Atom, None] = {}
        self.builder.const_vars, self.builder.consts = builder.const_vars, builder.consts

    def need(self, atoms: Sequence[Atom]) -> None:
        """Note which of the atoms are known variables."""
        for atom in atoms:
            if atom in self.known_vars:
                self.residuals[atom] = None

    def atom(self, x: Value) -> Atom:
        """Return the atom of a value; a known variable has the same name in both halves."""
        if not self.known.owns(x):
            return super().atom(x)
        if type(x.atom) is Var:
            self.residuals[x.atom] = None
        return x.atom

    def add(self, eqn: Eqn) -> None:
        """Give an equation to a half, or let its operation do some of both."""
        if self.names and not self.names.keys().isdisjoint(eqn.invars):
            eqn = eqn.replace(invars=[self.names.get(atom, atom) for atom in eqn.invars])
        if self.unknown_vars.isdisjoint(eqn.invars):
            self.known.builder.eqns.append(eqn)
            self.known_vars.update(eqn.outvars)
        elif not eqn.primitive.has_split:
            self.builder.eqns.append(eqn)
            self.unknown_vars.update(eqn.outvars)
            self.need(eqn.invars)
        else:
            self.divide(eqn)

    def divide(self, eqn: Eqn) -> None:
        """Apply an operation that has a rule."""
        trace = SplitTrace(self.known, self)
        with override_source(eqn.source):
            args = tuple(map(self.value, eqn.invars))
            outs = under(trace, trace.process, eqn.primitive, args, eqn.params.copy())
        for var, out in zip(eqn.outvars, outs, strict=True):
            half = self if self.owns(out) else self.known
            self.names[var] = atom = half.atom(out)
            if half.owns(out) and type(atom) is Var:
                (self.unknown_vars if half is self else self.known_vars).add(atom)

    def value(self, atom: Atom) -> Value:
        """Return what stands for an atom."""
        if atom in self.unknown_vars:
            return StageTracer(self, atom.aval, atom, UNKNOWN_SOURCE)
        return self.known.value(atom)


@weak_identity_cache
def split_jaxpr(jaxpr: Jaxpr, unknown: Mask, forced: Mask) -> SplitJaxpr:
    """Divide a program by which inputs are unknown.

    forced: per output, whether it must come from the staged half even if it is known (carries).
    """
    staged = _StagedHalf(jaxpr, unknown)
    try:
        with new_stack():
            for eqn in jaxpr.eqns:
                staged.add(eqn)
    finally:
        staged.known.tag.alive = staged.tag.alive = False
    outs = [staged.names.get(atom, atom) for atom in jaxpr.outvars]
    unknown_outs = tuple(f or x in staged.unknown_vars for f, x in zip(forced, outs, strict=True))
    atoms = select(outs, unknown_outs)
    staged.need(atoms)
    residuals = [*staged.residuals]
    whole = staged.builder.build(atoms)
    whole = whole.replace(invars=(*residuals, *whole.invars))
    kept = (*[False] * len(residuals), *[True] * sum(unknown))
    lifted, needed = dce_jaxpr(whole, (True,) * len(atoms), kept)
    residuals = select(residuals, needed[: len(residuals)])
    known_atoms = [*select(outs, [not flag for flag in unknown_outs]), *residuals]
    name = jaxpr.debug.function
    whole = after_pass(staged.known.builder.build(known_atoms), "split", f"{name}, known")
    known, _ = dce_jaxpr(whole, (True,) * len(known_atoms), (True,) * len(whole.invars))
    positions: dict[Atom, int] = {var: number for number, var in enumerate(known.invars)}
    residual_inputs = tuple(positions.get(x) for x in residuals)
    after_pass(lifted, "split", f"{name}, staged")
    avals = tuple(x.aval for x in residuals)
    return SplitJaxpr(known, lifted, unknown_outs, avals, residual_inputs)
