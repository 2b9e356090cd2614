"""From a module to programs: each function is staged once, by evaluating its operations.

Values are kept by name.  A region sees the values around it; it becomes a Python function, which
the rule of its operation hands to a loop, a branch, or a fold.  Calls between functions become
`jit` equations, so that the program has the structure of the module.

What the text says of types is checked: those of operands before a rule runs, those of its results
after it.  So a module that is read is also verified, as far as it is evaluated.

Constants stay NumPy values until an operation needs them: rules can see that they are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tapeless import config
from tapeless.control.jit import jit_p
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.jaxpr import DebugInfo, Jaxpr
from tapeless.core.trace import Value
from tapeless.stablehlo import elements, folds, generators, libraries, loops, products, shapes
from tapeless.stablehlo.calls import Call, Rules
from tapeless.stablehlo.syntax import (
    Function,
    Module,
    ModuleError,
    Operation,
    Place,
    Region,
    Type,
)
from tapeless.stablehlo.types import array_type
from tapeless.transforms.stage import stage_flat

__all__ = ["entry_of", "program_of"]

_RULES: Rules = {
    **elements.RULES,
    **shapes.RULES,
    **folds.RULES,
    **products.RULES,
    **loops.RULES,
    **libraries.RULES,
    **generators.RULES,
}
# What rules raise for operands and attributes that do not go together, and for too many levels.
_MISFITS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
Environment = dict[str, Any]


def entry_of(module: Module) -> Function:
    """Return the function that a module is called by: `main`, or the only public one."""
    if "main" in module.functions:
        return module.functions["main"]
    public = [function for function in module.functions.values() if function.public]
    if len(public) == 1:
        return public[0]
    names = ", ".join(f"@{name}" for name in module.functions)
    raise ModuleError(f"the module has no function @main, and not one public function: {names}")


def program_of(module: Module, function: Function) -> Jaxpr:
    """Return a function as a program, with what it calls inside."""
    with config.enable_x64(True):  # the text names every dtype, so nothing is narrowed
        return _Programs(module).program(function)


class _Programs:
    """The functions of a module that have been staged."""

    def __init__(self, module: Module) -> None:
        """module: what is staged."""
        self.module = module
        self.staged: dict[str, Jaxpr] = {}
        self.pending: list[str] = []

    def program(self, function: Function) -> Jaxpr:
        """Return the program of a function."""
        if function.name in self.pending:
            function.place.fail(f"the function @{function.name} calls itself")
        if function.name not in self.staged:
            self.pending.append(function.name)
            self.staged[function.name] = self._stage(function)
            self.pending.pop()
        return self.staged[function.name]

    def _stage(self, function: Function) -> Jaxpr:
        """Evaluate a function on variables of its types."""
        avals = [_array_argument(kind, function.place) for kind in function.body.types]
        names = [name.removeprefix("%") for name, _ in function.body.arguments]

        def run(*args: Value) -> list[Value]:
            """Evaluate the body."""
            outs = _run_region(self, function.body, {}, args)
            wanted = [_array_argument(kind, function.place) for kind in function.result_types]
            place = function.body.operations[-1].place
            _check_types("returned values", outs, wanted, place)
            return list(outs)

        debug = DebugInfo(function.name, tuple(names))
        return stage_flat(run, avals, f"load of {function.name}", debug)

    def callable(self, name: str, place: Place) -> Callable[..., tuple[Value, ...]]:
        """Return what calls the function of a name."""
        if name not in self.module.functions:
            place.fail(f"the module has no function @{name}")
        jaxpr = self.program(self.module.functions[name])
        return lambda *args: jit_p.bind(*args, name=name, jaxpr=jaxpr, inline=False)


def _array_argument(kind: Type, place: Place) -> ShapedArray:
    """Return the type of an argument or a result of a function, which must be an array."""
    aval = array_type(kind, place)
    if aval is None:
        raise NotImplementedError(
            f"StableHLO text, {place}: functions take and return arrays, got {kind}"
        )
    return aval


def _run_region(
    programs: _Programs, region: Region, around: Mapping[str, Any], args: Sequence[Any]
) -> tuple[Any, ...]:
    """Evaluate a region on values of its arguments, and return what it returns."""
    wanted = [array_type(kind, region.place) for kind in region.types]
    _check_types("arguments", args, wanted, region.place)
    env: Environment = dict(around)
    for (name, _), value in zip(region.arguments, args, strict=True):
        env[name] = value
    for operation in region.operations[:-1]:
        outs = _evaluated(programs, operation, env)
        env.update(zip(operation.results, outs, strict=True))
    last = region.operations[-1]
    return tuple(_read(env, name, last.place) for name in last.operands)


def _read(env: Environment, name: str, place: Place) -> Any:
    """Return the value of a name."""
    if name not in env:
        place.fail(f"the value {name} is not defined here")
    return env[name]


def _evaluated(programs: _Programs, operation: Operation, env: Environment) -> Sequence[Any]:
    """Return the results of an operation."""
    rule, place = _RULES.get(operation.name), operation.place
    if rule is None:
        raise NotImplementedError(
            f"StableHLO text, {place}: the operation {operation.name} is not supported"
        )
    operands = [_read(env, name, place) for name in operation.operands]
    if operation.operand_types is not None:
        wanted = [array_type(kind, place) for kind in operation.operand_types]
        _check_types("operands", operands, wanted, place)
    types = [array_type(kind, place) for kind in operation.result_types]
    call = Call(
        operation,
        tuple(aval for aval in types if aval is not None),
        [_region_function(programs, region, env) for region in operation.regions],
        lambda name: programs.callable(name, place),
        env,
    )
    try:
        outs = rule(call, *operands)
    except ModuleError:
        raise
    except NotImplementedError as error:
        if str(error).startswith("StableHLO text"):
            raise
        text = f"StableHLO text, {place}: {operation.name}: {error}"
        raise NotImplementedError(text) from error
    except _MISFITS as error:
        place.fail(f"{operation.name}: {type(error).__name__}: {error}")
    outs = tuple(outs) if isinstance(outs, (tuple, list)) else (outs,)
    _check_types("results", outs, types, place)
    return outs


def _region_function(
    programs: _Programs, region: Region, env: Environment
) -> Callable[..., tuple[Value, ...]]:
    """Return a region as a function."""
    around = dict(env)
    return lambda *args: _run_region(programs, region, around, args)


def _check_types(
    what: str, values: Sequence[Any], wanted: Sequence[ShapedArray | None], place: Place
) -> None:
    """Refuse values that are not of the types that the text says; None: a token or a tuple."""
    if len(values) != len(wanted):
        place.fail(f"{len(wanted)} {what} are declared, but there are {len(values)}")
    for value, aval in zip(values, wanted, strict=True):
        if aval is None or value is None:
            if (aval is None) != (value is None or isinstance(value, tuple)):
                place.fail(f"{what}: an array is not a token or a tuple")
            continue
        if isinstance(value, tuple):
            place.fail(f"{what}: an array is wanted, got a tuple")
        found = typeof(value)
        if found.shape != aval.shape or found.dtype != aval.dtype:
            there = found.strong().str_short(True)
            place.fail(f"{what}: {aval.str_short(True)} is declared, but there is {there}")
