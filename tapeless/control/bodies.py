"""Bodies of loops and branches: from the user's functions to programs, and the checks in between.

A body is traced on trees of avals; what it captures (arrays, tracers of enclosing functions)
becomes
explicit operands.  Mismatches are reported by the user's own names: the path of the leaf inside the
body function's parameter, both types, and what to change.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tapeless import dtypes
from tapeless.core.aval import ShapedArray, is_value
from tapeless.core.jaxpr import DebugInfo, Jaxpr
from tapeless.core.trace import Value
from tapeless.prims.convert import convert
from tapeless.transforms.stage import refuse_returned_references, stage_flat
from tapeless.tree.arguments import argument_names, leaf_names
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.keys import keystr
from tapeless.tree.paths import tree_flatten_with_path
from tapeless.tree.prefix import equality_errors, equality_errors_pytreedef
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.chains import source_name
from tapeless.util.seqs import few

__all__ = [
    "Body",
    "carry_name",
    "check_branches",
    "check_carry",
    "flatten_values",
    "promote_weak",
    "trace_body",
    "type_difference",
]


class Body:
    """A traced body: its program, whose captured values `consts` are leading inputs."""

    __slots__ = ("consts", "jaxpr", "out_tree")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Value], out_tree: PyTreeDef) -> None:
        """consts: as many leading inputs of `jaxpr`."""
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.out_tree = out_tree

    @property
    def out_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the results."""
        return self.jaxpr.out_avals


def flatten_values(tree: Any) -> tuple[list[Value], PyTreeDef]:
    """Flatten operands, and refuse leaves that are no values."""
    leaves, treedef = tree_flatten(tree)
    for leaf in leaves:
        if not is_value(leaf):
            raise TypeError(f"Argument '{leaf}' of type {type(leaf)} is not a valid JAX type")
    return leaves, treedef


def trace_body(
    function: Callable,
    in_tree: PyTreeDef,
    avals: Sequence[ShapedArray],
    purpose: str,
    names: Sequence[str] | None = None,
) -> Body:
    """Trace a function of the arguments `in_tree` (a tuple) on these types.

    names: what messages call the arguments' leaves; by default what the function calls them.
    """
    out_trees: list[PyTreeDef] = []

    def flat(*leaves: Value) -> list[Value]:
        """Call the function and flatten its result."""
        result = function(*tree_unflatten(in_tree, leaves))
        pairs, out_tree = tree_flatten_with_path(result)
        out_trees.append(out_tree)
        for path, out in pairs:
            if not is_value(out):
                where = f" at output component {keystr(path)}" if path else ""
                raise TypeError(
                    f"function {source_name(function)} traced for {purpose} returned a value of "
                    f"type {type(out)}{where}, which is not a valid JAX type"
                )
        outs = [out for _, out in pairs]
        refuse_returned_references(outs, source_name(function), purpose)
        return outs

    what = f"{purpose} of {source_name(function)}"
    if names is None:
        names = argument_names(function, tree_unflatten(in_tree, range(len(avals))), {})
    debug = DebugInfo(getattr(function, "__name__", purpose), tuple(names))
    jaxpr = stage_flat(flat, avals, what, debug)
    return Body(jaxpr.lift_consts(), jaxpr.consts, out_trees[0])


def carry_name(function: Callable, position: int = 0, default: str = "carry") -> str:
    """Return the name of the body function's own carry parameter."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return default
    return names[position] if position < len(names) else default


def promote_weak(
    values: Sequence[Value], avals: Sequence[ShapedArray], outs: Sequence[ShapedArray]
) -> tuple[list[Value], bool]:
    """Convert weakly typed initial values whose results are of another dtype.

    Returns the values and whether any was changed: then the body must be traced again.
    """
    promoted, changed = [], False
    for value, aval, out in zip(values, avals, outs, strict=True):
        if aval.weak_type and aval.dtype != out.dtype and aval.shape == out.shape:
            dtype = dtypes.result_type(aval, out)
            if dtype != aval.dtype:
                value = convert(value, dtype)
                changed = True
        promoted.append(value)
    return promoted, changed


def check_carry(
    loop: str,
    name: str,
    in_tree: PyTreeDef,
    avals: Sequence[ShapedArray],
    out: Any,
    outs: Sequence[ShapedArray],
) -> None:
    """Raise JAX's TypeError when a body's carry output is not of the type of its input.

    out: the tree of the output carry.
    """
    start = f"{loop} body function carry input and carry output must have "
    if in_tree != out:
        this = tree_unflatten(in_tree, list(avals))
        other = tree_unflatten(out, list(outs))
        lines = [
            f"the input carry {_component(name, path)} is a {a} but the corresponding component of "
            f"the carry output is a {b}, so {why}"
            for path, a, b, why in equality_errors(this, other)
        ]
        differences = _listed(lines)
        if other is None:
            shown = f"the input tree structure is:\n{in_tree}\n"
            differences = f"{shown}the output tree structure is:\n{out}"
        raise TypeError(
            f"{start}the same pytree structure, but they differ:\n\n{differences}\n\nRevise the "
            "function so that the carry output has the same pytree structure as the carry input."
        )
    names = leaf_names(name, tree_unflatten(in_tree, list(avals)))
    lines = [
        f"the input carry {_leaf(name, path)} has type {a.str_short(False)} but the corresponding "
        f"output carry component has type {b.str_short(False)}{type_difference(a, b)}"
        for path, a, b in zip(names, avals, outs, strict=True)
        if (a.shape, a.dtype) != (b.shape, b.dtype)
    ]
    if lines:
        raise TypeError(
            f"{start}equal types, but they differ:\n\n{_listed(lines)}\n\nRevise the function "
            f"so that "
            "all output types match the corresponding input types."
        )


def check_branches(
    kind: str, names: Sequence[str], functions: Sequence[Callable], bodies: Sequence[Body]
) -> None:
    """Raise JAX's TypeError when branches do not return the same tree of types."""
    first = bodies[0]
    for name, function, body in zip(names[1:], functions[1:], bodies[1:], strict=True):
        who = f"{names[0]} is {source_name(functions[0])}\n{name} is {source_name(function)}"
        revise = f"Revise {names[0]} and/or {name} so that"
        if first.out_tree != body.out_tree:
            differences = equality_errors_pytreedef(first.out_tree, body.out_tree)
            lines = [
                f"{names[0]} output{_at(keystr(path))} is a {a} but {name} "
                f"output{_at(keystr(path))} is a {b}, so {why}"
                for path, a, b, why in differences
            ]
            raise TypeError(
                f"{kind} branch outputs must have the same pytree structure, but they differ:\n\n"
                f"{who}\n\n{_listed(lines, capital=False)}\n\n{revise} they have the same "
                f"pytree structure."
            )
        paths = leaf_names("", tree_unflatten(first.out_tree, list(first.out_avals)))
        lines = [
            f"the output of {names[0]}{_at(path)} has type {a.str_short(False)} but the "
            f"corresponding output of {name} has type {b.str_short(False)}{type_difference(a, b)}"
            for path, a, b in zip(paths, first.out_avals, body.out_avals, strict=True)
            if (a.shape, a.dtype) != (b.shape, b.dtype)
        ]
        if lines:
            raise TypeError(
                f"{kind} branches must have equal output types but they differ.\n\n{who}\n\n"
                f"{_listed(lines)}\n\n{revise} all output types match."
            )


def _component(name: str, path: Any) -> str:
    """Return `c`, or `component c[0]` for a part of the carry."""
    return _leaf(name, name + keystr(path))


def _leaf(name: str, path: str) -> str:
    """Return `c`, or `component c['a']`."""
    return path if path == name else f"component {path}"


def _at(path: str) -> str:
    """Return ` at path [1]`, or nothing for the whole output."""
    return f" at path {path}" if path else ""


def type_difference(a: ShapedArray, b: ShapedArray) -> str:
    """Say in what two types differ."""
    if a.shape != b.shape and a.dtype != b.dtype:
        return ", so the dtypes do not match, and the shapes do not match"
    return ", so the dtypes do not match" if a.dtype != b.dtype else ", so the shapes do not match"


def _listed(lines: Sequence[str], capital: bool = True) -> str:
    """Return one sentence, or a list of several."""
    if len(lines) == 1:
        line = lines[0]
        return (line[0].upper() + line[1:] if capital else line) + "."
    return ";\n".join(f"  * {line}" for line in few(lines)) + "."
