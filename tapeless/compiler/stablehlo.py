"""Programs as StableHLO text, the format in which JAX shows and exports them.

    module @jit_f attributes {...} {
      func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32> {...}) {
        %0 = stablehlo.sine %arg0 : tensor<3xf32>
        return %0 : tensor<3xf32>
      }
    }

The text is for eyes and for other compilers; this package's own does not read it.  Each primitive
has an `hlo` rule, which is given a `Writer` and writes operations through it; one that has none is
written by its decomposition.  A nested `jit` is a function of the module: written once, and called
wherever it stands.  Captured arrays are constants.

Operations are written in MLIR's generic form, `"name"(operands) <{attributes}> ({regions}) : type`,
but for the frequent ones, which have a shorter form of their own (`hlo_forms`).

What a program does besides returning values cannot be written down: callbacks are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from tapeless import dtypes
from tapeless.compiler.hlo_forms import short_form
from tapeless.compiler.hlo_names import named_lines, provisional
from tapeless.compiler.hlo_text import dense, function_type, physical, symbol, tensor_type
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import Eqn, Jaxpr, Literal, Var
from tapeless.core.primitive import Primitive
from tapeless.core.source import names_text, override_source
from tapeless.core.trace import Tracer
from tapeless.prims.rearrangement import array_text
from tapeless.transforms.dce import dce_jaxpr
from tapeless.transforms.stage import stage_flat
from tapeless.util.records import record

__all__ = ["Value", "Writer", "module_text"]

Scopes = tuple[str, ...]  # a name stack as text, in parts
_NO_ALIASES: Mapping[int, int] = MappingProxyType({})


@record
class Value:
    """A value of the text: its name, with the percent sign, and its type."""

    name: str
    aval: ShapedArray


def module_text(
    jaxpr: Jaxpr, name: str, debug_info: bool = False, aliases: Mapping[int, int] = _NO_ALIASES
) -> str:
    """Return the module of a program; with source positions if `debug_info` is set.

    aliases: which result takes the memory of which argument.
    """
    _refuse_effects(jaxpr, name)
    everything = (True,) * len(jaxpr.outvars), (True,) * len(jaxpr.invars)
    jaxpr, _ = dce_jaxpr(jaxpr, *everything)
    module = Module(debug_info, aliases)
    module.function("main", jaxpr, "public", (f"jit({name})",))
    title = re.sub(r"\W", "_", f"jit_{name.replace('>', '')}")
    counts = "mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32"
    body = "\n".join(module.functions)
    return f"module {symbol(title)} attributes {{{counts}}} {{\n{body}\n}}\n"


def _refuse_effects(jaxpr: Jaxpr, name: str) -> None:
    """Raise NotImplementedError for a program with effects."""
    if not jaxpr.effects:
        return
    effects = ", ".join(sorted(map(str, jaxpr.effects)))
    culprit = next(eqn for eqn in jaxpr.eqns if eqn.effects)
    raise NotImplementedError(
        f"{name} cannot be written as StableHLO, because it calls back into Python (effects: "
        f"{effects}): {culprit.primitive} on line {culprit.source.summary()}. Take the callback "
        "out of the function, or compile it without asking for its text."
    )


class Module:
    """The functions written so far, and which program each is."""

    def __init__(self, debug_info: bool, aliases: Mapping[int, int]) -> None:
        """debug_info: whether operations carry their source positions."""
        self.debug_info = debug_info
        self.aliases = aliases
        self.functions: list[str] = []
        self.symbols: dict[Jaxpr, str] = {}
        self.names: set[str] = {"main"}

    def function_of(self, jaxpr: Jaxpr, name: str) -> str:
        """Return the symbol of a program's function, which is written if it is not there."""
        if jaxpr not in self.symbols:
            unique, number = name, 0
            while unique in self.names:
                unique, number = f"{name}_{number}", number + 1
            self.names.add(unique)
            self.symbols[jaxpr] = symbol(unique)
            self.function(unique, jaxpr, "private")
        return self.symbols[jaxpr]

    def function(self, name: str, jaxpr: Jaxpr, visibility: str, scopes: Scopes = ()) -> None:
        """Write a function; those that it calls follow it.  scopes: what its locations begin with.

        A private function has many callers, so that its locations begin with itself.
        """
        position = len(self.functions)
        writer = Writer(self, scopes)
        args = [Value(f"%arg{i}", aval) for i, aval in enumerate(jaxpr.in_avals)]
        outs = writer.inline(jaxpr, args)
        names = ", ".join(value.name for value in outs)
        types = ", ".join(tensor_type(value.aval) for value in outs)
        writer.write(f"return {names} : {types}" if outs else "return")
        inputs = [f"{arg.name}: {tensor_type(arg.aval)}" for arg in args]
        results = [tensor_type(aval) for aval in jaxpr.out_avals]
        if visibility == "public":
            for number, target in self.aliases.items():
                inputs[number] += f" {{tf.aliasing_output = {target} : i32}}"
            infos = jaxpr.debug.results or _result_names(len(results))
            results = [
                f'{t} {{jax.result_info = "{i}"}}' for t, i in zip(results, infos, strict=True)
            ]
        returned = (
            f"({', '.join(results)})" if visibility == "public" or len(results) != 1 else results[0]
        )
        arrow = f" -> {returned}" if results else ""
        head = f"  func.func {visibility} {symbol(name)}({', '.join(inputs)}){arrow} {{"
        lines = named_lines("\n".join(writer.lines).split("\n"), len(args))
        self.functions.insert(position, "\n".join([head, *lines, "  }"]))


def _result_names(count: int) -> Sequence[str]:
    """Return names for results that nobody named."""
    return ["result"] if count == 1 else [f"result[{number}]" for number in range(count)]


class Writer:
    """Writes the operations of one function; `hlo` rules get it as their `b`."""

    def __init__(self, module: Module, scopes: Scopes) -> None:
        """Start an empty function.  scopes: the name stack of what is written, for locations."""
        self.module = module
        self.scopes = scopes
        self.lines: list[str] = []
        self.indent = 4
        self.n_values = 0
        self.location = ""

    # What rules call

    def op(
        self,
        name: str,
        args: Sequence[Value],
        outs: Sequence[ShapedArray],
        attributes: Mapping[str, str] | None = None,
        regions: Sequence[str] = (),
    ) -> tuple[Value, ...]:
        """Write an operation and return its results.

        attributes: their texts by name.  regions: texts made by `region`.
        """
        operands = ", ".join(arg.name for arg in args)
        inputs = [arg.aval for arg in args]
        attributes = attributes or {}
        if not regions and (short := short_form(name, operands, inputs, outs, attributes)):
            return self.assign(short, outs)
        text = f'"{name}"({operands})'
        if attributes:
            text += " <{" + ", ".join(f"{k} = {v}" for k, v in sorted(attributes.items())) + "}>"
        if regions:
            text += f" ({', '.join(regions)})"
        return self.assign(f"{text} : {function_type(inputs, outs)}", outs)

    def custom_call(
        self,
        target: str,
        args: Sequence[Value],
        outs: Sequence[ShapedArray],
        attributes: Mapping[str, str],
    ) -> tuple[Value, ...]:
        """Write the call of a routine that the other compiler knows by the name `target`."""
        operands = ", ".join(arg.name for arg in args)
        texts = ", ".join(f"{name} = {text}" for name, text in sorted(attributes.items()))
        kind = function_type([arg.aval for arg in args], outs)
        call = f"stablehlo.custom_call {symbol(target)}({operands}) {{{texts}}}"
        return self.assign(f"{call} : {kind}", outs)

    def dot_general(
        self,
        args: Sequence[Value],
        outs: Sequence[ShapedArray],
        dimension_numbers: tuple,
        precision: Sequence[str],
    ) -> tuple[Value, ...]:
        """Write a product in its short form; precision: a level per operand."""
        contracting, batching = (
            " x ".join(f"[{', '.join(map(str, side))}]" for side in pair)
            for pair in dimension_numbers
        )
        parts = [arg.name for arg in args]
        if any(dimension_numbers[1]):
            parts.append(f"batching_dims = {batching}")
        parts.append(f"contracting_dims = {contracting}")
        parts.append(f"precision = [{', '.join(precision)}]")
        types = function_type([arg.aval for arg in args], outs)
        return self.assign(f"stablehlo.dot_general {', '.join(parts)} : {types}", outs)

    def constant(self, value: object, aval: ShapedArray) -> Value:
        """Write a constant: an array of this type, or a number for all its elements."""
        text = f"stablehlo.constant {dense(value, physical(aval))} : {tensor_type(aval)}"
        name = self.fresh("cst" if aval.dtype.kind in "fcV" else "c")
        self.write(f"{name} = {text}{self.location}")
        return Value(name, aval)

    def region(
        self,
        avals: Sequence[ShapedArray],
        body: Callable[..., Sequence[Value]],
        scopes: Scopes = (),
    ) -> str:
        """Return the text of a region that takes values of these types and returns `body`'s.

        `body` is called with the values, and writes through this writer, in `scopes`.
        """
        args = [Value(self.fresh("arg"), aval) for aval in avals]
        lines = self._inside(lambda: self._return(body(*args)), scopes)
        pad = " " * self.indent
        typed = ", ".join(f"{arg.name}: {tensor_type(arg.aval)}" for arg in args)
        head = [f"{pad}^bb0({typed}):"] if args else []
        return "\n".join(["{", *head, *lines, pad + "}"])

    def sub(self, jaxpr: Jaxpr) -> str:
        """Return the region of a program, such as the sum in a reduction."""
        return self.region(jaxpr.in_avals, lambda *args: self.inline(jaxpr, args))

    def while_loop(
        self,
        init: Sequence[Value],
        condition: Callable[..., Value],
        body: Callable[..., Sequence[Value]],
    ) -> tuple[Value, ...]:
        """Write a loop: `body` maps the carry to the next one while `condition` of it is true."""
        avals = [value.aval for value in init]
        carry = [Value(self.fresh("iterArg"), aval) for aval in avals]
        head = ", ".join(f"{own.name} = {x.name}" for own, x in zip(carry, init, strict=True))
        test = self._inside(lambda: self._return([condition(*carry)]), ("while", "cond"))
        step = self._inside(lambda: self._return(body(*carry)), ("while", "body"))
        pad = " " * self.indent
        text = [f"stablehlo.while({head}) : {', '.join(map(tensor_type, avals))}", f"{pad}cond {{"]
        text += [*test, f"{pad}}} do {{", *step, f"{pad}}}"]
        return self.assign("\n".join(text), avals)

    def inline(self, jaxpr: Jaxpr, args: Sequence[Value], scopes: Scopes = ()) -> list[Value]:
        """Write a program's equations, in `scopes`, and return its results."""
        env: dict[Var, Value] = dict(zip(jaxpr.invars, args, strict=True))
        for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            if isinstance(value, Tracer):
                raise TypeError(f"a program to be written captures a traced value, {value}")
            env[var] = self.constant(value, var.aval)

        def read(atom: Var | Literal) -> Value:
            """Return the value of an atom."""
            return self.constant(atom.val, atom.aval) if type(atom) is Literal else env[atom]

        around = self.scopes, self.location
        for eqn in jaxpr.eqns:
            self.scopes = (*around[0], *scopes, names_text(eqn.source.names))
            self.location = self._location(eqn) if self.module.debug_info else ""
            outs = self._equation(eqn, [read(atom) for atom in eqn.invars])
            env.update(zip(eqn.outvars, outs, strict=True))
        self.scopes, self.location = around
        return [read(atom) for atom in jaxpr.outvars]

    def call(self, name: str, jaxpr: Jaxpr, args: Sequence[Value]) -> tuple[Value, ...]:
        """Write a call of a program's function."""
        target = self.module.function_of(jaxpr, name)
        operands = ", ".join(arg.name for arg in args)
        kind = function_type(jaxpr.in_avals, jaxpr.out_avals)
        call = "call" if self.indent == 4 else "func.call"
        return self.assign(f"{call} {target}({operands}) : {kind}", jaxpr.out_avals)

    def retyped(self, x: Value, aval: ShapedArray) -> Value:
        """Return a value under another type that the same array carries: keys and their words."""
        assert tensor_type(x.aval) == tensor_type(aval), f"{x.aval} is no carrier of {aval}"
        return Value(x.name, aval)

    def compare(self, direction: str, x: Value, y: Value, total: bool = False) -> Value:
        """Write a comparison, such as "LT", of two values of one type.

        total: whether floats are compared by the total order of IEEE 754.
        """
        dtype = x.aval.dtype
        of_floats = "TOTALORDER" if total else "FLOAT"
        kind = of_floats if dtypes.issubdtype(dtype, np.inexact) else "SIGNED"
        if dtype == np.bool_ or dtypes.issubdtype(dtype, np.unsignedinteger):
            kind = "UNSIGNED"
        attributes = {
            "comparison_direction": f"#stablehlo<comparison_direction {direction}>",
            "compare_type": f"#stablehlo<comparison_type {kind}>",
        }
        out = x.aval.update(dtype=np.dtype(bool))
        return self.op("stablehlo.compare", [x, y], [out], attributes)[0]

    def reduce(
        self, name: str, x: Value, identity: object, axes: Sequence[int], out: ShapedArray
    ) -> Value:
        """Write the fold of a value along axes by the operation `name`, to the type `out`."""
        scalar = x.aval.update(shape=())
        init = self.constant(identity, scalar)
        dims = ", ".join(map(str, axes))
        kind = function_type([x.aval, scalar], [out])
        text = f"stablehlo.reduce({x.name} init: {init.name}) applies {name} across"
        return self.assign(f"{text} dimensions = [{dims}] : {kind}", [out])[0]

    def row(self, x: Value, i: Value) -> Value:
        """Write x[i] along the first axis."""
        aval = x.aval
        starts = [i, *self._zeros(i.aval, physical(aval).ndim - 1)]
        line = aval.update(shape=(1, *aval.shape[1:]))
        sizes = {"slice_sizes": array_text(physical(line).shape)}
        (taken,) = self.op("stablehlo.dynamic_slice", [x, *starts], [line], sizes)
        return self.op("stablehlo.reshape", [taken], [aval.update(shape=aval.shape[1:])])[0]

    def put_row(self, x: Value, row: Value, i: Value) -> Value:
        """Write x with x[i] = row."""
        starts = [i, *self._zeros(i.aval, physical(x.aval).ndim - 1)]
        line = self.op("stablehlo.reshape", [row], [row.aval.update(shape=(1, *row.aval.shape))])
        return self.op("stablehlo.dynamic_update_slice", [x, *line, *starts], [x.aval])[0]

    def select_rows(self, which: Value, x: Value, y: Value) -> Value:
        """Write the choice between the rows of x and y: which (n,), x, y (n, ...)."""
        shape = physical(x.aval).shape
        dims = {"broadcast_dimensions": array_text(range(which.aval.ndim))}
        if which.aval.shape != shape:
            wide = which.aval.update(shape=shape)
            (which,) = self.op("stablehlo.broadcast_in_dim", [which], [wide], dims)
        return self.op("stablehlo.select", [which, x, y], [x.aval])[0]

    def broadcast(self, x: Value, aval: ShapedArray) -> Value:
        """Write a scalar that is repeated to an array."""
        dims = {"broadcast_dimensions": array_text(())}
        return self.op("stablehlo.broadcast_in_dim", [x], [aval], dims)[0]

    def iota(self, aval: ShapedArray, axis: int) -> Value:
        """Write an array of the place of each element along an axis."""
        return self.assign(f"stablehlo.iota dim = {axis} : {tensor_type(aval)}", [aval])[0]

    def cut(self, x: Value, axis: int, start: int, stop: int) -> Value:
        """Write the elements start .. stop of an axis; x itself if that is all of it."""
        shape = list(x.aval.shape)
        if (start, stop) == (0, shape[axis]):
            return x
        starts = [0] * len(shape)
        starts[axis], shape[axis] = start, stop
        attributes = {
            "start_indices": array_text(starts),
            "limit_indices": array_text(shape),
            "strides": array_text([1] * len(shape)),
        }
        shape[axis] -= start
        return self.op("stablehlo.slice", [x], [x.aval.update(shape=tuple(shape))], attributes)[0]

    def axes(self, kind: str, fields: Mapping[str, int | Sequence[int]]) -> str:
        """Return an attribute that names axes, such as the dimension numbers of a gather."""
        texts = []
        for key, value in fields.items():
            if isinstance(value, int):
                texts.append(f"{key} = {value}")
            elif len(value):
                texts.append(f"{key} = [{', '.join(map(str, value))}]")
        return f"#{kind}<{', '.join(texts)}>"

    # What these are made of

    def _zeros(self, aval: ShapedArray, count: int) -> list[Value]:
        """Write as many zeros."""
        return [self.constant(0, aval) for _ in range(count)]

    def assign(self, text: str, outs: Sequence[ShapedArray]) -> tuple[Value, ...]:
        """Write an operation with names for its results."""
        if not outs:
            self.write(text + self.location)
            return ()
        name = self.fresh()
        if len(outs) == 1:
            self.write(f"{name} = {text}{self.location}")
            return (Value(name, outs[0]),)
        self.write(f"{name}:{len(outs)} = {text}{self.location}")
        return tuple(Value(f"{name}#{number}", aval) for number, aval in enumerate(outs))

    def fresh(self, stem: str = "") -> str:
        """Return a new provisional name; see `hlo_names`."""
        self.n_values += 1
        return provisional(stem, self.n_values)

    def write(self, text: str) -> None:
        """Add a line."""
        self.lines.append(" " * self.indent + text)

    def _inside(self, write: Callable[[], None], scopes: Scopes) -> list[str]:
        """Return the lines that `write` writes, one level further in."""
        lines, self.lines = self.lines, []
        around, self.scopes = self.scopes, self.scopes + scopes
        self.indent += 2
        write()
        self.indent -= 2
        self.scopes = around
        lines, self.lines = self.lines, lines
        return lines

    def _return(self, values: Sequence[Value]) -> None:
        """End a region."""
        names = ", ".join(value.name for value in values)
        types = ", ".join(tensor_type(value.aval) for value in values)
        self.write(f"stablehlo.return {names} : {types}" if values else "stablehlo.return")

    def _equation(self, eqn: Eqn, args: Sequence[Value]) -> Sequence[Value]:
        """Write an equation by its primitive's rule, or by its decomposition."""
        prim, params = eqn.primitive, eqn.params
        outs = tuple(var.aval for var in eqn.outvars)
        written = prim.hlo(self, args, outs, **params)
        if written is not NotImplemented:
            return written
        if type(prim).decompose is Primitive.decompose:
            prim.missing("hlo", f"writing it as StableHLO (line {eqn.source.summary()})")
        avals = [arg.aval for arg in args]
        with override_source(eqn.source):
            simpler = stage_flat(lambda *xs: prim.decompose(*xs, **params), avals, prim.name)
        return self.inline(simpler, args)

    def _location(self, eqn: Eqn) -> str:
        """Return where an equation in the current scopes comes from, as MLIR writes it."""
        name = eqn.primitive.name
        if eqn.primitive.shares_names:
            name = f"{name}({eqn.params['name']})"
        path = json.dumps("/".join(filter(None, (*self.scopes, name))))
        mark = eqn.source.frame
        if mark is None:
            return f" loc({path})"
        line, column = mark.position
        return f" loc({path}({json.dumps(mark.filename)}:{line}:{column + 1}))"
