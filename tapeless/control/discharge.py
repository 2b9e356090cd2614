"""Discharging checks: a program with checks becomes one that returns what they found.

    program      [ inputs ] -> [ outputs ]                  with `check` equations
    discharged   [ record | inputs ] -> [ record | outputs ]

The record is a code, 0 as long as no check has failed, and the payload of the one that failed
first: one slot per type, since a record tells of one fault at a time.  A `Layout` says which code
stands for which fault, and where its payload is.

A program that holds programs hands the record on: a loop carries it, every branch returns it.
`RULES` has a rule per operation: (layout, record, operands, **params) -> (record, results).  Custom
derivative rules stay; what they check themselves is found when the derivative was taken before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless.control.common import join_tangents, nonzero_mask
from tapeless.control.cond import cond_p
from tapeless.control.custom_jvp import custom_jvp_call_p
from tapeless.control.custom_vjp import custom_vjp_call_p
from tapeless.control.custom_vmap import custom_vmap_call_p
from tapeless.control.jit import jit_p
from tapeless.control.remat import remat_p
from tapeless.control.scan import scan_p
from tapeless.control.while_loop import while_p
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.effects import CHECK
from tapeless.core.interpret import eval_jaxpr, operand
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal, subjaxprs
from tapeless.core.linear import Zero
from tapeless.core.primitive import RuleTable
from tapeless.core.source import override_source
from tapeless.core.trace import Value, context
from tapeless.prims.bitwise import bitwise_and
from tapeless.prims.check import Fault, all_hold, check_p
from tapeless.prims.common import instantiate, zeros
from tapeless.prims.compare import eq
from tapeless.prims.convert import convert_element_type
from tapeless.prims.reduce import reduce_or
from tapeless.prims.select import select_n
from tapeless.prims.structural import broadcast_in_dim
from tapeless.prims.unary import bitwise_not
from tapeless.transforms.stage import stage_flat, stage_jaxpr
from tapeless.util.cache import weak_identity_cache
from tapeless.util.records import record
from tapeless.util.seqs import invert, merge, select, split_at

__all__ = ["Layout", "discharge", "empty_record", "layout_of"]

Record = Sequence[Value]
_CODE = ShapedArray((), np.dtype(np.int32))
RULES = RuleTable("checkify")


@record
class Layout:
    """What records mean.

    faults: that of code 1, of code 2 and so on; places: per fault, the slots of its payload; slots:
    their types.
    """

    faults: tuple[Fault, ...]
    places: tuple[tuple[int, ...], ...]
    slots: tuple[ShapedArray, ...]

    def avals(self) -> tuple[ShapedArray, ...]:
        """Return the types of a record."""
        return (_CODE, *self.slots)


def layout_of(jaxpr: Jaxpr, wanted: Callable[[Fault], bool]) -> Layout:
    """Return the layout of the records of a program, for the faults that are wanted."""
    found: dict[Fault, tuple[int, ...]] = {}
    slots: list[ShapedArray] = []
    _collect(jaxpr, wanted, found, slots)
    return Layout(tuple(found), tuple(found.values()), tuple(slots))


def _collect(
    jaxpr: Jaxpr,
    wanted: Callable[[Fault], bool],
    found: dict,
    slots: list[ShapedArray],
) -> None:
    """Enter the faults of a program in the order of its equations, and their slots."""
    for eqn in jaxpr.eqns:
        if CHECK not in eqn.effects:
            continue
        if eqn.primitive is not check_p:
            for inner in subjaxprs(eqn.params):
                _collect(inner, wanted, found, slots)
            continue
        fault = eqn.params["fault"]
        if wanted(fault) and fault not in found:
            found[fault] = _places([x.aval.strong() for x in eqn.invars[1:]], slots)


def _places(avals: Sequence[ShapedArray], slots: list[ShapedArray]) -> tuple[int, ...]:
    """Return a slot for each type, none twice; slots that are missing are added."""
    taken: list[int] = []
    for aval in avals:
        free = [n for n, slot in enumerate(slots) if slot == aval and n not in taken]
        if not free:
            free = [len(slots)]
            slots.append(aval)
        taken.append(free[0])
    return tuple(taken)


def empty_record(layout: Layout) -> list[Value]:
    """Return the record of no fault."""
    return [zeros(aval) for aval in layout.avals()]


@weak_identity_cache
def discharge(jaxpr: Jaxpr, layout: Layout) -> Jaxpr:
    """Return the program that takes and returns a record."""
    n = len(layout.avals())

    def run(*args: Value) -> list[Value]:
        """Evaluate the equations, and hand the record from one to the next."""
        record, inputs = split_at(args, n)
        return _evaluate(jaxpr, layout, record, inputs)

    return stage_jaxpr(run, jaxpr, [*layout.avals(), *jaxpr.in_avals])


def _evaluate(jaxpr: Jaxpr, layout: Layout, record: Record, inputs: Sequence[Value]) -> list[Value]:
    """Return the record and the results of a program."""
    env: dict[Atom, Value] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    env.update(zip(jaxpr.invars, inputs, strict=True))

    def read(atom: Atom) -> Value:
        """Return the value of an atom."""
        return operand(atom) if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        with override_source(eqn.source):
            record, outs = _apply(layout, record, eqn, [read(atom) for atom in eqn.invars])
        env.update(zip(eqn.outvars, outs, strict=True))
    return [*record, *map(read, jaxpr.outvars)]


def _apply(layout: Layout, record: Record, eqn: Eqn, operands: list[Value]) -> tuple:
    """Return the record after an equation, and its results."""
    if CHECK not in eqn.effects:
        return record, context.trace.process(eqn.primitive, tuple(operands), dict(eqn.params))
    if eqn.primitive is not check_p:
        return RULES[eqn.primitive](layout, record, operands, **eqn.params)
    fault = eqn.params["fault"]
    if fault not in layout.faults:
        return record, ()
    number = layout.faults.index(fault)
    fine, *payload = operands
    code, *slots = record
    first = bitwise_and(bitwise_not(all_hold(fine)), eq(code, np.int32(0)))
    for place, value in zip(layout.places[number], payload, strict=True):
        slots[place] = _choose(first, value, slots[place])
    return [_choose(first, np.int32(number + 1), code), *slots], ()


def _choose(flag: Value, x: Value, y: Value) -> Value:
    """Return x, as strong as y, where the scalar `flag` holds; else y."""
    return select_n(flag, y, convert_element_type(x, typeof(y).dtype))


def _split_record(layout: Layout, outs: Sequence[Value]) -> tuple[Record, Sequence[Value]]:
    """Return the record and the results of what returned both."""
    record, results = split_at(outs, len(layout.avals()))
    return record, results


# Operations that contain programs


@RULES.rule(jit_p)
def _jit(
    layout: Layout,
    record: Record,
    operands: list,
    **params: Any,
) -> tuple:
    """Call the discharged program."""
    params["jaxpr"] = discharge(params["jaxpr"], layout)
    return _split_record(layout, jit_p.bind(*record, *operands, **params))


@RULES.rule(remat_p)
def _remat(
    layout: Layout,
    record: Record,
    operands: list,
    **params: Any,
) -> tuple:
    """Call the discharged program."""
    params["jaxpr"] = discharge(params["jaxpr"], layout)
    return _split_record(layout, remat_p.bind(*record, *operands, **params))


@RULES.rule(custom_vmap_call_p)
def _custom_vmap(
    layout: Layout,
    record: Record,
    operands: list,
    *,
    call: Jaxpr,
    **_: Any,
) -> tuple:
    """Evaluate the function; its rule for batches is not used any more."""
    return _split_record(layout, _evaluate(call, layout, record, operands))


@RULES.rule(cond_p)
def _cond(
    layout: Layout,
    record: Record,
    operands: list,
    **params: Any,
) -> tuple:
    """Branch between discharged programs."""
    index, *rest = operands
    params["branches"] = tuple(discharge(branch, layout) for branch in params["branches"])
    return _split_record(layout, cond_p.bind(index, *record, *rest, **params))


@RULES.rule(scan_p)
def _scan(
    layout: Layout,
    record: Record,
    operands: list,
    **params: Any,
) -> tuple:
    """Carry the record."""
    n, n_consts = len(record), params["num_consts"]
    body = discharge(params["jaxpr"], layout)
    inner, consts, rest = split_at(body.invars, n, n_consts)
    params["jaxpr"] = body.replace(invars=(*consts, *inner, *rest))
    params["num_carry"] += n
    given, others = split_at(operands, n_consts)
    return _split_record(layout, scan_p.bind(*given, *record, *others, **params))


@RULES.rule(while_p)
def _while(
    layout: Layout,
    record: Record,
    operands: list,
    **params: Any,
) -> tuple:
    """Carry the record, and the condition: it may have checks, and one flag a row."""
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    sizes = (params["cond_nconsts"], params["body_nconsts"])
    cond_consts, body_consts, init = split_at(operands, *sizes)
    flag_aval = cond.out_avals[0]
    n, consts = len(record), [*cond_consts, *body_consts]

    def step(*args: Value) -> list[Value]:
        """Run the body where the condition holds, and ask the condition again."""
        mine, (flag, *state) = split_at(args, len(consts))
        given, used = split_at(mine, sizes[0])
        now, old = split_at(state, n)
        now, new = _split_record(layout, _evaluate(body, layout, now, [*used, *old]))
        if flag_aval.shape:
            new = [_choose_rows(flag, x, y) for x, y in zip(new, old, strict=True)]
        now, (again,) = _split_record(layout, _evaluate(cond, layout, now, [*given, *new]))
        return [again, *now, *new]

    now, (flag,) = _split_record(layout, _evaluate(cond, layout, record, [*cond_consts, *init]))
    carry = [flag, *now, *init]
    avals = [typeof(x) for x in consts] + [flag_aval, *layout.avals(), *body.out_avals]
    asked = stage_flat(_any_row, avals[len(consts) :], "while")
    outs = while_p.bind(
        *consts,
        *carry,
        cond_jaxpr=asked,
        cond_nconsts=0,
        body_jaxpr=stage_flat(step, avals, "while").lift_consts(),
        body_nconsts=len(consts),
    )
    return _split_record(layout, outs[1:])


def _any_row(flag: Value, *state: Value) -> list[Value]:
    """Return whether any row goes on."""
    return [reduce_or(flag, tuple(range(typeof(flag).ndim)))]


def _choose_rows(flag: Value, x: Value, y: Value) -> Value:
    """Return the rows of x where the flags, whose shape leads that of x, hold; else those of y."""
    rank = typeof(flag).ndim
    return select_n(broadcast_in_dim(flag, typeof(x).shape, tuple(range(rank))), y, x)


@RULES.rule(custom_jvp_call_p)
def _custom_jvp(
    layout: Layout,
    record: Record,
    operands: list,
    **params: Any,
) -> tuple:
    """Keep the rule; under it, what the function checks comes from the function."""
    n, n_consts = len(record), params["num_consts"]
    consts, rest = split_at(operands, n_consts)
    inner = discharge(params["call_jaxpr"], layout)
    own = params["jvp"]

    def call(*args: Value) -> tuple[Value, ...]:
        """Run the discharged function."""
        now, given = split_at(args, n)
        return eval_jaxpr(inner, inner.consts, *now, *consts, *given)

    def jvp(primals: Sequence[Value], tangents: Sequence) -> tuple:
        """Run the user's rule for the results, and the function for the record."""
        nonzero = nonzero_mask(tangents[n:])
        given = [*primals[n:], *select(tangents[n:], nonzero)]

        def rule(*args: Value) -> list[Value]:
            """Run the user's rule."""
            values, some = split_at(args, len(primals) - n)
            given_tangents = join_tangents(some, nonzero, [typeof(x) for x in values])
            outs, out_tangents = own(values, given_tangents)
            return [*outs, *map(instantiate, out_tangents)]

        results = _without_checks(rule, given)
        outs, out_tangents = split_at(results, len(results) // 2)
        now = call(*primals)[:n]
        return [*now, *outs], [*_no_tangents(now), *out_tangents]

    jvp.__name__ = own.__name__
    params.update(call_jaxpr=call, jvp=jvp, num_consts=0)
    return _split_record(layout, custom_jvp_call_p.bind(*record, *rest, **params))


@RULES.rule(custom_vjp_call_p)
def _custom_vjp(
    layout: Layout,
    record: Record,
    operands: list,
    **params: Any,
) -> tuple:
    """Keep the rules; under them, what the function checks comes from the function."""
    n, n_consts = len(record), params["num_consts"]
    consts, rest = split_at(operands, n_consts)
    inner = discharge(params["call_jaxpr"], layout)
    own_fwd, own_bwd = params["fwd"], params["bwd"]

    def call(*args: Value) -> tuple[Value, ...]:
        """Run the discharged function."""
        now, given = split_at(args, n)
        return eval_jaxpr(inner, inner.consts, *now, *consts, *given)

    def fwd(args: Sequence[Value], perturbed: tuple[bool, ...]) -> tuple:
        """Run the user's rule for the results, and the function for the record."""
        n_outs = 0

        def rule(*given: Value) -> list[Value]:
            """Run the user's rule."""
            nonlocal n_outs
            outs, residuals = own_fwd(given, perturbed[n:])
            n_outs = len(outs)
            return [*outs, *residuals]

        outs, residuals = split_at(_without_checks(rule, args[n:]), n_outs)
        return [*call(*args)[:n], *outs], residuals

    def bwd(residuals: Sequence[Value], cotangents: Sequence) -> list:
        """Run the user's rule; the record has no cotangents."""
        nonzero = nonzero_mask(cotangents[n:])
        has_value: list[bool] = []
        zeros_of: list[Any] = []

        def rule(*given: Value) -> list[Value]:
            """Run the user's rule; return the cotangents that are values."""
            kept, some = split_at(given, len(residuals))
            avals = [ct.aval if type(ct) is Zero else typeof(ct) for ct in cotangents[n:]]
            found = own_bwd(kept, join_tangents(some, nonzero, avals))
            has_value.extend(nonzero_mask(found))
            zeros_of.extend(select(found, invert(has_value)))
            return select(found, has_value)

        given = [*residuals, *select(cotangents[n:], nonzero)]
        values = _without_checks(rule, given)
        nothing = [Zero(aval.tangent()) for aval in layout.avals()]
        return [*nothing, *merge(has_value, zeros_of, values)]

    fwd.__name__, bwd.__name__ = own_fwd.__name__, own_bwd.__name__
    params.update(call_jaxpr=call, fwd=fwd, bwd=bwd, num_consts=0)
    return _split_record(layout, custom_vjp_call_p.bind(*record, *rest, **params))


def _without_checks(function: Callable, args: Sequence[Value]) -> list[Value]:
    """Call a flat function, and drop the checks that it makes."""
    nothing = Layout((), (), ())
    program = stage_flat(function, [typeof(x) for x in args], "checkify")
    return _evaluate(program, nothing, empty_record(nothing), args)[1:]


def _no_tangents(values: Sequence[Value]) -> list[Zero]:
    """Return the zero tangents of values."""
    return [Zero(typeof(value).tangent()) for value in values]
