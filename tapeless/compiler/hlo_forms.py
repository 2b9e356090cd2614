"""The short forms in which MLIR prints the frequent operations.

    stablehlo.sine %0 : tensor<3xf32>                          one type for all
    stablehlo.slice %0 [1:2, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>
    chlo.erf %0 : tensor<3xf32> -> tensor<3xf32>

Every other operation is written in the generic form, `"name"(operands) <{attributes}> : type`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tapeless.compiler.hlo_text import function_type, integers, tensor_type
from tapeless.core.aval import ShapedArray

__all__ = ["short_form"]

# Operations without attributes: `name operands : types`.
_PLAIN = """
abs add and atan2 bitcast_convert cbrt ceil clamp complex convert cosine count_leading_zeros divide
dynamic_update_slice exponential exponential_minus_one floor imag is_finite log log_plus_one
logistic maximum minimum multiply negate not or popcnt power real remainder reshape
round_nearest_afz round_nearest_even rsqrt select shift_left shift_right_arithmetic
shift_right_logical sign sine sqrt subtract tan tanh xor
"""
_PLAIN_NAMES = frozenset(f"stablehlo.{name}" for name in _PLAIN.split())
_ALWAYS_FUNCTION_TYPE = ("stablehlo.reshape", "stablehlo.dynamic_update_slice")
Attributes = Mapping[str, str]


def _spans(attributes: Attributes) -> str:
    """Return the ranges of a slice."""
    bounds = [
        re.findall(r"-?\d+", attributes[name].partition(":")[2])
        for name in ("start_indices", "limit_indices", "strides")
    ]
    spans = [
        f"{start}:{stop}" if step == "1" else f"{start}:{stop}:{step}"
        for start, stop, step in zip(*bounds, strict=True)
    ]
    return f" [{', '.join(spans)}]"


def _margins(attributes: Attributes) -> str:
    """Return the widths of a padding."""
    names = {"low": "edge_padding_low", "high": "edge_padding_high", "interior": "interior_padding"}
    return "".join(f", {short} = {integers(attributes[name])}" for short, name in names.items())


def _float_format(attributes: Attributes) -> str:
    """Return the format that a float is rounded to."""
    exponent, mantissa = (
        attributes[name].split()[0] for name in ("exponent_bits", "mantissa_bits")
    )
    return f", format = e{exponent}m{mantissa}"


# What follows the operands, made of the attributes.
_FORMS: dict[str, Callable[[Attributes], str]] = {
    "stablehlo.broadcast_in_dim": lambda a: f", dims = {integers(a['broadcast_dimensions'])}",
    "stablehlo.concatenate": lambda a: f", dim = {a['dimension'].split()[0]}",
    "stablehlo.dynamic_slice": lambda a: f", sizes = {integers(a['slice_sizes'])}",
    "stablehlo.pad": _margins,
    "stablehlo.reduce_precision": _float_format,
    "stablehlo.reverse": lambda a: f", dims = {integers(a['dimensions'])}",
    "stablehlo.slice": _spans,
    "stablehlo.transpose": lambda a: f", dims = {integers(a['permutation'])}",
}
_ONE_TYPE = ("stablehlo.reduce_precision", "stablehlo.reverse")


def short_form(
    name: str,
    operands: str,
    inputs: Sequence[ShapedArray],
    outs: Sequence[ShapedArray],
    attributes: Attributes,
) -> str | None:
    """Return the text of an operation that has a shorter form than the generic one, else None."""
    types = [tensor_type(aval) for aval in inputs]
    results = [tensor_type(aval) for aval in outs]
    kind = function_type(inputs, outs)
    if name == "stablehlo.select" and inputs[0].shape == inputs[1].shape:
        return f"{name} {operands} : {types[0]}, {results[0]}"
    if name == "stablehlo.optimization_barrier" and types:
        return f"{name} {operands} : {', '.join(types)}"
    if name == "stablehlo.complex":
        return f"{name} {operands} : {results[0]}"
    if name.startswith("chlo.") and not attributes and len(results) == 1:
        return f"{name} {operands} : {', '.join(types)} -> {results[0]}"
    if name in _PLAIN_NAMES and not attributes:
        same = len({*types, *results}) == 1 and name not in _ALWAYS_FUNCTION_TYPE
        return f"{name} {operands} : {results[0] if same else kind}"
    if name == "stablehlo.compare":
        order, sort = (re.findall(r"(\w+)>", attributes[key])[0] for key in sorted(attributes))
        return f"{name} {sort}, {operands}, {order} : {kind}"
    if name in _FORMS:
        one_type = name in _ONE_TYPE
        return f"{name} {operands}{_FORMS[name](attributes)} : {results[0] if one_type else kind}"
    return None
