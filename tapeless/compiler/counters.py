"""Carries of a scan that count: what they are in each step is known from its number.

    start:i32, in every step   i -> i + d        becomes        i = start + d * number of the step

The number of a step is a slice of an iota, which costs nothing, and has a range that is known
(`kernel/ranges.py`). So an index that a loop counts up is a plain address: it is not clamped, nor
asked whether it is negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.core.effects import NO_EFFECTS
from tapeless.core.jaxpr import Atom, DebugInfo, Eqn, Jaxpr, Literal, Var
from tapeless.core.primitive import registry
from tapeless.util.records import record
from tapeless.util.seqs import split_at

__all__ = ["without_counters"]


@record
class _Scan:
    """A scan that counts.

    steps: by how much the carries change that count, position to step; types: those of the
    counters, each once, not weak.
    """

    eqn: Eqn
    body: Jaxpr
    steps: dict[int, int]
    types: tuple[ShapedArray, ...]

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of constants and of carries."""
        params = self.eqn.params
        return params["num_consts"], params["num_carry"]

    @property
    def length(self) -> int:
        """The number of steps."""
        return self.eqn.params["length"]

    def start(self, k: int) -> int:
        """Return what the carry k starts with."""
        atom = self.eqn.invars[self.sizes[0] + k]
        assert type(atom) is Literal, "a counter starts at a known number"
        return int(atom.val)

    def kept(self, carries: Sequence) -> tuple:
        """Leave out what belongs to counters."""
        return tuple(x for k, x in enumerate(carries) if k not in self.steps)


def without_counters(
    eqn: Eqn,
    body: Jaxpr,
) -> tuple[list[Eqn], dict[Var, Literal]] | None:
    """Return equations for a scan whose `body` counts, and the last values of its counters.

    The last equation is the scan, without the results for which values are returned. None if
    nothing counts.
    """
    if eqn.params["length"] == 0:
        return None
    steps = _steps(eqn, body)
    if not steps:
        return None
    n_consts = eqn.params["num_consts"]
    starts = [eqn.invars[n_consts + k].aval for k in steps]
    types = tuple(dict.fromkeys(map(_strong, starts)))
    loop = _Scan(eqn, body, steps, types)
    consts, init, xs = split_at(eqn.invars, *loop.sizes)
    carry, ys = split_at(eqn.outvars, loop.sizes[1])
    numbers = [Var(aval.update(shape=(loop.length,))) for aval in types]
    ends = {carry[k]: _end(loop, k) for k in steps}
    counted = eqn.replace(
        invars=(*consts, *loop.kept(init), *xs, *numbers),
        outvars=(*loop.kept(carry), *ys),
        params=_counted(loop),
    )
    before = [_iota(eqn, var) for var in numbers]
    return [*before, counted], ends


def _strong(aval: ShapedArray) -> ShapedArray:
    """Return a type that is not weak."""
    return aval.update(weak_type=False)


def _steps(eqn: Eqn, body: Jaxpr) -> dict[int, int]:
    """Return by how much the carries change that count from a known number."""
    n_consts = eqn.params["num_consts"]
    makers = {var: maker for maker in body.eqns for var in maker.outvars}
    found: dict[int, int] = {}
    for k in range(eqn.params["num_carry"]):
        position = n_consts + k
        if not _is_integer(eqn.invars[position]):
            continue
        step = _step(body.outvars[k], body.invars[position], makers)
        if step is not None:
            found[k] = step
    return found


def _is_integer(atom: Atom) -> bool:
    """Tell whether an atom is a known integer."""
    if type(atom) is not Literal or atom.aval.shape:
        return False
    return getattr(atom.aval.dtype, "kind", "") in ("i", "u")


def _step(
    out: Atom,
    carry: Var,
    makers: dict[Var, Eqn],
) -> int | None:
    """Return what `out` adds to a carry, if that is a known number."""
    if out is carry:
        return 0
    maker = makers.get(out) if type(out) is Var else None
    if maker is None or maker.primitive.name not in ("add", "sub"):
        return None
    x, y = maker.invars
    is_sum = maker.primitive.name == "add"
    if is_sum and y is carry:
        x, y = y, x
    if x is not carry or type(y) is not Literal:
        return None
    return int(y.val) if is_sum else -int(y.val)


def _iota(eqn: Eqn, var: Var) -> Eqn:
    """Return the equation that numbers the steps."""
    params = {
        "dtype": var.aval.dtype,
        "shape": var.aval.shape,
        "dimension": 0,
        "sharding": None,
    }
    return eqn.replace(
        primitive=registry["iota"],
        invars=(),
        outvars=(var,),
        params=params,
        effects=NO_EFFECTS,
    )


def _end(loop: _Scan, k: int) -> Literal:
    """Return what the counter k ends with."""
    value = loop.start(k) + loop.length * loop.steps[k]
    return _number(loop.eqn.outvars[k].aval, value)


def _number(aval: ShapedArray, value: int) -> Literal:
    """Return an integer of a type, which wraps round."""
    bits = 8 * aval.dtype.itemsize
    value %= 1 << bits
    if aval.dtype.kind == "i" and value >> (bits - 1):
        value -= 1 << bits
    return Literal(aval.dtype.type(value), aval)


def _counted(loop: _Scan) -> dict[str, Any]:
    """Return the parameters of the scan that gets the number of the step as its last slices."""
    body = loop.body
    consts, carry, xs = split_at(body.invars, *loop.sizes)
    outs, ys = split_at(body.outvars, loop.sizes[1])
    numbers = {aval: Var(aval) for aval in loop.types}
    made: list[Eqn] = []
    for k in loop.steps:
        number = numbers[_strong(carry[k].aval)]
        made.extend(_value(loop, k, number, carry[k]))
    new = Jaxpr(
        body.constvars,
        (*consts, *loop.kept(carry), *xs, *numbers.values()),
        (*loop.kept(outs), *ys),
        (*made, *body.eqns),
        body.consts,
        DebugInfo(body.debug.function),
    )
    n_kept = len(loop.kept(carry))
    return {**loop.eqn.params, "jaxpr": new, "num_carry": n_kept}


def _value(
    loop: _Scan,
    k: int,
    number: Var,
    result: Var,
) -> list[Eqn]:
    """Return the equations of the counter k in the step of a number."""
    step = loop.steps[k]
    start = loop.start(k)
    if loop.eqn.params["reverse"]:
        start += step * (loop.length - 1)
        step = -step
    aval = result.aval
    scaled = Var(aval)
    times = loop.eqn.replace(
        primitive=registry["mul"],
        invars=(number, _number(aval, step)),
        outvars=(scaled,),
        params={},
        effects=NO_EFFECTS,
    )
    plus = times.replace(
        primitive=registry["add"],
        invars=(scaled, _number(aval, start)),
        outvars=(result,),
    )
    return [times, plus]
