"""How texts, bytes and headers are damaged, for the fuzzer.

A change takes a generator of random numbers and a text, and returns another text.  Some keep to the
grammar, so that what reads the text gets further: names that are defined twice, functions that call
themselves, regions that are missing or too many, nesting, integers of a thousand digits.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

from tests.stablehlo.corpus import PRINTED

__all__ = ["CHANGES", "damaged_bytes", "damaged_json"]

Change = Callable[[random.Random, str], str]


def damaged_bytes(rng: random.Random, data: bytes) -> bytes:
    """Return bytes with a bit, a piece or all of them changed."""
    where, length = rng.randrange(len(data) + 1), rng.choice((1, 2, 8, 100))
    return [
        lambda: data[:where],
        lambda: data[:where] + rng.randbytes(length) + data[where + length :],
        lambda: data[:where] + rng.randbytes(length) + data[where:],
        lambda: data[:where] + data[where + length :],
        lambda: bytes(b ^ (rng.random() < 0.01) for b in data),
        lambda: rng.randbytes(len(data)),
        lambda: data + rng.randbytes(length),
    ][rng.randrange(7)]()


_ODD = (None, -1, 2**70, 1.5, "", "*", "x", [], {}, [[]], True, {"tuple": ["*", "*"]}, {"dict": 3})


def damaged_json(rng: random.Random, value: Any) -> Any:
    """Return a value of JSON with some part replaced."""
    if rng.random() < 0.15 or not isinstance(value, (list, dict)) or not value:
        return rng.choice(_ODD)
    copy = json.loads(json.dumps(value))
    key = rng.choice(sorted(copy) if isinstance(copy, dict) else range(len(copy)))
    if rng.random() < 0.1:
        del copy[key]
    else:
        copy[key] = damaged_json(rng, copy[key])
    return copy


_TOKEN = re.compile(r"[\w.]+|[^\w\s]|\s+")
_WORDS = [
    *PRINTED.split(), "0", "1", "-1", "7", "4294967296", "9223372036854775808", "1.0e40",
    "0x7FC00000",
    "f32", "i1", "i32", "ui8", "f64", "complex", "tensor", "x", "?", "<", ">", "(", ")", "{", "}",
    "[", "]", ":", ",", "->", "=", "%0", "%arg0", "%c", "dense", "array", "dims", "true", "unit",
    "stablehlo.", "func.func", "return", "@main", "private", "\"", "#", "splat", "loc", "\0", "é",
]  # fmt: skip


def _token_changed(rng: random.Random, text: str) -> str:
    """Replace, remove, repeat or exchange tokens."""
    tokens = _TOKEN.findall(text)
    if not tokens:
        return text
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    how = rng.randrange(5)
    if how == 0:
        tokens[i] = rng.choice(_WORDS)
    elif how == 1:
        del tokens[i]
    elif how == 2:
        tokens[i], tokens[j] = tokens[j], tokens[i]
    elif how == 3:
        tokens[i] = tokens[j]
    else:
        tokens.insert(i, rng.choice(_WORDS))
    return "".join(tokens)


_NUMBERS = ("0", "1", "2", "3", "5", "17", "4294967296", "9" * 30, "9" * 5000)


def _number_changed(rng: random.Random, text: str) -> str:
    """Change one number, or all numbers that are equal to it."""
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return text
    found, new = rng.choice(numbers), rng.choice(_NUMBERS)
    if rng.random() < 0.4:
        return re.sub(rf"\b{found.group()}(?!\d)", new, text)
    return text[: found.start()] + new + text[found.end() :]


def _line_changed(rng: random.Random, text: str) -> str:
    """Remove, repeat, move or exchange lines."""
    lines = text.splitlines()
    if not lines:
        return text
    i, j, how = rng.randrange(len(lines)), rng.randrange(len(lines)), rng.randrange(4)
    if how == 0:
        del lines[i]
    elif how == 1:
        lines[i], lines[j] = lines[j], lines[i]
    elif how == 2:
        lines.insert(i, lines[j])
    else:
        lines.insert(i, lines.pop(j))
    return "\n".join(lines)


def _type_changed(rng: random.Random, text: str) -> str:
    """Change one type everywhere."""
    types = sorted(set(re.findall(r"tensor<[^>]*>", text)))
    if not types:
        return text
    new = rng.choice((*types, "tensor<f32>", "tensor<3xi32>", "tensor<0x4xf32>", "tensor<4xi1>"))
    return text.replace(rng.choice(types), new)


def _piece_changed(rng: random.Random, text: str) -> str:
    """Cut, or put characters somewhere, halves of surrogate pairs among them."""
    where, length = rng.randrange(len(text) + 1), rng.choice((1, 1, 5, 60, 1000))
    if rng.random() < 0.5:
        return text[:where] + text[where + length :]
    first, end = rng.choice(((1, 600), (0xD800, 0xE000), (0x10000, 0x110000)))
    return (
        text[:where] + "".join(chr(rng.randrange(first, end)) for _ in range(length)) + text[where:]
    )


def _nested_deeply(rng: random.Random, text: str) -> str:
    """Repeat a bracket very often."""
    where = rng.randrange(len(text) + 1)
    return text[:where] + rng.choice(("(", "[", "{", "<", "tuple<", "#a<")) * 20000 + text[where:]


def _name_changed(rng: random.Random, text: str) -> str:
    """Let a value have the name of another, where it is defined or everywhere."""
    names = sorted(set(re.findall(r"%\w+", text)))
    if not names:
        return text
    old, new = rng.choice(names), rng.choice(names)
    return re.sub(rf"{old}\b", new, text, count=rng.choice((0, 1)))


def _call_changed(rng: random.Random, text: str) -> str:
    """Let a function call itself or another one, or have the name of another one."""
    names = sorted(set(re.findall(r"@\w+", text)))
    uses = list(re.finditer(r"@\w+", text))
    if not uses:
        return text
    use = rng.choice(uses)
    return text[: use.start()] + rng.choice(names) + text[use.end() :]


def _region_changed(rng: random.Random, text: str) -> str:
    """Remove, repeat, empty or exchange what stands in a pair of braces."""
    opened = [match.start() for match in re.finditer(r"\{", text)]
    if not opened:
        return text
    (start, end), (other, other_end) = (_closed(text, rng.choice(opened)) for _ in range(2))
    piece = text[start:end]
    new = rng.choice(("", "{}", f"{piece}, {piece}", f"{{{piece}}}", text[other:other_end]))
    return text[:start] + new + text[end:]


def _closed(text: str, start: int) -> tuple[int, int]:
    """Return where the pair of braces begins and ends that is opened at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return start, i + 1
    return start, len(text)


def _nested_regions(rng: random.Random, text: str) -> str:
    """Put many operations with regions around one another before an operation."""
    lines = text.splitlines()
    n, name = (
        rng.choice((3, 60, 150, 1000)),
        rng.choice(("if", "case", "while", "optimization_barrier")),
    )
    before = [f'%n{i} = "stablehlo.{name}"(%nested) ({{' for i in range(n)]
    inner = "%nested = stablehlo.constant dense<true> : tensor<i1>"
    after = [
        f"stablehlo.return {f'%n{i + 1}' if i + 1 < n else '%nested'} : tensor<i1>"
        "}, {stablehlo.return %nested : tensor<i1>}) : (tensor<i1>) -> tensor<i1>"
        for i in reversed(range(n))
    ]
    where = rng.randrange(len(lines) + 1)
    return "\n".join((*lines[:where], inner, *before, *after, *lines[where:]))


CHANGES: tuple[Change, ...] = (
    *(_token_changed,) * 6, *(_number_changed,) * 4, *(_line_changed,) * 4, *(_type_changed,) * 3,
    *(_name_changed,) * 3, *(_region_changed,) * 3, *(_call_changed,) * 2, _piece_changed,
    _nested_deeply, _nested_regions,
)  # fmt: skip
