"""Which checks compiled programs have, and how a result that is no number is traced to its origin.

`checked` is applied to every program before it is compiled.  The configuration says which checks
the program gets beside its operations (`control/instrument.py`).

`debug_nans` and `debug_infs` would cost too much there: only the *results* of a program are looked
at.  When one of them is not finite, the program is run once more, on the same arguments, with a
check after every operation; the first that fails is the origin, and has the user's line and, in a
loop, the number of the iteration.  A value that is no number and that no result depends on is no
error.  Programs that call back into Python for good (`io_callback`) are not run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from tapeless import config, dtypes
from tapeless.control.instrument import are_fine, instrument
from tapeless.control.scan import scan_p
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Eqn, Jaxpr, Literal, Var, subjaxprs
from tapeless.core.source import UNKNOWN_SOURCE, Source
from tapeless.core.trace import Context, Value, context, eval_context, under
from tapeless.prims.check import Fault, check
from tapeless.transforms.stage import StageTrace, StageTracer, stage_jaxpr
from tapeless.util.cache import bounded_cache
from tapeless.util.records import record
from tapeless.util.seqs import select, split_at

__all__ = ["checked", "checked_kinds", "sources_of"]

Kinds = frozenset[str]

_FLAGS = {
    "shift": ("tapeless_check_shifts",),
    "div": ("tapeless_check_divisions",),
    "rem": ("tapeless_check_divisions",),
    "nan": ("jax_debug_nans",),
    "inf": ("jax_debug_infs",),
}
_WORDS = frozenset(("nan", "inf"))
_SHORTEST_ROW = 64  # elements; shorter ones are looked at together, when the loop is done


def checked_kinds() -> Kinds:
    """Return the kinds of checks that the configuration asks for now."""
    return _kinds_under(config.trace_context())


@bounded_cache(64)
def _kinds_under(settings: config.TraceContext) -> Kinds:
    """Return the kinds of checks that settings ask for."""
    asked = settings.as_dict()
    kinds = {kind for kind, names in _FLAGS.items() if all(asked[name] for name in names)}
    if asked["tapeless_out_of_bounds"] == "raise":
        kinds.add("index")
    return frozenset(kinds)


def checked(jaxpr: Jaxpr, compile_program: Callable[[Jaxpr], Callable]) -> Jaxpr:
    """Return the program with the checks that the configuration asks for.

    compile_program: makes the function of Arrays that runs a program.
    """
    kinds = checked_kinds()
    if kinds - _WORDS:
        jaxpr = instrument(jaxpr, kinds - _WORDS)
    words = kinds & _WORDS
    if not words or not any(dtypes.issubdtype(a.dtype, np.inexact) for a in jaxpr.out_avals):
        return jaxpr
    if len(jaxpr.eqns) == 1 and _only_results(jaxpr.eqns[0], jaxpr):
        return instrument(jaxpr, words | {"moved"})
    return _with_result_check(jaxpr, words, compile_program)


def _only_results(eqn: Eqn, jaxpr: Jaxpr) -> bool:
    """Tell whether all that an equation computes, without a program inside, are results."""
    return not subjaxprs(eqn.params) and set(eqn.outvars) <= set(jaxpr.outvars)


def sources_of(jaxpr: Jaxpr) -> Hashable:
    """Return the lines of a program's equations: programs that are checked differ in them, too."""
    found: list[Source | Hashable] = []
    for eqn in jaxpr.eqns:
        found.append(eqn.source.frame)
        found.extend(sources_of(inner) for inner in subjaxprs(eqn.params))
    return tuple(found)


@record(eq=False)
class ResultFault(Fault):
    """A result of a program that is not finite.

    program: without constants, of the payload; words: what results may not be.
    """

    program: Jaxpr
    words: Kinds
    compile_program: Callable[[Jaxpr], Callable]

    def exception(self, payload: Sequence[np.ndarray], counts: Sequence[int]) -> Exception:
        """Return the error of the operation that made the value, found by running it again."""
        if all(effect.replayable for effect in self.program.effects):
            located = instrument(self.program, self.words | {"moved"})
            arrays = map(Context.base.array, payload, self.program.in_avals)
            try:
                with eval_context():
                    self.compile_program(located)(tuple(arrays))
            except FloatingPointError as error:
                return error
        word = " or ".join(sorted(self.words))
        return FloatingPointError(
            f"invalid value ({word}) encountered in a result of {self.program.debug.function}\n"
            f"{self.place(counts)} The operation that made it is not known: the program was not "
            f"run a second time, or gave finite values then."
        )


def _with_result_check(
    jaxpr: Jaxpr, words: Kinds, compile_program: Callable[[Jaxpr], Callable]
) -> Jaxpr:
    """Return the program with a check of each result beside the operation that makes it."""
    lifted = jaxpr.lift_consts()
    program = lifted.replace() if lifted is jaxpr else lifted  # must not keep `jaxpr` alive
    fault = ResultFault(UNKNOWN_SOURCE, program, words, compile_program)
    trace = StageTrace(context.trace, "checks")
    inputs = [StageTracer(trace, x.aval, x, UNKNOWN_SOURCE) for x in program.invars]

    def check_result(x: StageTracer) -> None:
        """Check one result."""
        for word in sorted(words):
            check(are_fine(x, word), fault, *inputs)

    looked_at = {x for x in jaxpr.outvars if dtypes.issubdtype(x.aval.dtype, np.inexact)}
    ready = [x for x in looked_at if type(x) is Literal or x in {*jaxpr.invars, *jaxpr.constvars}]
    for x in ready:
        under(trace, check_result, StageTracer(trace, x.aval, x, UNKNOWN_SOURCE))
    for eqn in jaxpr.eqns:
        rows = {x for x in _stacked_rows(eqn) if x in looked_at}
        trace.builder.emit(_with_row_checks(eqn, rows, fault, program.invars) if rows else eqn)
        for x in eqn.outvars:
            if x in looked_at and x not in rows:
                under(trace, check_result, StageTracer(trace, x.aval, x, UNKNOWN_SOURCE))
    return jaxpr.replace(eqns=trace.builder.eqns, debug=jaxpr.debug)


def _stacked_rows(eqn: Eqn) -> Sequence[Var]:
    """Return the results that a loop in order stacks of rows that are not small."""
    params = eqn.params
    if eqn.primitive is not scan_p or not params["num_carry"]:
        return ()
    body = params["jaxpr"].outvars[params["num_carry"] :]
    pairs = zip(body, eqn.outvars[params["num_carry"] :], strict=True)
    return [x for row, x in pairs if row.aval.size >= _SHORTEST_ROW]


def _with_row_checks(
    eqn: Eqn,
    looked_at: set[Var],
    fault: ResultFault,
    inputs: Sequence[Var],
) -> Eqn:
    """Return a scan that checks, in each iteration, the rows that it stacks as the results."""
    params, n_carry = eqn.params, eqn.params["num_carry"]
    body = params["jaxpr"]
    flags = [x in looked_at for x in eqn.outvars[n_carry:]]

    def run(*args: Value) -> Sequence[Value]:
        """Run the body, and check."""
        given, rest = split_at(args, len(inputs))
        outs = eval_jaxpr(body, body.consts, *rest)
        for row in select(outs[n_carry:], flags):
            for word in sorted(fault.words):
                check(are_fine(row, word), fault, *given)
        return outs

    avals = [*[x.aval for x in inputs], *body.in_avals]
    changed = {
        **params,
        "jaxpr": stage_jaxpr(run, body, avals, "checks"),
        "num_consts": params["num_consts"] + len(inputs),
    }
    effects = eqn.primitive.effects(**changed)
    return eqn.replace(invars=(*inputs, *eqn.invars), params=changed, effects=effects)
