"""How long a step waits for the one before: whether prefixes are made one by one or level by level.

    one by one        c = f(c, x)           a step waits for f
    level by level    f(x[::2], x[1::2])    lanes side by side, through memory again and again

The function is traced for two elements, and the time between the earlier element and the results is
added up along the longest way. Functions that are not in the tables take too long in any case, even
of the later element alone.
Times are of one processor; what is decided by them is a factor of two at most.

Integers are the same in any order. Sums of one float are not, and stay with the levels, whose
rounding errors do not grow with the length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Eqn, Jaxpr, Var, subjaxprs
from tapeless.core.trace import Value
from tapeless.prims.common import Elementwise
from tapeless.transforms.stage import stage_flat

__all__ = ["is_quick", "of_elements"]

CACHE = 1 << 23  # bytes
CACHED, UNCACHED = 0.11, 0.2  # nanoseconds for a byte of an element, level by level
NEVER = -math.inf  # when something is there that does not wait

# Nanoseconds
_VIEWS = dict.fromkeys("broadcast_in_dim reshape squeeze slice copy".split(), 0.0)
_LOGIC = dict.fromkeys("and or xor not select_n".split(), 0.3)
_ORDER = dict.fromkeys("max min lt le gt ge eq ne".split(), 0.6)
_BOUNDS = {"max": 4.5, "min": 4.5}  # of floats, with their NaNs
_FLOATS = {
    "add": 0.8,
    "sub": 0.8,
    "neg": 0.3,
    "mul": 1.6,
    **_VIEWS,
    **_ORDER,
    **_BOUNDS,
}
_INTEGERS = {
    **_FLOATS,
    "add": 0.3,
    "sub": 0.3,
    **_ORDER,
    **_LOGIC,
}


def is_quick(
    combine: Callable[[list[Value], list[Value]], list[Value]],
    leaves: Sequence[Value],
    axis: int,
) -> bool:
    """Tell whether elements along an axis are combined one by one in less time than by levels.

    leaves: (..., n, ...), of one number at each place of the axis.
    """
    avals = [typeof(leaf) for leaf in leaves]
    if len(avals) == 1 and not _is_exact(avals[0]):
        return False
    sizes = [aval.dtype.itemsize for aval in avals]
    places = avals[0].size
    rate = CACHED if places * sum(sizes) <= CACHE else UNCACHED
    program, count = _of_pair(combine, avals, axis), len(avals)
    waits = _times(program, [0.0] * count + [NEVER] * count)
    return max(waits) < rate * sum(sizes)


def of_elements(
    combine: Callable[[list[Value], list[Value]], list[Value]],
    leaves: Sequence[Value],
    axis: int,
) -> Callable[[list[Value], list[Value]], list[Value]] | None:
    """Return what combines arrays of any shape as `combine` does slices along an axis.

    There is such a function if numbers meet those in the same place only, and constants.
    """
    avals = [typeof(leaf) for leaf in leaves]
    program = _of_pair(combine, avals, axis)
    types = [atom.aval for atom in program.invars]
    pointwise = all(isinstance(eqn.primitive, Elementwise) for eqn in program.eqns)
    kept = [atom.aval for atom in program.outvars] * 2 == types
    alike = len({aval.shape for aval in avals}) == 1
    if program.constvars or not (pointwise and kept and alike):
        return None
    return lambda earlier, later: [*eval_jaxpr(program, (), *earlier, *later)]


def _of_pair(
    combine: Callable[[list[Value], list[Value]], list[Value]],
    avals: Sequence[ShapedArray],
    axis: int,
) -> Jaxpr:
    """Return the program that combines two elements along an axis."""
    ones, count = [_one_along(aval, axis) for aval in avals], len(avals)

    def pair(*args: Value) -> list[Value]:
        """Combine two elements."""
        return combine([*args[:count]], [*args[count:]])

    return stage_flat(pair, ones * 2, "the function of associative_scan")


def _one_along(aval: ShapedArray, axis: int) -> ShapedArray:
    """Return the type of one element."""
    shape = list(aval.shape)
    shape[axis] = 1
    return aval.update(shape=tuple(shape))


def _is_exact(aval: ShapedArray) -> bool:
    """Tell whether a type is of integers or booleans."""
    return aval.dtype.kind in "biu"


def _times(program: Jaxpr, started: Sequence[float]) -> list[float]:
    """Return when the results of a program are there, given when its inputs are."""
    times = dict(zip(program.invars, started, strict=True))

    def time_of(atom: object) -> float:
        """Return when a value is there; constants always are."""
        return times.get(atom, NEVER) if isinstance(atom, Var) else NEVER

    for eqn in program.eqns:
        at = [time_of(atom) for atom in eqn.invars]
        if getattr(eqn.primitive, "inline_program", False):
            (inner,) = subjaxprs(eqn.params)
            done = _times(inner, at)
        else:
            takes = _takes(eqn)
            waits = takes < math.inf
            ready = takes + max(at, default=NEVER) if waits else takes
            done = [ready] * len(eqn.outvars)
        times.update(zip(eqn.outvars, done, strict=True))
    return [time_of(atom) for atom in program.outvars]


def _takes(eqn: Eqn) -> float:
    """Return how long an operation takes."""
    exact = all(_is_exact(atom.aval) for atom in eqn.invars[:1])
    table = _INTEGERS if exact else _FLOATS
    return table.get(eqn.primitive.name, math.inf)
