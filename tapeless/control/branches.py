"""Branches as users write them: `cond`, `switch`, `platform_dependent`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapeless import config, dtypes, errors
from tapeless.control.bodies import Body, check_branches, flatten_values, trace_body
from tapeless.control.cond import cond_p
from tapeless.core.aval import is_value, typeof
from tapeless.core.jaxpr import Jaxpr, Var
from tapeless.core.source import current_source
from tapeless.core.trace import Tracer, Value, trace_state_clean
from tapeless.prims.bitwise import bitwise_and
from tapeless.prims.check import NamedFault, check
from tapeless.prims.common import as_value
from tapeless.prims.compare import ge, le, ne
from tapeless.prims.convert import convert_element_type
from tapeless.prims.select import clamp
from tapeless.transforms.dce import forwarded_inputs
from tapeless.tree.flatten import tree_unflatten
from tapeless.util.frames import api_boundary
from tapeless.util.seqs import merge, select

__all__ = ["cond", "platform_dependent", "switch"]

_NOT_GIVEN = object()


@api_boundary
def cond(
    pred: Any, true_fun: Callable, false_fun: Callable, *operands: Any, operand: Any = _NOT_GIVEN
) -> Any:
    """Return `true_fun(*operands)` if `pred`, else `false_fun(*operands)`; only one of them runs.

    pred: (), operands: any trees; both branches: operands -> one type of result.
    pred: a scalar bool (a number counts as true unless it is 0).  Both functions are traced and
    must return the same tree of types.

    >>> cond(True, lambda x: x + 1, lambda x: x - 1, 10.0)
    Array(11., dtype=float32, weak_type=True)
    """
    if len(operands) == 2 and callable(false_fun) and callable(operands[1]):
        if not callable(true_fun) or not callable(operands[0]):
            return _cond_with_two_operands(pred, true_fun, false_fun, *operands)
    if operand is not _NOT_GIVEN:
        if operands:
            raise TypeError(
                f"if 'operand' keyword is passed then no positional operands can be passed, got "
                f"operand={operand!r} and positional operands {operands!r}"
            )
        operands = (operand,)
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    index = _predicate(pred)
    if config.current.jax_disable_jit and not isinstance(pred, Tracer):
        return true_fun(*operands) if pred else false_fun(*operands)
    # The first branch runs for index 0, so that false comes first; messages name true first.
    return _branch("cond", index, [true_fun, false_fun], ["true_fun", "false_fun"], operands, True)


def _cond_with_two_operands(
    pred: Any, true_operand: Any, true_fun: Callable, false_operand: Any, false_fun: Callable
) -> Any:
    """Return `true_fun(true_operand)` or `false_fun(false_operand)`: the older signature."""
    return cond(
        pred,
        lambda operands: true_fun(operands[0]),
        lambda operands: false_fun(operands[1]),
        (true_operand, false_operand),
    )


def _predicate(pred: Any) -> Value:
    """Return the predicate as an int32 branch index, or raise JAX's TypeError."""
    if pred is None:
        raise TypeError("cond predicate is None")
    if not is_value(pred):
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}")
    aval = typeof(pred)
    if aval.shape:
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {aval.shape}.")
    if aval.dtype != np.bool_:
        if not (
            dtypes.issubdtype(aval.dtype, np.integer) or dtypes.issubdtype(aval.dtype, np.floating)
        ):
            name = dtypes.dtype_name(aval.dtype)
            raise TypeError(f"Pred type must be either boolean or number, got {name}.")
        pred = ne(pred, aval.dtype.type(0)) if isinstance(pred, Tracer) else bool(pred)
    if isinstance(pred, (bool, np.bool_)):
        return np.int32(pred)
    return convert_element_type(pred, np.int32)


@api_boundary
def switch(
    index: Any, branches: Sequence[Callable], *operands: Any, operand: Any = _NOT_GIVEN
) -> Any:
    """Return `branches[index](*operands)`; an index outside the range is clamped to it.

    index: (), operands: any trees; each branch: operands -> one type of result.

    >>> switch(5, [lambda x: x, lambda x: -x], 3.0)
    Array(-3., dtype=float32, weak_type=True)
    """
    if operand is not _NOT_GIVEN:
        operands = (operand,)
    functions = list(branches)
    if not all(callable(function) for function in functions):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    if not functions:
        raise ValueError("Empty branch sequence")
    if not is_value(index):
        raise TypeError(f"Index type must be an integer, got {index}.")
    aval = typeof(index)
    if aval.shape:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")
    if not dtypes.issubdtype(aval.dtype, np.integer):
        name = dtypes.dtype_name(aval.dtype)
        raise TypeError(f"Index type must be an integer, got {index} as {name}")
    if len(functions) == 1:
        return functions[0](*operands)
    last = len(functions) - 1
    if config.current.jax_disable_jit and not isinstance(index, Tracer):
        return functions[min(max(int(index), 0), last)](*operands)
    index = convert_element_type(index, np.int32)
    if config.current.tapeless_check_switches:
        _check_index(index, last)
    index = clamp(np.int32(0), index, np.int32(last))
    names = [f"branch {0}", *[f"branch{i}" for i in range(1, len(functions))]]
    return _branch("switch", index, functions, names, operands, False)


def _check_index(index: Value, last: int) -> None:
    """Let the program end where the index of a switch is none of a branch."""
    fine = bitwise_and(ge(index, np.int32(0)), le(index, np.int32(last)))
    text = f"index {{}} is out of bounds for a switch of {last + 1} branches"
    check(fine, NamedFault(current_source(), text, errors.OutOfBoundsError), index)


def _branch(
    kind: str,
    index: Value,
    functions: Sequence[Callable],
    names: Sequence[str],
    operands: tuple,
    swap: bool,
) -> Any:
    """Trace the branches, check them, and bind one equation."""
    leaves, tree = flatten_values(operands)
    avals = [typeof(leaf) for leaf in leaves]
    bodies = [trace_body(function, tree, avals, kind) for function in functions]
    check_branches(kind, names, functions, bodies)
    consts, programs = join_consts(bodies)
    programs = programs[::-1] if swap else programs
    outs = _bind_cond(index, consts, programs, leaves)
    return tree_unflatten(bodies[0].out_tree, outs)


def join_consts(bodies: Sequence[Body]) -> tuple[list[Value], list[Jaxpr]]:
    """Give all branches the captured values of all as leading inputs; equal ones once."""
    consts: list[Value] = []
    places: dict[int, int] = {}
    for body in bodies:
        for value in body.consts:
            if id(value) not in places:
                places[id(value)] = len(consts)
                consts.append(value)
    programs = []
    for body in bodies:
        n_own = len(body.consts)
        own = {
            places[id(v)]: var
            for v, var in zip(body.consts, body.jaxpr.invars[:n_own], strict=True)
        }
        leading = [own[i] if i in own else _fresh(value) for i, value in enumerate(consts)]
        programs.append(body.jaxpr.replace(invars=(*leading, *body.jaxpr.invars[n_own:])))
    return consts, programs


def _fresh(value: Value) -> Any:
    """Return a variable for a captured value that a branch does not use."""
    return Var(typeof(value))


def _bind_cond(
    index: Value, consts: list[Value], programs: list[Jaxpr], leaves: list[Value]
) -> list[Value]:
    """Bind the branch without results that every branch merely passes on."""
    sources = [forwarded_inputs(program) for program in programs]
    inputs = [*consts, *leaves]
    passed = [s is not None and all(o[i] == s for o in sources) for i, s in enumerate(sources[0])]
    kept = [not flag for flag in passed]
    branches = tuple(program.replace(outvars=select(program.outvars, kept)) for program in programs)
    outs = cond_p.bind(index, *inputs, branches=branches)
    same = [as_value(inputs[s]) for s in select(sources[0], passed) if s is not None]
    return merge(passed, outs, same)


def platform_dependent(
    *args: Any, default: Callable | None = None, **per_platform: Callable
) -> Any:
    """Call the function for this platform, the CPU, or `default`.

    args: any trees; under a transformation their leaves are arrays or become such, and elsewhere
    all but NumPy's arrays are handed on as they are.  Each function: args -> one type of result.

    >>> jax.jit(lambda x: platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x))(2.0)
    Array(3., dtype=float32, weak_type=True)
    """
    function = per_platform.get("cpu", default)
    if function is None:
        raise NotImplementedError("Found unsupported platform: cpu. Give `cpu` or `default`.")
    leaves, tree = flatten_values(args)
    is_free = trace_state_clean()
    values = [x if is_free and not isinstance(x, np.ndarray) else as_value(x) for x in leaves]
    return function(*tree_unflatten(tree, values))
