"""Forward mode: carry a tangent beside every value.

The problem: the derivative of a program in a direction, at the cost of about one more evaluation.
The idea: a `JVPTracer` is a pair (primal, tangent).  An operation on such pairs runs the `jvp` rule
of its primitive under the parent trace, which may again be a JVP trace, a batch trace or a stage
trace.  A tangent that is known to be zero is a `Zero`; a value with a zero tangent is not wrapped.

`jvp_jaxpr` is the same for programs: primals and the tangents that may be non-zero in, primals and
the tangents that may be non-zero out.  The results are cached on the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapeless.core import leaks
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.check import after_pass
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tapeless.core.linear import Zero, zero_tangent
from tapeless.core.primitive import Primitive
from tapeless.core.source import Walk, current_source, new_stack
from tapeless.core.trace import Tag, Trace, Tracer, Value, context, under
from tapeless.prims.common import instantiate, is_float0
from tapeless.transforms import templates
from tapeless.transforms.stage import RewriteTrace, StageTracer
from tapeless.util.cache import weak_identity_cache
from tapeless.util.seqs import select

__all__ = ["JVPTrace", "JVPTracer", "jvp_flat", "jvp_jaxpr"]

Mask = tuple[bool, ...]
Tangent = Any  # a value or a Zero


class JVPTracer(Tracer):
    """A primal value and its tangent, which is not a Zero."""

    __slots__ = ("primal", "source", "tangent")

    def __init__(self, tag: Tag, primal: Value, tangent: Value) -> None:
        """tangent: of the tangent type of the primal; if it is a tracer, it knows its source."""
        self.source = None if isinstance(tangent, Tracer) else current_source()
        self.tag = tag
        self.primal = primal
        self.tangent = tangent

    def __repr__(self) -> str:
        """Return JAX's form; under reverse mode the tangent is a variable, known by its type."""
        if isinstance(self.tangent, StageTracer):
            kind = typeof(self.tangent).str_short(True)
            return f"GradTracer(primal={self.primal}, typeof(tangent)={kind})"
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"

    @property
    def aval(self) -> ShapedArray:  # pyrefly: ignore[bad-override]  # derived, and never assigned
        """The type of the primal."""
        return typeof(self.primal)

    def place(self) -> str:
        """Return the line on which the tangent, or else the primal, was made."""
        parts = [part for part in (self.tangent, self.primal) if isinstance(part, Tracer)]
        places = [part.place() for part in parts]
        if self.source is not None:
            places.append(self.source.summary())
        return next(filter(None, places), "")

    def concrete(self) -> Any:
        """Return the concrete primal, if there is one."""
        primal = self.primal
        return primal.concrete() if isinstance(primal, Tracer) else primal

    def constant(self) -> Value:
        """Return the innermost primal."""
        return self.primal.constant() if isinstance(self.primal, Tracer) else self.primal


class JVPTrace(Trace):
    """Propagates tangents by the `jvp` rules."""

    __slots__ = ()

    def process(self, prim: Primitive, args: tuple[Value, ...], params: dict) -> tuple[Value, ...]:
        """Run the jvp rule, or plainly the operation when no tangent is there."""
        tag, parent = self.tag, self.parent
        own = [type(arg) is JVPTracer and arg.tag is tag for arg in args]
        if True not in own and not prim.joins_every_trace:
            return parent.process(prim, args, params)
        pairs = list(zip(args, own, strict=True))
        primals = tuple([x.primal if is_own else x for x, is_own in pairs])
        tangents = tuple([x.tangent if is_own else zero_tangent(x) for x, is_own in pairs])
        previous, context.trace = context.trace, parent
        try:
            outs, out_tangents = templates.jvp(prim, primals, tangents, params)
        finally:
            context.trace = previous
        return tuple(map(self.wrap, outs, out_tangents))

    def unwrap(self, x: Value) -> tuple[Value, Tangent]:
        """Return the primal and the tangent of a value."""
        if type(x) is JVPTracer and x.tag is self.tag:
            return x.primal, x.tangent
        return x, zero_tangent(x)

    def wrap(self, primal: Value, tangent: Tangent) -> Value:
        """Return the tracer of a pair; the primal alone where the tangent is zero."""
        return primal if type(tangent) is Zero else JVPTracer(self.tag, primal, tangent)


def jvp_flat(
    function: Callable[..., Sequence[Value]],
    primals: Sequence[Value],
    tangents: Sequence[Tangent],
    trace: JVPTrace | None = None,
) -> tuple[list[Value], list[Tangent]]:
    """Return the results of a flat function and their tangents (values or Zeros).

    trace: a new one of the caller's; by default one above the current trace.
    """
    trace = trace or JVPTrace(context.trace, Tag("jvp"))
    trace.tag.function = function
    try:
        outs = under(trace, function, *map(trace.wrap, primals, map(_known_zero, tangents)))
        pairs = [trace.unwrap(out) for out in outs]
    finally:
        trace.tag.alive = False
    del outs
    leaks.check(trace.tag)
    return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


def _known_zero(tangent: Tangent) -> Tangent:
    """Return a tangent, a Zero where it is an array of float0s."""
    if type(tangent) is Zero:
        return tangent
    aval = typeof(tangent)
    return Zero(aval) if is_float0(aval) else tangent


class _Forward(RewriteTrace):
    """Writes the program of values and tangents of a program, equation by equation.

    tangents: of the variables of the program, where they are not zero.
    """

    __slots__ = ("tangents",)

    def __init__(self, jaxpr: Jaxpr, nonzero: Mask) -> None:
        """Add the tangents that may be non-zero to the inputs."""
        super().__init__(jaxpr)
        self.tangents: dict[Atom, Atom] = {}
        for var in select(jaxpr.invars, nonzero):
            tangent = self.builder.new_input(var.aval.tangent())
            if not is_float0(tangent.aval):
                self.tangents[var] = tangent

    def add(self, eqn: Eqn, walk: Walk) -> None:
        """Write an equation, and those of its tangents."""
        prim, names, source = eqn.primitive, self.names, eqn.source
        if source.frame is None:  # it is what the caller's line does
            walk.reach(source)
            source = self.sources.current()
        atoms = tuple([names.get(x, x) for x in eqn.invars])
        tangents = [self.tangents.get(x) for x in eqn.invars]
        given = [x for x in tangents if x is not None]
        if source is not eqn.source or atoms != eqn.invars:
            eqn = eqn.replace(invars=atoms, source=source)
        if not given and not prim.joins_every_trace:
            self.builder.emit(eqn)
            return
        operands = [*atoms, *map(_or_zero, tangents, atoms)]
        forms: list[Any] = []
        for x in operands:
            kind = Literal if x in self.values else type(x)
            if kind is not Var:
                forms.append(kind)
            forms.append(x.aval)
        template = templates.jvp_template(prim, len(atoms), forms, eqn.params)
        if template is None:
            walk.reach(source)
            outs = self.by_rule(eqn, operands)
        else:
            outs = template.copy(self.builder.eqns, [*atoms, *given], source, eqn)
        n_outs = len(eqn.outvars)
        for var, out, tangent in zip(eqn.outvars, outs[:n_outs], outs[n_outs:], strict=True):
            if out is not var:
                names[var] = out
            if type(tangent) is not Zero:
                self.tangents[var] = tangent

    def by_rule(self, eqn: Eqn, operands: Sequence[Any]) -> list[Any]:
        """Run the rule on what stands for the operands; return the atoms of what it returns.

        operands: atoms of the primals, then of the tangents, which may be Zeros.
        """
        values = [x if type(x) is Zero else self.value(x) for x in operands]
        n, params = len(eqn.invars), eqn.params.copy()
        outs, tangents = under(self, eqn.primitive.jvp, values[:n], values[n:], **params)
        return [x if type(x) is Zero else self.atom(x) for x in (*outs, *tangents)]


def _or_zero(tangent: Atom | None, primal: Atom) -> Atom | Zero:
    """Return a tangent, a Zero where there is none."""
    return Zero(primal.aval.tangent()) if tangent is None else tangent


@weak_identity_cache
def jvp_jaxpr(jaxpr: Jaxpr, nonzero: Mask, instantiated: Mask) -> tuple[Jaxpr, Mask]:
    """Return the program of values and tangents, and which tangents come out.

    nonzero: per input, whether it has a tangent.  instantiated: per output, whether its tangent is
    wanted even if it is zero.  The program maps (*primals, *nonzero tangents) to (*outs,
    *tangents).
    """
    trace = _Forward(jaxpr, nonzero)
    try:
        with new_stack(), Walk() as walk:
            for eqn in jaxpr.eqns:
                trace.add(eqn, walk)
        outs = [trace.names.get(atom, atom) for atom in jaxpr.outvars]
        nonzero_out: list[bool] = []
        for atom, wanted in zip(jaxpr.outvars, instantiated, strict=True):
            tangent = trace.tangents.get(atom)
            nonzero_out.append(wanted or tangent is not None)
            if tangent is None and wanted:
                tangent = trace.atom(under(trace, instantiate, Zero(atom.aval.tangent())))
            if tangent is not None:
                outs.append(tangent)
    finally:
        trace.tag.alive = False
    leaks.check(trace.tag)
    result = trace.builder.build(outs)
    return after_pass(result, "jvp", jaxpr.debug.function), tuple(nonzero_out)
