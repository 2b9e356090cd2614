"""Types and attributes: from text to the Python values that `syntax` describes.

Attributes of the dialects come in three shapes, told apart by what follows the name:

    #stablehlo<comparison_direction LT>          a Word
    #stablehlo.gather<offset_dims = [1], ...>    a dict
    #stablehlo.conv<[b, f, 0]x[o, i, 0]->...>    three lists of names and numbers

What is unknown is skipped to its closing bracket and kept as text, so that attributes of other
tools do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tapeless.stablehlo.syntax import (
    Dense,
    Opaque,
    Symbol,
    TensorType,
    TupleType,
    Type,
    Word,
)
from tapeless.stablehlo.tokens import Reader, unquoted

__all__ = [
    "attribute",
    "attribute_list",
    "commas",
    "conv_dimensions",
    "dictionary",
    "fields",
    "skip_location",
    "type_of",
    "types_in_parentheses",
]

_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_EXTENTS = r"((?:(?:\d{1,18}|\?)x)*)"
_ELEMENT = r"(complex<f\d+>|[A-Za-z]\w*)"
_TENSOR = re.compile(rf"tensor<{_EXTENTS}{_ELEMENT}\s*(,.*)?>")


def commas(r: Reader, closing: str, element: Callable[[Reader], Any]) -> list:
    """Read elements between commas up to a closing bracket, whose opening one has been read."""
    found: list = []
    with r.nested():
        while not r.skip(closing):
            if found:
                r.take(",")
            found.append(element(r))
    return found


# Types


def type_of(r: Reader) -> Type:
    """Read a type."""
    if r.at_kind("tensor"):
        return tensor_type(r)
    if r.skip("tuple"):
        r.take("<")
        return TupleType(tuple(commas(r, ">", type_of)))
    if r.at_kind("bang"):
        name = r.advance().text
        return Opaque(name + (balanced(r) if r.at("<") else ""))
    name = r.take_kind("name", "a type")
    return Opaque(name + (balanced(r) if r.at("<") else ""))


def tensor_type(r: Reader) -> TensorType:
    """Read a tensor type."""
    text = r.peek.text
    match = _TENSOR.fullmatch(text)
    if match is None and "!quant" in text:
        r.place().fail(
            f"{text}: quantized elements are not supported; run the pass "
            "stablehlo-legalize-quant-to-math on the module first"
        )
    if match is None:
        r.fail("a ranked tensor type, such as tensor<3x4xf32>")
    r.advance()
    extents = match.group(1).split("x")[:-1]
    return TensorType(tuple(None if n == "?" else int(n) for n in extents), match.group(2))


def types_in_parentheses(r: Reader) -> list[Type]:
    """Read one type, or several in parentheses; each may have attributes, which are dropped."""

    def one(r: Reader) -> Type:
        """Read a type and what is said about it."""
        kind = type_of(r)
        if r.at("{"):
            dictionary(r)
        skip_location(r)
        return kind

    return commas(r, ")", one) if r.skip("(") else [type_of(r)]


# Attributes


def attribute(r: Reader) -> Any:
    """Read an attribute, and the type that may follow it."""
    kind = r.peek.kind
    if kind == "string":
        return _typed(r, unquoted(r.advance().text))
    if kind == "symbol":
        return _symbol(r)
    if kind == "number":
        return _typed(r, number(r))
    if kind == "hash":
        return _dialect_attribute(r)
    if r.at("{"):
        return dictionary(r)
    if r.at("["):
        return attribute_list(r)
    if r.at("<"):
        return fields(r)
    if r.at("("):
        return _function_type(r)
    if kind == "name":
        return _named_attribute(r)
    return type_of(r)


def _function_type(r: Reader) -> tuple[tuple[Type, ...], tuple[Type, ...]]:
    """Read `(tensor<f32>) -> tensor<f32>`."""
    inputs = types_in_parentheses(r)
    r.take("->")
    return tuple(inputs), tuple(types_in_parentheses(r))


def attribute_list(r: Reader) -> list:
    """Read attributes in square brackets."""
    r.take("[")
    return commas(r, "]", attribute)


def dictionary(r: Reader) -> dict[str, Any]:
    """Read `{name = attribute, name}`; a name alone stands for true."""
    r.take("{")
    return dict(commas(r, "}", _field))


def fields(r: Reader) -> dict[str, Any]:
    """Read the same in angle brackets."""
    r.take("<")
    return dict(commas(r, ">", _field))


def _field(r: Reader) -> tuple[str, Any]:
    """Read a name and what it is set to."""
    quoted = r.at_kind("string")
    name = unquoted(r.advance().text) if quoted else r.take_kind("name", "the name of an attribute")
    return name, attribute(r) if r.skip("=") else True


def _typed(r: Reader, value: Any) -> Any:
    """Return a value after reading the type that may follow it; a float where that is one."""
    if not r.skip(":"):
        return value
    kind = type_of(r)
    is_float = isinstance(kind, Opaque) and re.fullmatch(r"b?f\d\w*", kind)
    return float(value) if is_float and isinstance(value, int) else value


def _symbol(r: Reader) -> Symbol:
    """Read the name of a function."""
    text = r.advance().text[1:]
    return Symbol(unquoted(text) if text.startswith('"') else text)


def number(r: Reader) -> Any:
    """Read an int or a float; hexadecimal digits are kept: what they mean depends on the type."""
    text = r.take_kind("number", "a number")
    if text.startswith("0x"):
        return Opaque(text)
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:  # more digits than Python converts
        r.fail("a number of fewer digits before it")


def _named_attribute(r: Reader) -> Any:
    """Read an attribute that begins with a word: true, dense<...>, array<...>, unit, or a type."""
    text = r.peek.text
    if text in ("true", "false"):
        r.advance()
        return _typed(r, text == "true")
    if text == "unit":
        r.advance()
        return True
    if text == "dense":
        return dense(r)
    if text == "array" and r.after("<"):
        return _array(r)
    if text in ("loc", "affine_map", "affine_set", "opaque"):
        r.advance()
        return Opaque(text + balanced(r))
    if text == "dense_resource":
        r.place().fail("a constant whose bytes are not in the text (dense_resource) cannot be read")
    return type_of(r)


def _array(r: Reader) -> list:
    """Read `array<i64: 1, 2>`."""
    r.take("array")
    r.take("<")
    r.take_kind("name", "an element type")
    return commas(r, ">", _scalar) if r.skip(":") else commas(r, ">", attribute)


def _scalar(r: Reader) -> Any:
    """Read true, false or a number."""
    if r.at("true") or r.at("false"):
        return r.advance().text == "true"
    return number(r)


def dense(r: Reader) -> Dense:
    """Read `dense<...> : type`."""
    place = r.place()
    r.take("dense")
    r.take("<")
    value = [] if r.at(">") else _elements(r)
    r.take(">")
    r.take(":")
    return Dense(value, tensor_type(r), place)


def _elements(r: Reader) -> Any:
    """Read the elements of a constant: nested lists, a pair, or one element."""
    if r.skip("["):
        return commas(r, "]", _elements)
    if r.skip("("):
        return tuple(commas(r, ")", _scalar))
    if r.at_kind("string"):
        return unquoted(r.advance().text)
    return _scalar(r)


def _dialect_attribute(r: Reader) -> Any:
    """Read an attribute of a dialect, or the name of one that is defined elsewhere."""
    name = r.advance().text
    if not r.at("<"):
        return Opaque(name)
    if name in ("#stablehlo", "#chlo"):
        r.take("<")
        r.take_kind("name", "the name of an enumeration")
        word = Word(r.take_kind("name", "a word"))
        r.take(">")
        return word
    if name == "#stablehlo.conv":
        r.take("<")
        dims = conv_dimensions(r)
        r.take(">")
        return dims
    if name.endswith("_mode"):
        r.take("<")
        word = Word(r.take_kind("name", "a word"))
        r.take(">")
        return word
    if name.startswith(("#stablehlo.", "#chlo.")) and name != "#stablehlo.bounds":
        return fields(r)
    return Opaque(name + balanced(r))


def conv_dimensions(r: Reader) -> tuple[list, list, list]:
    """Read `[b, 0, f]x[0, i, o]->[b, 0, f]`."""
    lhs = _axes(r)
    r.take("x")
    rhs = _axes(r)
    r.take("->")
    return lhs, rhs, _axes(r)


def _axes(r: Reader) -> list:
    """Read names of axes: letters, and numbers of spatial axes."""

    def axis(r: Reader) -> Any:
        """Read one."""
        return r.take_integer() if r.at_kind("number") else r.take_kind("name", "an axis")

    r.take("[")
    return commas(r, "]", axis)


def balanced(r: Reader) -> str:
    """Read whatever stands in brackets, and return its text."""
    start = r.peek.offset
    if r.peek.text not in _PAIRS:
        r.fail("an opening bracket")
    stack = []
    while True:
        token = r.advance()
        if token.kind == "end":
            r.fail(f"{stack[-1]!r}")
        if token.text in _PAIRS:
            stack.append(_PAIRS[token.text])
        elif token.text == stack[-1]:
            stack.pop()
            if not stack:
                return r.text[start : token.offset + 1]


def skip_location(r: Reader) -> bool:
    """Read over `loc(...)`, which says where something came from; tell whether it was there."""
    found = r.skip("loc")
    if found:
        balanced(r)
    return found
