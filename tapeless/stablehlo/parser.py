"""From the text of a StableHLO module to `syntax`: functions, regions, and the generic form.

    module @m attributes {...} {
      func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
        %0 = "stablehlo.add"(%arg0, %arg0) <{...}> ({...}) {...} : (...) -> tensor<3xf32>
        %1 = stablehlo.add %0, %0 : tensor<3xf32>
        return %1 : tensor<3xf32>
      }
    }

An operation's name in quotes announces the generic form, which is read here; the forms without
quotes are in `pretty`.  Both come out as the same `Operation`.  The module and its functions may be
operations in the generic form as well, `"builtin.module"` and `"func.func"`.

Locations are read over.  Names that the text gives to attributes (`#map = ...`) are locations in
practice, and read over as well.  A text that breaks the grammar raises ValueError, which tells the
line, the column, what was expected and what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.stablehlo import pretty
from tapeless.stablehlo.attributes import (
    attribute,
    balanced,
    commas,
    dictionary,
    skip_location,
    type_of,
    types_in_parentheses,
)
from tapeless.stablehlo.pretty import Parts
from tapeless.stablehlo.syntax import (
    Function,
    Module,
    ModuleError,
    Operation,
    Place,
    Region,
    Type,
)
from tapeless.stablehlo.tokens import Reader, unquoted

__all__ = ["parse"]

_DIALECTS = frozenset({"chlo", "func", "stablehlo"})


def parse(text: str) -> Module:
    """Read a module.

    >>> parse("func.func @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }").functions
    {'f': Function(name='f', public=True, ...
    """
    if not isinstance(text, str):
        raise TypeError(f"StableHLO text must be a str, got {type(text).__name__}")
    r = Reader(text)
    functions: dict[str, Function] = {}
    name, attributes = "", {}
    _aliases(r)
    if r.at_kind("string"):
        name, attributes = _generic_module(r, functions)
    elif r.skip("module"):
        name = attribute(r) if r.at_kind("symbol") else ""
        if r.skip("attributes"):
            attributes = dictionary(r)
        r.take("{")
        while not r.skip("}"):
            _member(r, functions)
        skip_location(r)
    else:
        while not r.at_kind("end") and not r.at_kind("hash"):
            _member(r, functions)
    _aliases(r)
    if not r.at_kind("end"):
        r.fail("the end of the module")
    if not functions:
        r.place().fail("the module has no function")
    return Module(name, functions, attributes)


def _aliases(r: Reader) -> None:
    """Read over `#loc1 = loc(...)`, the names that a text gives to locations."""
    while r.at_kind("hash") and r.after("="):
        r.advance()
        r.advance()
        if not skip_location(r):
            attribute(r)


def _member(r: Reader, functions: dict[str, Function]) -> None:
    """Read what stands in a module: a function, or a mesh, which is read over."""
    if r.skip("sdy.mesh"):
        r.take_kind("symbol", "the name of a mesh")
        r.take("=")
        balanced(r)
        if r.at("{"):
            dictionary(r)
        skip_location(r)
        return
    _enter(functions, _function(r))


def _generic_module(r: Reader, functions: dict[str, Function]) -> tuple[str, dict[str, Any]]:
    """Read `"builtin.module"() <{sym_name = "m"}> ({...}) : () -> ()`; return name, attributes."""
    properties = _head(r, "builtin.module")
    r.take("{")
    if r.at_kind("block"):
        r.advance()
        r.take(":")
    while not r.skip("}"):
        place = r.place()
        found = _head(r, "func.func")
        body = region(r)
        _tail(r)
        _, results = _function_type(found, place)
        name = str(found.get("sym_name", ""))
        public = found.get("sym_visibility", "public") == "public"
        _enter(functions, Function(name, public, body, results, place))
    return str(properties.get("sym_name", "")), _tail(r)


def _head(r: Reader, name: str) -> dict[str, Any]:
    """Read the name of an operation with one region, and its properties."""
    if not r.at_kind("string") or unquoted(r.peek.text) != name:
        r.fail(f'"{name}"')
    r.advance()
    r.take("(")
    r.take(")")
    properties = _properties(r) if r.at("<") else {}
    r.take("(")
    return properties


def _tail(r: Reader) -> dict[str, Any]:
    """Read what follows the region; return the attributes."""
    r.take(")")
    attributes = dictionary(r) if r.at("{") else {}
    r.take(":")
    attribute(r)
    skip_location(r)
    return attributes


def _function_type(found: dict[str, Any], place: Place) -> tuple[tuple, tuple]:
    """Return the types of arguments and results that the properties of a function name."""
    kind = found.get("function_type")
    return kind if isinstance(kind, tuple) else place.fail("a function needs its function_type")


def _enter(functions: dict[str, Function], function: Function) -> None:
    """Add a function to a module."""
    if function.name in functions:
        function.place.fail(f"the function @{function.name} is defined twice")
    functions[function.name] = function


def _function(r: Reader) -> Function:
    """Read a function."""
    place = r.place()
    if not r.skip("func.func"):
        r.fail("'func.func'")
    public = not r.skip("private")
    r.skip("public")
    name = attribute(r) if r.at_kind("symbol") else r.fail("the name of a function")
    r.take("(")
    arguments = commas(r, ")", _argument)
    results = types_in_parentheses(r) if r.skip("->") else []
    if r.skip("attributes"):
        dictionary(r)
    if not r.at("{"):
        r.fail(f"the body of @{name}")
    body = region(r, tuple(arguments))
    skip_location(r)
    return Function(name, public, body, tuple(results), place)


def _argument(r: Reader) -> tuple[str, Type]:
    """Read the name and the type of an argument."""
    name = r.take_kind("value", "an argument, such as %arg0: tensor<f32>")
    r.take(":")
    kind = type_of(r)
    if r.at("{"):
        dictionary(r)
    skip_location(r)
    return name, kind


def region(r: Reader, arguments: tuple[tuple[str, Type], ...] = ()) -> Region:
    """Read a region, with its braces; arguments: those that its first line does not name."""
    place = r.place()
    r.take("{")
    operations = []
    with r.nested():
        if r.at_kind("block"):
            r.advance()
            if r.skip("("):
                arguments = tuple(commas(r, ")", _argument))
            r.take(":")
        while not r.skip("}"):
            if r.at_kind("block"):
                r.fail("one block in a region")
            operations.append(operation(r))
    if not operations or operations[-1].results or "return" not in operations[-1].name:
        place.fail("a region must end with `return` or `stablehlo.return`")
    _refuse_repeats(arguments, operations, place)
    return Region(arguments, tuple(operations), place)


def _refuse_repeats(
    arguments: Sequence[tuple[str, Type]], operations: Sequence[Operation], place: Place
) -> None:
    """Refuse a name that two values of a region have."""
    known: set[str] = set()
    named = [(tuple(name for name, _ in arguments), place)]
    for names, where in (*named, *((each.results, each.place) for each in operations)):
        for name in names:
            if name in known:
                where.fail(f"the value {name} is defined twice")
            known.add(name)


def operation(r: Reader) -> Operation:
    """Read an operation, in either form, with the names of its results."""
    names, counted = _results(r)
    place = r.place()
    if r.at_kind("string"):
        name, parts = _generic(r)
    else:
        name, parts = _pretty(r, place)
    skip_location(r)
    n_results = len(parts.result_types)
    if len(names) != n_results and (counted or names or n_results):
        place.fail(f"{name} has {n_results} results, but {len(names)} names")
    return Operation(
        name,
        tuple(parts.operands),
        tuple(names),
        None if parts.operand_types is None else tuple(parts.operand_types),
        tuple(parts.result_types),
        place,
        parts.attributes,
        tuple(parts.regions),
    )


def _pretty(r: Reader, place: Place) -> tuple[str, Parts]:
    """Read an operation without quotes; other dialects have forms that are not known here."""
    name = r.take_kind("name", "an operation")
    try:
        return name, pretty.parts(r, name, place, region)
    except ModuleError as error:
        dialect = name.partition(".")[0]
        if dialect == name or dialect in _DIALECTS:
            raise
        raise NotImplementedError(
            f"StableHLO text, {place}: the operation {name} is not supported"
        ) from error


def _results(r: Reader) -> tuple[list[str], bool]:
    """Read `%0, %1:2 =`: a name per result; those of a group are %1 and %1#1."""
    names: list[str] = []
    if not r.at_kind("value"):
        return names, False
    while True:
        name = r.take_kind("value", "the name of a result")
        count = r.take_integer() if r.skip(":") else 1
        if not 0 < count < 10_000:
            r.fail("between 1 and 9999 results")
        names += [name, *(f"{name}#{i}" for i in range(1, count))]
        if not r.skip(","):
            break
    r.take("=")
    return names, True


def _generic(r: Reader) -> tuple[str, Parts]:
    """Read an operation in the generic form."""
    name = unquoted(r.advance().text)
    parts = Parts()
    r.take("(")
    parts.operands = commas(r, ")", pretty.operand)
    if r.at("["):
        r.fail("no successors of an operation")
    if r.at("<"):
        parts.attributes.update(_properties(r))
    if r.skip("("):
        parts.regions = commas(r, ")", region)
    if r.at("{"):
        parts.attributes.update(dictionary(r))
    r.take(":")
    parts.operand_types = types_in_parentheses(r) if r.at("(") else r.fail("the types of operands")
    r.take("->")
    parts.result_types = types_in_parentheses(r)
    return name, parts


def _properties(r: Reader) -> dict[str, Any]:
    """Read `<{name = attribute}>`."""
    r.take("<")
    found = dictionary(r)
    r.take(">")
    return found
