"""The forms without quotes, in which operations are usually printed.

Nearly all of them are made of the same parts, in some order:

    stablehlo.compare LT, %0, %1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.dot_general %0, %1, contracting_dims = [1] x [0], precision = [HIGH, HIGH] : ...
    stablehlo.slice %0 [0:4:2, 1:3] : ...
    stablehlo.custom_call @f(%0) {api_version = 1 : i32} : ...

that is operands, words, `key = setting` pairs, ranges, one symbol, a dictionary.  So there is one
reader for the parts (`_parts`), and a table that says what the words and keys of an operation are
called in full.  The few with regions (`while`, `reduce`), and constants, have readers of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tapeless.stablehlo.attributes import (
    attribute,
    balanced,
    commas,
    conv_dimensions,
    dictionary,
    fields,
    number,
    skip_location,
    type_of,
    types_in_parentheses,
)
from tapeless.stablehlo.syntax import Operation, Place, Region, TensorType, Type, Word
from tapeless.stablehlo.tokens import Reader, unquoted

__all__ = ["Parts", "operand", "parts"]

# What the settings of an operation are called in full.
_FULL_NAMES = {
    "stablehlo.broadcast": {"sizes": "broadcast_sizes"},
    "stablehlo.broadcast_in_dim": {"dims": "broadcast_dimensions"},
    "stablehlo.concatenate": {"dim": "dimension"},
    "stablehlo.dot": {"precision": "precision_config"},
    "stablehlo.dot_general": {"precision": "precision_config"},
    "stablehlo.dynamic_broadcast_in_dim": {"dims": "broadcast_dimensions"},
    "stablehlo.dynamic_iota": {"dim": "iota_dimension"},
    "stablehlo.dynamic_slice": {"sizes": "slice_sizes"},
    "stablehlo.einsum": {"config": "einsum_config"},
    "stablehlo.fft": {"type": "fft_type", "length": "fft_length"},
    "stablehlo.get_dimension_size": {"dim": "dimension"},
    "stablehlo.iota": {"dim": "iota_dimension"},
    "stablehlo.pad": {
        "low": "edge_padding_low",
        "high": "edge_padding_high",
        "interior": "interior_padding",
    },
    "stablehlo.reverse": {"dims": "dimensions"},
    "stablehlo.rng": {"distribution": "rng_distribution"},
    "stablehlo.rng_bit_generator": {"algorithm": "rng_algorithm"},
    "stablehlo.set_dimension_size": {"dim": "dimension"},
    "stablehlo.transpose": {"dims": "permutation"},
    "stablehlo.unary_einsum": {"config": "einsum_config"},
}
_RETURNS = frozenset({"return", "func.return", "stablehlo.return"})
# Operations whose types, without an arrow, are one per result.
_LISTED = frozenset({"stablehlo.optimization_barrier", "stablehlo.while"})
# Operations whose one type is that of the result only.
_MIXED = frozenset({"stablehlo.clamp", "stablehlo.complex", "chlo.constant_like"})


@dataclass(slots=True)
class Parts:
    """What an operation is made of, while it is read."""

    operands: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    operand_types: list[Type] | None = None
    result_types: list[Type] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


RegionReader = Callable[..., Region]


def operand(r: Reader) -> str:
    """Read the name of a value; `%0#0` is another name of `%0`."""
    name = r.take_kind("value", "a value, such as %0")
    return name.removesuffix("#0")


def parts(r: Reader, name: str, place: Place, region: RegionReader) -> Parts:
    """Read an operation after its name."""
    if name == "stablehlo.while":
        return _while(r, region)
    if name == "stablehlo.reduce":
        return _reduce(r, place, region)
    if name == "stablehlo.constant":
        return _constant(r)
    if "." not in name and name not in ("call", "return"):
        place.fail(f"expected an operation, found {name!r}")
    found = Parts()
    _read_parts(r, name, found)
    _types(r, name, found)
    return _in_full(name, found, place)


def _read_parts(r: Reader, name: str, found: Parts) -> None:
    """Read operands, words, settings, ranges and dictionaries, up to the types."""
    while True:
        if r.at_kind("value"):
            found.operands.append(operand(r))
        elif r.skip("("):
            found.operands += commas(r, ")", _part)
            _move_settings(found)
        elif r.at_kind("symbol"):
            found.attributes["callee"] = attribute(r)
        elif r.at_kind("string"):
            found.attributes["name"] = unquoted(r.advance().text)
        elif r.at("["):
            found.attributes["ranges"] = _ranges(r)
        elif r.at("{"):
            found.attributes.update(dictionary(r))
        elif r.at("<"):
            found.attributes["sharding"] = balanced(r)
        elif r.at_kind("name") and r.after("="):
            key, value = _setting(r)
            found.attributes[key] = value
        elif r.at_kind("name") and not r.at("loc"):
            found.words.append(r.advance().text)
        elif not r.skip(","):
            return


def _part(r: Reader) -> Any:
    """Read an operand or a setting between parentheses."""
    return _setting(r) if r.at_kind("name") else operand(r)


def _move_settings(found: Parts) -> None:
    """Move settings that stood between operands, as in `chlo.top_k(%0, k = 2)`."""
    found.attributes.update(x for x in found.operands if not isinstance(x, str))
    found.operands = [x for x in found.operands if isinstance(x, str)]


def _setting(r: Reader) -> tuple[str, Any]:
    """Read `key = setting`; a setting may be a pair of lists, `[0] x [1]`."""
    key = r.take_kind("name", "a setting")
    r.take("=")
    if key == "dim_numbers":
        return key, conv_dimensions(r)
    if key == "window":
        return key, _window(r)
    if r.at("["):
        first = _words_or_numbers(r)
        return key, (first, _words_or_numbers(r)) if r.skip("x") else first
    if r.at("<"):
        return key, fields(r)
    return key, _plain(r)


def _words_or_numbers(r: Reader) -> list:
    """Read a list of words, numbers or lists of them."""
    r.take("[")
    return commas(r, "]", lambda r: _words_or_numbers(r) if r.at("[") else _plain(r))


def _plain(r: Reader) -> Any:
    """Read true, false, a word, a text or a number; a colon after it belongs to what follows."""
    if r.at("true") or r.at("false"):
        return r.advance().text == "true"
    if r.at_kind("number"):
        return number(r)
    if r.at_kind("string"):
        return unquoted(r.advance().text)
    return Word(r.take_kind("name", "a word or a number"))


def _window(r: Reader) -> dict[str, Any]:
    """Read the window of a convolution, `{stride = [1, 1], pad = [[0, 0]]}`."""
    r.take("{")
    return dict(commas(r, "}", _setting))


def _ranges(r: Reader) -> list[tuple[int, ...]]:
    """Read `[0:4:2, 1:3]`, or one index in brackets."""

    def one(r: Reader) -> tuple[int, ...]:
        """Read start, limit and stride, as far as they are there."""
        found = [r.take_integer()]
        while r.skip(":"):
            found.append(r.take_integer())
        return tuple(found)

    r.take("[")
    return commas(r, "]", one)


def _types(r: Reader, name: str, found: Parts) -> None:
    """Read the types after the colon, if there are any."""
    if not r.skip(":"):
        return
    before = types_in_parentheses(r)
    while r.skip(","):
        before.append(type_of(r))
    if r.skip("->"):
        found.operand_types = before
        found.result_types = types_in_parentheses(r)
    elif name in _RETURNS:
        found.operand_types = before
    elif name in _LISTED:
        found.operand_types = found.result_types = before
    else:
        found.result_types = before[-1:]
        if len(before) == 1 and isinstance(before[0], TensorType) and name not in _MIXED:
            found.operand_types = before * len(found.operands)


def _in_full(name: str, found: Parts, place: Place) -> Parts:
    """Give attributes the names and forms that they have in the generic form."""
    attributes = found.attributes
    for short, full in _FULL_NAMES.get(name, {}).items():
        if short in attributes:
            attributes[full] = attributes.pop(short)
    if name in _WORDED:
        _WORDED[name](found, place)
    elif found.words:
        place.fail(f"{name} does not know the word {found.words[0]!r}")
    return found


def _compare(found: Parts, place: Place) -> None:
    """Name the words of `compare LT, %0, %1, FLOAT`."""
    for key, word in zip(("comparison_direction", "compare_type"), found.words, strict=False):
        found.attributes[key] = Word(word)


def _slice(found: Parts, place: Place) -> None:
    """Turn ranges into starts, limits and strides."""
    ranges = found.attributes.pop("ranges", [])
    if not all(2 <= len(entry) <= 3 for entry in ranges):
        place.fail("a slice wants start:limit or start:limit:stride for each axis")
    full = [(*entry, 1)[:3] for entry in ranges]
    names = ("start_indices", "limit_indices", "strides")
    for number_, key in enumerate(names):
        found.attributes[key] = [entry[number_] for entry in full]


def _tuple_element(found: Parts, place: Place) -> None:
    """Name the index of `get_tuple_element %0[1]`."""
    ranges = found.attributes.pop("ranges", [])
    if len(ranges) != 1 or len(ranges[0]) != 1:
        place.fail("get_tuple_element wants one index in brackets")
    found.attributes["index"] = ranges[0][0]


def _dot_general(found: Parts, place: Place) -> None:
    """Collect the dimension numbers."""
    numbers = {}
    for short, full in (("batching_dims", "batching"), ("contracting_dims", "contracting")):
        pair = found.attributes.pop(short, ([], []))
        if not isinstance(pair, tuple):
            place.fail(f"{short} wants a list per operand, such as [1] x [0]")
        numbers[f"lhs_{full}_dimensions"], numbers[f"rhs_{full}_dimensions"] = pair
    found.attributes["dot_dimension_numbers"] = numbers


def _convolution(found: Parts, place: Place) -> None:
    """Take the window apart."""
    attributes = found.attributes
    attributes["dimension_numbers"] = attributes.pop("dim_numbers", None)
    window = attributes.pop("window", {})
    names = {
        "stride": "window_strides",
        "pad": "padding",
        "lhs_dilate": "lhs_dilation",
        "rhs_dilate": "rhs_dilation",
        "reverse": "window_reversal",
    }
    attributes.update((names.get(key, key), value) for key, value in window.items())


def _reduce_precision(found: Parts, place: Place) -> None:
    """Take `format = e5m10` apart."""
    match = re.fullmatch(r"e(\d{1,3})m(\d{1,3})", str(found.attributes.pop("format", "")))
    if match is None:
        place.fail("reduce_precision wants a format such as e5m10")
    found.attributes["exponent_bits"], found.attributes["mantissa_bits"] = map(int, match.groups())


def _custom_call(found: Parts, place: Place) -> None:
    """Name the target."""
    found.attributes["call_target_name"] = found.attributes.pop("callee", "")


_WORDED: dict[str, Callable[[Parts, Place], None]] = {
    "stablehlo.compare": _compare,
    "stablehlo.convolution": _convolution,
    "stablehlo.custom_call": _custom_call,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.get_tuple_element": _tuple_element,
    "stablehlo.reduce_precision": _reduce_precision,
    "stablehlo.slice": _slice,
}


def _constant(r: Reader) -> Parts:
    """Read `stablehlo.constant {...} dense<...> : type`."""
    found = Parts()
    if r.at("{"):
        found.attributes.update(dictionary(r))
    value = attribute(r)
    found.attributes["value"] = value
    found.operand_types = []
    found.result_types = [getattr(value, "type", None) or r.fail("a constant, dense<...> : type")]
    return found


def _while(r: Reader, region: RegionReader) -> Parts:
    """Read `(%iterArg = %0, ...) : types cond {...} do {...}`."""
    found = Parts()

    def pair(r: Reader) -> tuple[str, str]:
        """Read an argument of the loop and where it starts."""
        name = r.take_kind("value", "an argument of the loop")
        r.take("=")
        return name, operand(r)

    r.take("(")
    carried = commas(r, ")", pair)
    found.operands = [start for _, start in carried]
    _types(r, "stablehlo.while", found)
    if r.skip("attributes"):
        found.attributes.update(dictionary(r))
    if len(found.result_types) != len(carried):
        r.fail(f"{len(carried)} types before it")
    names = [name for name, _ in carried]
    arguments = tuple(zip(names, found.result_types, strict=True))
    r.take("cond")
    found.regions.append(region(r, arguments))
    r.take("do")
    found.regions.append(region(r, arguments))
    found.operand_types = found.result_types
    return found


def _reduce(r: Reader, place: Place, region: RegionReader) -> Parts:
    """Read `(%0 init: %1), ... applies f across dimensions = [0] : types reducer(...) {...}`."""
    found, starts, folder = Parts(), [], None
    while True:
        r.take("(")
        found.operands.append(operand(r))
        r.take("init")
        r.take(":")
        starts.append(operand(r))
        r.take(")")
        if not r.skip(","):
            break
    found.operands += starts
    if r.skip("applies"):
        folder = r.take_kind("name", "an operation")
    r.take("across")
    key, found.attributes["dimensions"] = _setting(r)
    if r.at("{"):
        found.attributes.update(dictionary(r))
    _types(r, "stablehlo.reduce", found)
    if found.operand_types is None or len(found.operand_types) != len(found.operands):
        place.fail(f"{key}: reduce wants the types of {len(found.operands)} operands")
    if folder is None:
        found.regions.append(_reducer(r, region))
    else:
        found.regions.append(_applied(folder, found.operand_types[-1], place))
    return found


def _reducer(r: Reader, region: RegionReader) -> Region:
    """Read `reducer(%a: t, %b: t) (%c: u, %d: u) {...}`: arguments in pairs."""
    skip_location(r)
    r.take("reducer")
    pairs = []
    while r.skip("("):
        pairs.append(commas(r, ")", _typed_name))
        if len(pairs[-1]) != 2:
            r.fail("pairs of arguments before it")
    return region(r, tuple(pair[side] for side in (0, 1) for pair in pairs))


def _typed_name(r: Reader) -> tuple[str, Type]:
    """Read `%a: tensor<f32>`."""
    name = r.take_kind("value", "an argument")
    r.take(":")
    kind = type_of(r)
    skip_location(r)
    return name, kind


def _applied(folder: str, kind: Type, place: Place) -> Region:
    """Return the region that applies one operation to its two arguments."""
    pair = (kind, kind)
    step = Operation(folder, ("%a", "%b"), ("%c",), pair, (kind,), place)
    last = Operation("stablehlo.return", ("%c",), (), (kind,), (), place)
    return Region((("%a", kind), ("%b", kind)), (step, last), place)
