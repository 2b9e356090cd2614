"""Operations that are not single instructions: exp, sin, pow, ... as functions of a module.

The kernel's recipes write such an operation as a DAG of simple ones. Here a recipe becomes a
function per dtype and number of lanes, called wherever the operation occurs; a function with few
calls is inlined.

Some recipes end in a rarely needed slow way (a sine of 1e30) that is many times longer than the
usual one. It is not part of the module: it is a module of its own, compiled once per process when a
program first takes it (`ondemand.py`), so that programs do not pay for compiling what they will not
run.

Texts are kept per process: a recipe is written once for a target, not once per program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from tapeless.compiler.formats import format_of, typed
from tapeless.compiler.regions import Code, Function, Module, Region, Value
from tapeless.compiler.target import Target
from tapeless.compiler.values import SLOW, Values
from tapeless.kernel.cheap import is_recipe
from tapeless.kernel.graph import walk
from tapeless.kernel.halves import HALVES
from tapeless.kernel.ir import Affine, Buffer, Index, Load, Op, Reduce, Scalar
from tapeless.kernel.nodes import Nodes
from tapeless.kernel.scalar import OF_BITS, recipe
from tapeless.util.records import record, replace

__all__ = ["call_recipe", "instructions", "slow_text"]

_FLOAT32 = np.dtype(np.float32)
_INSTRUCTIONS = {"div": 4.0, "sqrt": 5.0, "rem": 8.0}
_FLOAT_REMAINDER = 60.0  # a call of the C library for each lane


@record
class _Text:
    """Parts of a module: functions, how often they are called, and what they call."""

    functions: Mapping[str, tuple[str, str]]
    uses: Mapping[str, int]
    declared: Mapping[str, str]


@record
class _Signature:
    """What tells one function of a recipe from another."""

    name: str
    dtype: np.dtype
    sources: tuple[np.dtype, ...]
    lanes: int
    target: Target

    def symbol(self) -> str:
        """Spell the function's name."""
        return f"{self.name}.{self.dtype.name}.{self.lanes}"

    def parameters(self) -> list[str]:
        """Spell the types of the parameters."""
        return [typed(format_of(source).register, self.lanes) for source in self.sources]

    def result(self) -> str:
        """Spell the type of the result."""
        return typed(format_of(self.dtype).register, self.lanes)


def instructions(scalar: Op) -> float:
    """Estimate how many instructions an operation is, the slow way of a recipe left out."""
    if is_recipe(scalar):
        return _recipe_instructions(scalar.name, scalar.dtype, _sources(scalar))
    if scalar.name == "rem" and scalar.dtype.kind == "f":
        return _FLOAT_REMAINDER
    return _INSTRUCTIONS.get(scalar.name, 1.0)


def _sources(scalar: Op) -> tuple[np.dtype, ...]:
    """Return the types of the operands."""
    return tuple(arg.dtype for arg in scalar.args)


@cache
def _recipe_instructions(
    name: str,
    dtype: np.dtype,
    sources: tuple[np.dtype, ...],
) -> float:
    """Add up the operations of a recipe's expression."""
    body, _, _ = _expression(name, dtype, sources)
    if isinstance(body, Op) and body.name == "rare":
        body = body.args[2]
    total = 0.0
    for node in walk((body,)):
        if isinstance(node, Op):
            total += instructions(node)
    return total


def call_recipe(region: Region, scalar: Op, args: Sequence[str], lanes: int) -> str:
    """Call the function of `scalar`'s operation, adding it to the module at its first use."""
    module = region.function.module
    signature = _Signature(scalar.name, scalar.dtype, _sources(scalar), lanes, module.target)
    symbol, kinds = signature.symbol(), signature.parameters()
    function = f'@"{symbol}"'
    if scalar.name.startswith(SLOW):
        region.declare(symbol, "void ()")
        region.declare("tapeless_door", "ptr (ptr)")
        function = region.emit(f'call ptr @tapeless_door(ptr @"{symbol}")')
    else:
        if symbol not in module.functions:
            _include(module, _recipe_text(signature))
        module.uses[symbol] = module.uses.get(symbol, 0) + 1
    passed = ", ".join(f"{kind} {arg}" for kind, arg in zip(kinds, args, strict=True))
    return region.emit(f"call {signature.result()} {function}({passed})")


def _include(module: Module, text: _Text) -> None:
    """Add the functions of a recipe to a module."""
    for name, function in text.functions.items():
        module.functions.setdefault(name, function)
    for name, uses in text.uses.items():
        module.uses[name] = module.uses.get(name, 0) + uses
    for name, kind in text.declared.items():
        module.declare(name, kind)


@cache
def _recipe_text(signature: _Signature) -> _Text:
    """Write the function of a recipe, its slow way left out."""
    body, parameters, entry = _written(signature)
    if isinstance(body, Op) and body.name == "rare":
        wanted, _, fast = body.args
        slow = Op(SLOW + signature.name, parameters, body.dtype, body.free)
        body = Op("rare", (wanted, slow, fast), body.dtype, body.free)
    return _function(signature, body, entry)


def slow_text(symbol: str, target: Target) -> str:
    """Write the module of the slow way with this symbol: they have one argument.

    It computes with numbers of 64 bits. Of narrower ones that fill a register it takes one half
    after the other, which is half as much to compile.
    """
    name, kind, n_lanes = symbol.rsplit(".", 2)
    dtype, lanes = np.dtype(kind), int(n_lanes)
    signature = _Signature(name, dtype, (dtype,), lanes, target)
    usual = replace(signature, name=signature.name.removeprefix(SLOW))
    halved = lanes > 1 and 8 * lanes > signature.target.vector_bytes
    if halved:
        usual = replace(usual, lanes=lanes // 2)
    body, _, entry = _written(usual)
    assert isinstance(body, Op), "only a recipe that ends in a choice has a slow way"
    module = Module(signature.target, signature.symbol())
    inner = replace(signature, name="half", lanes=lanes // 2) if halved else signature
    _include(module, _function(inner, body.args[1], entry))
    if halved:
        _write_halves(module, signature, inner)
    return module.text()


def _write_halves(module: Module, signature: _Signature, inner: _Signature) -> None:
    """Write a function that calls another one for each half of its lanes."""
    region = Region(None, Function(module), "function", Code("entry"))
    results = []
    for start in (0, inner.lanes):
        lanes = _chosen(range(start, start + inner.lanes))
        passed = []
        for number, kind in enumerate(signature.parameters()):
            half = region.emit(f"shufflevector {kind} %a{number}, {kind} poison, {lanes}")
            part = inner.parameters()[number]
            passed.append(f"{part} {half}")
        arguments = ", ".join(passed)
        call = region.emit(f'call {inner.result()} @"{inner.symbol()}"({arguments})')
        results.append(f"{inner.result()} {call}")
    halves = ", ".join(results)
    joined = region.emit(f"shufflevector {halves}, {_chosen(range(signature.lanes))}")
    region.do(f"ret {signature.result()} {joined}")
    _finish(module, signature, region)


def _chosen(lanes: range) -> str:
    """Spell which lanes a shuffle takes."""
    numbers = ", ".join(f"i32 {lane}" for lane in lanes)
    return f"<{len(lanes)} x i32> <{numbers}>"


def _written(signature: _Signature) -> tuple[Scalar, tuple[Load, ...], Region]:
    """Write a recipe over parameters; and open the function that has them."""
    lanes = signature.lanes
    body, parameters, lane = _expression(signature.name, signature.dtype, signature.sources)
    function = Function(Module(signature.target, signature.symbol()))
    entry = Region(None, function, "function", Code("entry"), var=lane, position="0", lanes=lanes)
    for number, parameter in enumerate(parameters):
        kind = typed(format_of(parameter.dtype).register, lanes)
        entry.cache[parameter] = Value(f"%a{number}", lanes, kind)
    return body, parameters, entry


@cache
def _expression(
    name: str, dtype: np.dtype, sources: tuple[np.dtype, ...]
) -> tuple[Scalar, tuple[Load, ...], Index]:
    """Write a recipe's expression: the same for all numbers of lanes, and for its slow way."""
    lane, place = Index("lane"), Affine((), 0, frozenset())
    parameters = tuple(
        Load(Buffer((), source, "input", f"argument{number}"), place, source, frozenset((lane,)))
        for number, source in enumerate(sources)
    )
    nodes = Nodes()
    if format_of(dtype).narrow and name not in OF_BITS and name not in HALVES:
        wide = tuple(nodes.convert(parameter, _FLOAT32) for parameter in parameters)
        return nodes.convert(nodes.op(name, *wide), dtype), parameters, lane
    return recipe(name, parameters, nodes), parameters, lane


def _function(signature: _Signature, body: Scalar, entry: Region) -> _Text:
    """Finish the function that returns `body`."""
    module = entry.function.module
    result = Values(_no_reduction, call_recipe).lanes(entry, body, signature.lanes)
    entry.do(f"ret {signature.result()} {result}")
    _finish(module, signature, entry)
    return _Text(module.functions, module.uses, module.declared)


def _finish(module: Module, signature: _Signature, entry: Region) -> None:
    """Put a function into the module."""
    kinds = signature.parameters()
    named = [f"{kind} %a{number}" for number, kind in enumerate(kinds)]
    head = f'{signature.result()} @"{signature.symbol()}"({", ".join(named)})'
    module.functions[signature.symbol()] = (head, "\n".join(("entry:", *entry.code.lines)))


def _no_reduction(values: Values, region: Region, reduce: Reduce) -> tuple[Value, ...]:
    """Refuse: recipes are expressions of one point."""
    raise TypeError("a recipe has no reductions; this is a bug in tapeless")
