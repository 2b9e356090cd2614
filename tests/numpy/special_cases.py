"""The special cases of the Python array API standard, 2024.12, as data.

A case is a line, `operands -> result`.  An operand is a number or a set of numbers:

    nan  inf  -inf  +0  -0      themselves
    ±0  ±inf                    either sign; in the result, the sign of the first such operand
    pos  neg                    finite numbers above and below zero
    fin                         finite numbers, zeros among them
    >1  <1  <-1                 numbers on one side, without infinities unless `inf` stands beside
    |                           joins sets: `fin|inf`

and a result is a number, a constant (`pi/2`), a class (`nan`), `same` or `second` for an operand,
`minus` for the negative of the first, or a truth value.  Several results joined by `|` are all
allowed.  Complex operands and results are pairs `(real, imaginary)`, where a part of a result may
be `?0` or `?inf`: zero or infinite, of any sign.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

__all__ = ["BINARY", "COMPLEX", "CONJUGATED", "OPERATORS", "UNARY", "cases", "pairs"]

NAN, INF = math.nan, math.inf
# Every floating dtype holds these, but for the first, which float16 does not.
HUGE, NEXT, PREVIOUS = 2.0**100, 1 + 2.0**-7, 1 - 2.0**-8
SETS: dict[str, tuple[float, ...]] = {
    "nan": (NAN,),
    "inf": (INF,),
    "-inf": (-INF,),
    "+0": (0.0,),
    "-0": (-0.0,),
    "±0": (0.0, -0.0),
    "±inf": (INF, -INF),
    "pos": (0.5, 1.0, 1.5, 3.0, 4.0, HUGE),
    "neg": (-0.5, -1.0, -1.5, -3.0, -4.0, -HUGE),
    "fin": (-2.0, -0.0, 0.0, 0.25, HUGE),
    ">1": (NEXT, 2.0, HUGE),
    "<1": (PREVIOUS, 0.0, -0.0, -2.0, -HUGE),
    "<-1": (-NEXT, -2.0, -HUGE),
    "odd": (1.0, 3.0, 7.0),
    "-odd": (-1.0, -3.0, -7.0),
    "even": (2.0, 4.0, 0.5, 1.5, HUGE),  # positive and no odd integer
    "-even": (-2.0, -4.0, -0.5, -1.5, -HUGE),
    "frac": (0.5, -0.5, 2.5, -1.25),
    "whole": (-3.0, -1.0, 1.0, 7.0, HUGE, -HUGE),
    "small": (0.5, -0.5, 0.0, -0.0),  # magnitude below 1
    "large": (1.5, -1.5, HUGE, -HUGE),  # magnitude above 1
    "any": (NAN, INF, -INF, 0.0, -0.0, 1.5, -1.5),
    "num": (INF, -INF, 0.0, -0.0, 1.5, -1.5),
    "in": (0.3, 1.2),  # angles with both a sine and a cosine above zero
}

UNARY = {
    "abs": "nan -> nan; -0 -> +0; ±inf -> inf; +0 -> +0",
    "acos": "nan -> nan; >1|inf -> nan; <-1|-inf -> nan; 1 -> +0; -1 -> pi",
    "acosh": "nan -> nan; <1|-inf -> nan; 1 -> +0; inf -> inf",
    "asin": "nan -> nan; >1|inf -> nan; <-1|-inf -> nan; ±0 -> ±0; 1 -> pi/2",
    "asinh": "nan -> nan; ±0 -> ±0; ±inf -> ±inf",
    "atan": "nan -> nan; ±0 -> ±0; inf -> pi/2; -inf -> -pi/2",
    "atanh": "nan -> nan; <-1|-inf -> nan; >1|inf -> nan; -1 -> -inf; 1 -> inf; ±0 -> ±0",
    "ceil": "whole -> same; ±inf -> ±inf; ±0 -> ±0; nan -> nan; -0.5 -> -0; 0.5 -> 1",
    "cos": "nan -> nan; ±0 -> 1; ±inf -> nan",
    "cosh": "nan -> nan; ±0 -> 1; ±inf -> inf",
    "exp": "nan -> nan; ±0 -> 1; inf -> inf; -inf -> +0",
    "expm1": "nan -> nan; ±0 -> ±0; inf -> inf; -inf -> -1",
    "floor": "whole -> same; ±inf -> ±inf; ±0 -> ±0; nan -> nan; 0.5 -> +0; -0.5 -> -1",
    "isfinite": "±inf -> False; nan -> False; fin -> True",
    "isinf": "±inf -> True; nan -> False; fin -> False",
    "isnan": "±inf -> False; nan -> True; fin -> False",
    "log": "nan -> nan; neg|-inf -> nan; ±0 -> -inf; 1 -> +0; inf -> inf",
    "log1p": "nan -> nan; <-1|-inf -> nan; -1 -> -inf; ±0 -> ±0; inf -> inf",
    "log2": "nan -> nan; neg|-inf -> nan; ±0 -> -inf; 1 -> +0; inf -> inf; 8 -> 3",
    "log10": "nan -> nan; neg|-inf -> nan; ±0 -> -inf; 1 -> +0; inf -> inf; 1000 -> 3",
    "negative": "+0 -> -0; -0 -> +0; inf -> -inf; -inf -> inf; nan -> nan",
    "positive": "pos|neg|±0|±inf -> same; nan -> nan",
    "reciprocal": "nan -> nan; ±inf -> ±0; ±0 -> ±inf",
    "round": "whole -> same; ±inf -> ±inf; ±0 -> ±0; nan -> nan; 0.5 -> +0; -0.5 -> -0; 1.5 -> 2; "
    "2.5 -> 2; -2.5 -> -2",
    "sign": "neg|-inf -> -1; ±0 -> 0; pos|inf -> 1; nan -> nan",
    "signbit": "+0 -> False; -0 -> True; inf -> False; -inf -> True; pos -> False; neg -> True",
    "sin": "nan -> nan; ±0 -> ±0; ±inf -> nan",
    "sinh": "nan -> nan; ±0 -> ±0; ±inf -> ±inf",
    "sqrt": "nan -> nan; neg|-inf -> nan; ±0 -> ±0; inf -> inf",
    "square": "nan -> nan; ±0 -> +0; ±inf -> inf",
    "tan": "nan -> nan; ±0 -> ±0; ±inf -> nan",
    "tanh": "nan -> nan; ±0 -> ±0; inf -> 1; -inf -> -1",
    "trunc": "whole -> same; ±inf -> ±inf; ±0 -> ±0; nan -> nan; 0.5 -> +0; -0.5 -> -0",
}

_UNORDERED = "nan any -> False; any nan -> False; +0 -0 -> {0}; -0 +0 -> {0}; inf inf -> {0}; "
_UNORDERED += "-inf -inf -> {0}; inf fin -> {1}; fin inf -> {2}; -inf fin -> {2}; fin -inf -> {1}"
BINARY = {
    "add": "nan any -> nan; any nan -> nan; inf -inf -> nan; -inf inf -> nan; inf inf -> inf; "
    "-inf -inf -> -inf; inf fin -> inf; -inf fin -> -inf; fin inf -> inf; fin -inf -> -inf; "
    "-0 -0 -> -0; -0 +0 -> +0; +0 -0 -> +0; +0 +0 -> +0; ±0 pos -> second; pos ±0 -> same; "
    "1.5 -1.5 -> +0",
    "atan2": "nan any -> nan; any nan -> nan; pos ±0 -> pi/2; +0 pos|inf -> +0; +0 +0 -> +0; "
    "+0 -0 -> pi; +0 neg|-inf -> pi; -0 pos|inf -> -0; -0 +0 -> -0; -0 -0 -> -pi; "
    "-0 neg|-inf -> -pi; "
    "neg ±0 -> -pi/2; pos inf -> +0; pos -inf -> pi; neg inf -> -0; neg -inf -> -pi; "
    "inf fin -> pi/2; -inf fin -> -pi/2; inf inf -> pi/4; inf -inf -> 3*pi/4; "
    "-inf inf -> -pi/4; -inf -inf -> -3*pi/4",
    "copysign": "pos pos|+0|inf -> same; pos neg|-0|-inf -> minus; ±0 -1 -> -0; ±0 1 -> +0; "
    "±0 -0 -> -0; ±inf +0 -> inf; ±inf -0 -> -inf; nan any -> nan",
    "divide": "nan any -> nan; any nan -> nan; ±inf ±inf -> nan; ±0 ±0 -> nan; +0 pos -> +0; "
    "-0 pos -> -0; +0 neg -> -0; -0 neg -> +0; pos +0 -> inf; pos -0 -> -inf; neg +0 -> -inf; "
    "neg -0 -> inf; inf pos|+0 -> inf; inf neg|-0 -> -inf; -inf pos|+0 -> -inf; "
    "-inf neg|-0 -> inf; "
    "pos inf -> +0; pos -inf -> -0; neg inf -> -0; neg -inf -> +0; 3 4 -> 0.75; -3 4 -> -0.75",
    "equal": _UNORDERED.format(True, False, False),
    "floor_divide": "nan any -> nan; any nan -> nan; ±inf ±inf -> nan; ±0 ±0 -> nan; +0 pos -> +0; "
    "-0 pos -> -0; +0 neg -> -0; -0 neg -> +0; pos +0 -> inf; pos -0 -> -inf; neg +0 -> -inf; "
    "neg -0 -> inf; inf pos|+0 -> inf|nan; inf neg|-0 -> -inf|nan; -inf pos|+0 -> -inf|nan; "
    "-inf neg|-0 -> inf|nan; pos inf -> +0; pos -inf -> -1|-0; neg inf -> -1|-0; neg -inf -> +0; "
    "7 2 -> 3; -7 2 -> -4; 7 -2 -> -4; -7 -2 -> 3; 1 2 -> +0; -1 -2 -> +0",
    "greater": _UNORDERED.format(False, True, False),
    "greater_equal": _UNORDERED.format(True, True, False),
    "hypot": "±inf any -> inf; any ±inf -> inf; nan fin|nan -> nan; fin|nan nan -> nan; "
    "3 4 -> 5; ±0 ±0 -> +0; ±0 pos -> second; pos ±0 -> same",
    "less": _UNORDERED.format(False, False, True),
    "less_equal": _UNORDERED.format(True, False, True),
    "logaddexp": "nan num|nan -> nan; num nan -> nan; inf pos|neg|±0|±inf -> inf; "
    "pos|neg|±0|±inf inf -> inf; -inf -inf -> -inf; -inf pos|neg -> second; pos|neg -inf -> same",
    "maximum": "nan any -> nan; any nan -> nan; inf num -> inf; -inf num -> second; ±0 1 -> 1",
    "minimum": "nan any -> nan; any nan -> nan; -inf num -> -inf; inf num -> second; ±0 1 -> 0",
    "multiply": "nan any -> nan; any nan -> nan; ±inf ±0 -> nan; ±0 ±inf -> nan; inf inf -> inf; "
    "inf -inf -> -inf; -inf inf -> -inf; -inf -inf -> inf; inf pos -> inf; inf neg -> -inf; "
    "-inf pos -> -inf; -inf neg -> inf; pos inf -> inf; neg inf -> -inf; -0 pos -> -0; "
    "-0 neg -> +0; +0 neg -> -0; pos -0 -> -0",
    "nextafter": "nan any -> nan; any nan -> nan; +0 -0 -> -0; -0 +0 -> +0; inf inf -> inf",
    "not_equal": "nan any -> True; any nan -> True; +0 -0 -> False; inf inf -> False; "
    "inf -inf -> True; inf fin -> True",
    "pow": "<1|>1|nan|±inf nan -> nan; any ±0 -> 1; nan pos|neg|±inf -> nan; large inf -> inf; "
    "large -inf -> +0; 1|-1 ±inf -> 1; small inf -> +0; small -inf -> inf; 1 any -> 1; "
    "inf pos|inf -> inf; inf neg|-inf -> +0; -inf odd -> -inf; -inf even|inf -> inf; "
    "-inf -odd -> -0; -inf -even|-inf -> +0; +0 pos|inf -> +0; +0 neg|-inf -> inf; -0 odd -> -0; "
    "-0 even|inf -> +0; -0 -odd -> -inf; -0 -even|-inf -> inf; neg frac -> nan",
    "remainder": "nan any -> nan; any nan -> nan; ±inf ±inf -> nan; ±0 ±0 -> nan; +0 pos -> +0; "
    "-0 pos -> +0; +0 neg -> -0; -0 neg -> -0; fin ±0 -> nan; ±inf pos|neg|±0 -> nan; "
    "pos inf -> same; pos -inf -> -inf; neg inf -> inf; neg -inf -> same; 7 2 -> 1; "
    "-7 2 -> 1; 7 -2 -> -1; -7 -2 -> -1; 4 2 -> +0; -4 2 -> +0; 4 -2 -> -0; -4 -2 -> -0",
    "subtract": "nan any -> nan; any nan -> nan; inf inf -> nan; -inf -inf -> nan; "
    "inf -inf -> inf; "
    "-inf inf -> -inf; fin inf -> -inf; fin -inf -> inf; inf fin -> inf; +0 +0 -> +0; "
    "-0 +0 -> -0; -0 -0 -> +0; 1.5 1.5 -> +0",
}

# The operators that have the tables of functions.
OPERATORS = {
    **{name: name for name in ("abs", "add", "pow")},
    **{"divide": "truediv", "equal": "eq", "floor_divide": "floordiv", "greater": "gt"},
    **{"greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul"},
    **{"negative": "neg", "not_equal": "ne", "positive": "pos", "remainder": "mod"},
    "subtract": "sub",
}

# Each case also holds for the conjugates; acos: f(conj z) = conj f(z), and so on.
COMPLEX = {
    "abs": "(±inf,any) -> inf; (any,±inf) -> inf; (nan,fin) -> nan; (fin,nan) -> nan; "
    "(nan,nan) -> nan; (±0,±0) -> +0; (3,4) -> 5; (3,nan) -> nan",
    "acos": "(±0,+0) -> (pi/2,-0); (±0,nan) -> (pi/2,nan); (fin,inf) -> (pi/2,-inf); "
    "(pos|neg,nan) -> (nan,nan); (-inf,pos) -> (pi,-inf); (inf,pos) -> (+0,-inf); "
    "(-inf,inf) -> (3*pi/4,-inf); (inf,inf) -> (pi/4,-inf); (±inf,nan) -> (nan,?inf); "
    "(nan,fin) -> (nan,nan); (nan,inf) -> (nan,-inf); (nan,nan) -> (nan,nan)",
    "acosh": "(±0,+0) -> (+0,pi/2); (fin,inf) -> (inf,pi/2); (pos|neg,nan) -> (nan,nan); "
    "(±0,nan) -> (nan,pi/2|-pi/2); (-inf,pos) -> (inf,pi); (inf,pos) -> (inf,+0); "
    "(-inf,inf) -> (inf,3*pi/4); (inf,inf) -> (inf,pi/4); (±inf,nan) -> (inf,nan); "
    "(nan,fin) -> (nan,nan); (nan,inf) -> (inf,nan); (nan,nan) -> (nan,nan)",
    "asinh": "(+0,+0) -> (+0,+0); (+0|pos,inf) -> (inf,pi/2); (+0|pos,nan) -> (nan,nan); "
    "(inf,+0|pos) -> (inf,+0); (inf,inf) -> (inf,pi/4); (inf,nan) -> (inf,nan); "
    "(nan,+0) -> (nan,+0); (nan,pos) -> (nan,nan); (nan,inf) -> (?inf,nan); (nan,nan) -> (nan,nan)",
    "atanh": "(+0,+0) -> (+0,+0); (+0,nan) -> (+0,nan); (1,+0) -> (inf,+0); "
    "(pos,inf) -> (+0,pi/2); "
    "(pos,nan) -> (nan,nan); (inf,+0|pos) -> (+0,pi/2); (inf,inf) -> (+0,pi/2); "
    "(inf,nan) -> (+0,nan); (nan,pos) -> (nan,nan); (nan,inf) -> (?0,pi/2); (nan,nan) -> (nan,nan)",
    "cosh": "(+0,+0) -> (1,+0); (+0,inf) -> (nan,?0); (+0,nan) -> (nan,?0); "
    "(pos,inf) -> (nan,nan); "
    "(pos,nan) -> (nan,nan); (inf,+0) -> (inf,+0); (inf,in) -> (inf,inf); (inf,inf) -> (?inf,nan); "
    "(inf,nan) -> (inf,nan); (nan,+0) -> (nan,?0); (nan,pos) -> (nan,nan); (nan,nan) -> (nan,nan)",
    "exp": "(±0,+0) -> (1,+0); (fin,inf) -> (nan,nan); (fin,nan) -> (nan,nan); "
    "(inf,+0) -> (inf,+0); "
    "(-inf,in) -> (+0,+0); (inf,in) -> (inf,inf); (-inf,inf) -> (?0,?0); (inf,inf) -> (?inf,nan); "
    "(-inf,nan) -> (?0,?0); (inf,nan) -> (?inf,nan); (nan,+0) -> (nan,+0); (nan,pos) -> (nan,nan); "
    "(nan,nan) -> (nan,nan)",
    "expm1": "(±0,+0) -> (?0,+0); (fin,inf) -> (nan,nan); (fin,nan) -> (nan,nan); "
    "(inf,+0) -> (inf,+0); (-inf,in) -> (-1,?0); (inf,in) -> (inf,inf); (-inf,inf) -> (-1,?0); "
    "(inf,inf) -> (?inf,nan); (-inf,nan) -> (-1,?0); (inf,nan) -> (?inf,nan); "
    "(nan,+0) -> (nan,+0); "
    "(nan,pos) -> (nan,nan); (nan,nan) -> (nan,nan)",
    "log": "(-0,+0) -> (-inf,pi); (+0,+0) -> (-inf,+0); (fin,inf) -> (inf,pi/2); "
    "(fin,nan) -> (nan,nan); (-inf,pos) -> (inf,pi); (inf,pos) -> (inf,+0); "
    "(-inf,inf) -> (inf,3*pi/4); (inf,inf) -> (inf,pi/4); (±inf,nan) -> (inf,nan); "
    "(nan,fin) -> (nan,nan); (nan,inf) -> (inf,nan); (nan,nan) -> (nan,nan)",
    "log1p": "(-1,+0) -> (-inf,+0); (fin,inf) -> (inf,pi/2); (fin,nan) -> (nan,nan); "
    "(-inf,pos) -> (inf,pi); (inf,pos) -> (inf,+0); (-inf,inf) -> (inf,3*pi/4); "
    "(inf,inf) -> (inf,pi/4); (±inf,nan) -> (inf,nan); (nan,fin) -> (nan,nan); "
    "(nan,inf) -> (inf,nan); (nan,nan) -> (nan,nan)",
    "sign": "(±0,±0) -> (?0,?0); (3,4) -> (0.6,0.8); (nan,any) -> (nan,nan); "
    "(any,nan) -> (nan,nan)",
    "sinh": "(+0,+0) -> (+0,+0); (+0,inf) -> (?0,nan); (+0,nan) -> (?0,nan); "
    "(pos,inf) -> (nan,nan); "
    "(pos,nan) -> (nan,nan); (inf,+0) -> (inf,+0); (inf,in) -> (inf,inf); (inf,inf) -> (?inf,nan); "
    "(inf,nan) -> (?inf,nan); (nan,+0) -> (nan,+0); (nan,pos) -> (nan,nan); (nan,nan) -> (nan,nan)",
    "sqrt": "(±0,+0) -> (+0,+0); (any,inf) -> (inf,inf); (fin,nan) -> (nan,nan); "
    "(-inf,pos) -> (+0,inf); (inf,pos) -> (inf,+0); (-inf,nan) -> (nan,?inf); "
    "(inf,nan) -> (inf,nan); (nan,fin|nan) -> (nan,nan)",
    "tanh": "(+0,+0) -> (+0,+0); (+0,inf) -> (+0,nan); (pos,inf) -> (nan,nan); "
    "(+0,nan) -> (+0,nan); "
    "(pos,nan) -> (nan,nan); (inf,in|+0|pos) -> (1,?0); (inf,inf) -> (1,?0); (inf,nan) -> (1,?0); "
    "(nan,+0) -> (nan,+0); (nan,pos) -> (nan,nan); (nan,nan) -> (nan,nan)",
}
# f(z) = -i g(i z), or g(i z) for the cosine: the standard defines these by the others.
CONJUGATED = {"asin": "asinh", "atan": "atanh", "sin": "sinh", "tan": "tanh", "cos": "cosh"}


def numbers(text: str) -> tuple[float, ...]:
    """Return the numbers of a set such as `fin|inf`, or of one number."""
    found = [SETS[part] if part in SETS else (float(part),) for part in text.split("|")]
    return tuple(itertools.chain.from_iterable(found))


def pairs(text: str) -> Iterator[tuple[complex, str]]:
    """Yield the complex operands of a table with the text of the result."""
    for case in text.split(";"):
        operand, result = map(str.strip, case.split("->"))
        real, imaginary = operand.strip("()").split(",")
        for x, y in itertools.product(numbers(real), numbers(imaginary)):
            yield complex(x, y), result


def cases(text: str) -> Iterator[tuple[tuple[float, ...], str]]:
    """Yield the operands of a table with the text of the result."""
    for case in text.split(";"):
        operands, result = map(str.strip, case.split("->"))
        for values in itertools.product(*map(numbers, operands.split())):
            yield values, result
