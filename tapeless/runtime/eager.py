"""Eager evaluation: an operation outside any transformation is a compiled program of one equation.

There is one implementation of each operation, the compiler's.  The base trace keeps the programs
by operation, parameters and operand types, so that the second `a + b` of its kind is a dictionary
look up and a native call.  Programs are shared by what they do (`structure.py`): a body that is
made anew for each call is traced anew but not compiled anew.  Operations whose parameters are
Python functions (custom derivatives that have not been staged) are evaluated by calling them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tapeless import config
from tapeless.control import fitting
from tapeless.control.reference_rules import program_to_run
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.effects import NO_EFFECTS
from tapeless.core.jaxpr import DebugInfo, Eqn, Jaxpr, Var, subjaxprs
from tapeless.core.primitive import Primitive
from tapeless.core.source import UNKNOWN_SOURCE
from tapeless.core.trace import Tag, Trace, Tracer, Value, install_base_trace, leaked
from tapeless.runtime import fastcall
from tapeless.runtime.array import Array, array_of, as_array
from tapeless.runtime.callkeys import tokens_of
from tapeless.runtime.checked import checked, checked_kinds, sources_of
from tapeless.runtime.executable import Executable, Template, usable_donations, watchers
from tapeless.runtime.key_reuse import has_keys, run_operation
from tapeless.runtime.structure import parameters_key, structure_of
from tapeless.util import lazy
from tapeless.util.cache import BoundedTable, bounded_cache, weak_identity_cache

__all__ = [
    "EvalTrace", "effects_barrier", "executable_of", "one_operation",
    "templates",
]  # fmt: skip


xla = lazy.load("tapeless.runtime.xla")
templates = BoundedTable(1024)
_MOST_TRIES = 64  # before it is clear that there is no plan


class EvalTrace(Trace):
    """The base trace."""

    __slots__ = ()

    def process(self, prim: Primitive, args: Sequence[Value], params: dict) -> tuple[Value, ...]:
        """Run the compiled program of the operation."""
        for arg in args:
            if isinstance(arg, Tracer):
                raise leaked(arg)
        if getattr(prim, "evaluated_in_python", False):
            return prim.evaluate(*args, **params)
        if getattr(prim, "inline_program", False):
            jaxpr = params.get("jaxpr") or params["call_jaxpr"]
            if not config.current.jax_debug_key_reuse:
                return _run_program(jaxpr, args)
            executable = executable_of(jaxpr)
        elif subjaxprs(params):
            avals = tuple([typeof(arg) for arg in args])
            executable = _operation_with_programs(prim, avals, params)
        else:
            avals = tuple([typeof(arg) for arg in args])
            executable = one_operation(prim, avals, tuple(params.items()), config.trace_context())
            if not (config.current.jax_debug_key_reuse and any(map(has_keys, avals))):
                fastcall.route_operation(prim, args, params, executable)
        if config.current.jax_debug_key_reuse:
            return run_operation(prim, params, args, lambda: executable(args))
        return executable(args)

    def constant(self, x: Value) -> Array:
        """Return the value as an Array."""
        return as_array(x)

    def array(self, elements: np.ndarray, aval: ShapedArray) -> Array:
        """Return an Array with a copy of the elements."""
        return array_of(elements, aval.strong())


fastcall.accelerate(EvalTrace, "process", "process")


@bounded_cache(4096)
def one_operation(
    prim: Primitive,
    avals: tuple[ShapedArray, ...],
    params: tuple[tuple[str, Any], ...],
    context: object,
) -> Executable:
    """Return the compiled program of one operation on operands of these types."""
    jaxpr = _program_of(prim, avals, dict(params))
    return compiled(jaxpr, source=lambda: jaxpr)


def _program_of(prim: Primitive, avals: Sequence[ShapedArray], params: dict) -> Jaxpr:
    """Return the program of one equation, named as the operation."""
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in prim.abstract(*avals, **params)]
    eqn = Eqn(prim, invars, outvars, params, prim.effects(**params) or NO_EFFECTS, UNKNOWN_SOURCE)
    return Jaxpr((), invars, outvars, (eqn,), debug=DebugInfo(prim.name))


@weak_identity_cache
def _plans_of(jaxpr: Jaxpr) -> dict[config.TraceContext, fastcall.Plan | int]:
    """Return how a program is run under each of the settings: a plan, or the tries to find one."""
    return {}


def _run_program(jaxpr: Jaxpr, args: Sequence[Value]) -> tuple[Value, ...]:
    """Run a program, compiled by itself; a plan runs it from the second call on, if there is one.

    Transformations of compiled functions, called again and again, come here with the same program.
    """
    plans, settings = _plans_of(jaxpr), config.trace_context()
    found = plans.get(settings)
    if isinstance(found, fastcall.Plan) and not watchers:
        outs = found.run(*args)
        if outs is not NotImplemented:
            return outs
    fitting.check_arguments(jaxpr, args)
    executable = executable_of(jaxpr)
    outs = executable(args)
    if found is None:
        plans[settings] = 0
    elif isinstance(found, int) and found < _MOST_TRIES and isinstance(executable, Executable):
        tokens = tokens_of(args)
        plan = None if tokens is None else fastcall.plan_for(executable, tokens)
        plans[settings] = found + 1 if plan is None else plan
    return outs


def _operation_with_programs(
    prim: Primitive, avals: tuple[ShapedArray, ...], params: dict
) -> Executable:
    """Return the compiled form of an operation, such as `scan`, that contains programs."""
    found = parameters_key(params)
    if found is None:
        return one_operation(prim, avals, tuple(params.items()), config.trace_context())
    places = [sources_of(x) for x in subjaxprs(params)] if checked_kinds() else ()
    key = (prim, avals, found[0], config.trace_context(), *places)
    jaxpr = _program_of(prim, avals, params)
    source = lambda: jaxpr  # noqa: E731 - nothing else holds it
    return _shared(key, found[1], source, lambda: compiled(jaxpr, source=source, captured=found[1]))


def _shared(
    key: Hashable,
    captured: list,
    source: Callable[[], Jaxpr | None],
    make: Callable[[], Executable],
) -> Executable:
    """Return the compiled form of a program that differs from earlier ones in captured arrays."""
    template = templates.get(key)
    if template is not None:
        return template.filled(captured, source)
    executable = make()
    templates.put(key, Template(executable))
    return executable


def executable_of(
    jaxpr: Jaxpr,
    donated: tuple[bool, ...] = (),
    effort: int | None = None,
    backend: str | None = None,
) -> Executable | Any:  # of one of the two compilers
    """Return the compiled form of a program, with the checks that are asked for.

    backend: "native", "xla", which has no checks, or None for the setting.
    """
    jaxpr = program_to_run(jaxpr)
    if (backend or config.current.tapeless_backend) == "xla":
        return xla.compiled(jaxpr)
    return _executable_of(jaxpr, donated, effort, checked_kinds())


@weak_identity_cache
def _executable_of(
    jaxpr: Jaxpr, donated: tuple[bool, ...], effort: int | None, kinds: frozenset[str]
) -> Executable:
    """Return the compiled form of a program with checks of these kinds, which are asked for now."""
    donated = usable_donations(jaxpr, donated)
    found = structure_of(jaxpr)
    if found is None:
        return compiled(jaxpr, donated, effort)
    places = sources_of(jaxpr) if kinds else ()
    key = (found[0], donated, effort, config.trace_context(), places)
    make = lambda: compiled(jaxpr, donated, effort, captured=found[1])  # noqa: E731
    return _shared(key, found[1], weakref.ref(jaxpr), make)


def checked_program(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program with the checks that are asked for; the same one for each call."""
    return _checked_program(jaxpr, checked_kinds())


@weak_identity_cache
def _checked_program(jaxpr: Jaxpr, kinds: frozenset[str]) -> Jaxpr:
    """Return the program with the checks `kinds`, which are asked for now."""
    return checked(jaxpr, Executable)


def compiled(
    jaxpr: Jaxpr,
    donated: tuple[bool, ...] = (),
    effort: int | None = None,
    source: Callable[[], Jaxpr | None] | None = None,
    captured: list[Any] | None = None,
) -> Executable:
    """Compile a program, with the checks that are asked for; the rest is as of `Executable`."""
    fitting.check_programs(jaxpr)
    program = checked(jaxpr, Executable)
    return Executable(program, donated, effort, source=source, captured=captured)


install_base_trace(EvalTrace(None, Tag("evaluation")))


def effects_barrier() -> None:
    """Return when all effects have happened: at once, since execution is synchronous.

    >>> jax.debug.print("now")
    now
    >>> jax.effects_barrier()
    """
