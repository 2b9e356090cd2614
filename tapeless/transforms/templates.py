"""Templates: what a rule writes down is remembered, and copied where it would be written again.

The problem: a program of 100,000 equations has some tens of kinds of equations.  The rule of an
operation, run once more on operands of the same types, writes the same equations, with other
variables, and running it is most of what differentiating a program costs.

The idea: the first time, the rule is traced on its own.  Its small program, with the places of its
operands and results, is a `Template`.  From then on the equations of the template are copied into
the program that is being written.  A rule is run as ever

- where nothing is written: outside of staging, and under other transformations;
- for an operation of which nobody says that its rules follow from types (`types_follow`), and
  for a library's, whose rules may read anything and be replaced (`rules_vary`);
- where it does more than write equations of its operands: captures, effects, names of scopes;
- where an operand is a known value and goes into an operation that might use it at once.

    operands    jvp: primals, tangents          transpose: cotangents, arguments
    results     jvp: outs, out tangents         transpose: a cotangent, a Zero or None each

The *forms* of operands are what a template depends on: the type of a variable, and for others the
type with `Zero`, `Linear` or `Literal` before it; the last stands for all values that are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tapeless import config
from tapeless.core.effects import NO_EFFECTS
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive
from tapeless.core.source import Source
from tapeless.core.trace import Value, context
from tapeless.transforms.stage import StageTrace, StageTracer, stage_flat
from tapeless.util.cache import BoundedTable
from tapeless.util.seqs import merge, select

__all__ = ["Template", "jvp", "jvp_template", "transpose"]

Operand = Any  # a value, a Zero or a Linear
Outcome = Any  # an atom, a Zero or None
Params = Mapping[str, Any]
Rule = Callable[[Primitive, Sequence[Operand], int, Params], Sequence[Operand]]
_MARKS = (Zero, Linear)
_NONE: Any = object()  # stands for a template that there cannot be
_templates = BoundedTable(4096)


class Template:
    """The equations of a rule.

    Atoms have places: operands that are values, then literals, then results.
    """

    __slots__ = ("literals", "outs", "repeats", "steps")
    steps: list[tuple[Eqn, list[int]]]  # the places of each equation's operands
    outs: list[Outcome]  # per result: its place, or the Zero or None that it is

    def __init__(self, program: Jaxpr, outs: list[Outcome], repeats: bool) -> None:
        """program: of the operands that are values.  outs: None, Zero, or `...` for its outputs.

        repeats: whether the first equation is the one that the rule is for, results and all.
        """
        self.repeats = repeats
        self.literals = []
        for eqn in program.eqns:
            self.literals += [atom for atom in eqn.invars if type(atom) is Literal]
        atoms: list[Atom] = [*program.invars, *self.literals]
        self.steps = []
        for eqn in program.eqns:
            places = list(map(atoms.index, eqn.invars))
            self.steps.append((eqn, places))
            atoms.extend(eqn.outvars)
        given = iter(program.outvars)
        self.outs = [atoms.index(next(given)) if out is ... else out for out in outs]

    def copy(
        self,
        eqns: list[Eqn],
        atoms: Sequence[Atom],
        source: Source,
        first: Eqn | None = None,
    ) -> list[Outcome]:
        """Append the equations, applied to `atoms`; return the results.

        first: the equation that the rule is for, which stands for itself if the rule repeats it.
        """
        found: list[Any] = [*atoms, *self.literals]
        steps = self.steps
        if first is not None and self.repeats:
            eqns.append(first)
            found += first.outvars
            steps = steps[1:]
        for eqn, places in steps:
            operands = tuple([found[place] for place in places])
            outvars = tuple([Var(var.aval) for var in eqn.outvars])
            copied = Eqn(eqn.primitive, operands, outvars, eqn.params, NO_EFFECTS, source)
            eqns.append(copied)
            found += outvars
        return [found[out] if type(out) is int else out for out in self.outs]


def _jvp_rule(prim: Primitive, operands: Sequence[Operand], n: int, params: Params) -> list:
    """Run the jvp rule on n primals and their tangents."""
    outs, out_tangents = prim.jvp(operands[:n], operands[n:], **params)
    return [*outs, *out_tangents]


def _transpose_rule(
    prim: Primitive, operands: Sequence[Operand], n: int, params: Params
) -> Sequence[Operand]:
    """Run the transpose rule on n cotangents and the arguments."""
    return prim.transpose(operands[:n], operands[n:], **params)


def jvp(
    prim: Primitive, primals: Sequence[Value], tangents: Sequence[Operand], params: Params
) -> tuple:
    """Return what the jvp rule does: the results and their tangents."""
    outs = _apply(_jvp_rule, prim, (*primals, *tangents), len(primals), params)
    return outs[: len(outs) // 2], outs[len(outs) // 2 :]


def transpose(
    prim: Primitive, cotangents: Sequence[Operand], args: Sequence[Operand], params: Params
) -> Sequence[Operand]:
    """Return what the transpose rule does: the cotangents of the linear arguments."""
    return _apply(_transpose_rule, prim, (*cotangents, *args), len(cotangents), params)


def jvp_template(prim: Primitive, n: int, forms: list, params: Params) -> Template | None:
    """Return the template of a jvp rule for n primals and their tangents of these forms."""
    return _find(_jvp_rule, prim, n, forms, params)


def _apply(
    rule: Rule, prim: Primitive, operands: tuple[Operand, ...], n: int, params: Params
) -> Sequence[Operand]:
    """Copy the template of a rule for these operands; run the rule if there is none."""
    trace = context.trace
    if not isinstance(trace, StageTrace) or not _follows(prim, params):
        return rule(prim, operands, n, params)
    forms: list[Any] = []
    values: dict[Any, Value] = {}
    atoms: list[Atom] = []
    tag = trace.tag
    for x in operands:
        kind = type(x)
        if kind in _MARKS:
            forms += (kind, x.aval)
            continue
        traced = kind is StageTracer
        atom = x.atom if traced and x.tag is tag else trace.atom(x)
        atoms.append(atom)
        values[atom] = x
        if not traced or type(atom) is Literal:
            forms.append(Literal)
        forms.append(atom.aval)
    template = _find(rule, prim, n, forms, params)
    if template is None:
        return rule(prim, operands, n, params)
    source = trace.sources.current()
    outs = template.copy(trace.builder.eqns, atoms, source)
    for out in outs:
        if type(out) is Var and out not in values:
            values[out] = StageTracer(trace, out.aval, out, source)
    return [values.get(out, out) for out in outs]


def _find(rule: Rule, prim: Primitive, n: int, forms: list, params: Params) -> Template | None:
    """Return the template of a rule for operands of these forms, if there can be one."""
    if not _follows(prim, params):
        return None
    kinds = map(_kinds, params.values())
    key = (rule, prim, config.trace_context(), *forms, *params.items(), *kinds)
    try:
        found = _templates.get(key)
    except TypeError:  # a user's parameter that has no hash
        return None
    if found is None:
        found = _new_template(rule, prim, n, forms, params) or _NONE
        _templates.put(key, found)
    return None if found is _NONE else found


def _follows(prim: Primitive, params: Params) -> bool:
    """Tell whether what the rules of an operation write follows from its operands' forms."""
    return not prim.rules_vary and (prim.types_follow or not params)


def _kinds(parameter: Any) -> Any:
    """Return what tells parameters apart that are equal, such as 1, True and a 1 of NumPy."""
    if type(parameter) is tuple:
        return tuple(map(_kinds, parameter))
    return type(parameter)


def _new_template(
    rule: Rule, prim: Primitive, n: int, forms: list, params: Params
) -> Template | None:
    """Trace a rule on its own; None if its equations are not all that it does."""
    rest = iter(forms)
    kinds = [(x, next(rest)) if isinstance(x, type) else (Var, x) for x in rest]
    is_value = tuple(kind not in _MARKS for kind, _ in kinds)
    marks = [kind(aval) for kind, aval in kinds if kind in _MARKS]
    values = select(kinds, is_value)
    outs: list[Outcome] = []

    def run(*tracers: Value) -> list[Value]:
        """Run the rule, and note which results are values."""
        operands = tuple(merge(is_value, marks, tracers))
        found = rule(prim, operands, n, params)
        outs.extend(x if x is None or type(x) is Zero else ... for x in found)
        return [x for x, out in zip(found, outs, strict=True) if out is ...]

    try:
        program = stage_flat(run, [aval for _, aval in values], stage="template")
    except Exception:  # the rule raises again, about the operands themselves
        return None
    if program.constvars or program.effects or Literal in map(type, program.outvars):
        return None
    known = set(select(program.invars, [kind is Literal for kind, _ in values]))
    for eqn in program.eqns:
        if eqn.source.names or (eqn.primitive.has_stage and not known.isdisjoint(eqn.invars)):
            return None
    repeats = rule is _jvp_rule and _repeats(program, prim, n, params)
    return Template(program, outs, repeats)


def _repeats(program: Jaxpr, prim: Primitive, n: int, params: Params) -> bool:
    """Tell whether a program of n primals and their tangents starts with the operation itself."""
    if not program.eqns:
        return False
    first = program.eqns[0]
    if first.primitive is not prim or first.params != params:
        return False
    n_outs = len(first.outvars)
    return first.invars == program.invars[:n] and first.outvars == program.outvars[:n_outs]
