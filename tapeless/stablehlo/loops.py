"""Control flow: loops, branches, calls; and what has no values: tokens, tuples, barriers.

A `while` that counts from a known number to a known number is a scan, so that it has derivatives in
reverse mode.  It is known by its shape: the condition is `i < n`, the body returns `i + 1`, and i
starts at a constant.  Carries that the body returns as they came are no carries: the loop closes
over them.

A branch that is chosen by a constant is the only one that is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapeless import lax
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.stablehlo.calls import Call, Rules, concrete
from tapeless.stablehlo.syntax import Dense, Operation, Region
from tapeless.stablehlo.types import dense_array

__all__ = ["RULES"]

_MOST_STEPS = 2**31 - 1


class Count(NamedTuple):
    """Which carry counts, where it starts, and where it ends."""

    carry: int
    start: int
    stop: int


def _while(call: Call, *start: Value) -> Sequence[Value]:
    """start: the carry -> the carry when the condition fails."""
    condition, body = call.region(0), call.region(1)
    if not start:
        call.refuse("a loop that carries nothing never ends")
    regions = call.operation.regions
    returned = regions[1].operations[-1].operands
    names = [name for name, _ in regions[1].arguments]
    if len(returned) != len(start) or len(names) != len(start):
        call.fail(f"the body must take and return {len(start)} values")
    carried = [i for i, name in enumerate(names) if returned[i] != name]
    count = _count(regions, start, call.environment)

    def whole(changing: Sequence[Value]) -> list[Value]:
        """Return all carries."""
        found = list(start)
        for number, value in zip(carried, changing, strict=True):
            found[number] = value
        return found

    def step(changing: Sequence[Value]) -> list[Value]:
        """Run the body on the carries that change."""
        outs = body(*whole(changing))
        return [outs[number] for number in carried]

    first = [start[number] for number in carried]
    if count is not None:
        steps = max(count.stop - count.start, 0)
        last, _ = lax.scan(lambda carry, _: (step(carry), None), first, None, length=steps)
    else:
        last = lax.while_loop(lambda carry: condition(*whole(carry))[0], step, first)
    return whole(last)


def _count(
    regions: Sequence[Region], start: Sequence[Value], environment: Mapping[str, Value]
) -> Count | None:
    """Return how a loop counts, if it does."""
    condition, body = regions
    test = _maker(condition, condition.operations[-1].operands[:1])
    if test is None or test.name != "stablehlo.compare" or len(test.operands) != 2:
        return None
    names = [name for name, _ in condition.arguments]
    if test.attributes.get("comparison_direction") != "LT" or test.operands[0] not in names:
        return None
    number = names.index(test.operands[0])
    first = concrete(start[number])
    stop = _known(condition, test.operands[1], start, environment, body)
    counts = all(isinstance(x, int) and not isinstance(x, bool) for x in (first, stop))
    if not counts or not _adds_one(body, number, environment) or stop - first > _MOST_STEPS:
        return None
    return Count(number, first, stop)


def _maker(region: Region, names: Sequence[str]) -> Operation | None:
    """Return the operation of a region that has this one value as its result."""
    return next((op for op in region.operations if tuple(op.results) == tuple(names)), None)


def _known(
    region: Region,
    name: str,
    start: Sequence[Value],
    environment: Mapping[str, Value],
    body: Region | None = None,
) -> Any:
    """Return a number that a region reads: its own constant, one outside, or a fixed carry."""
    made = _maker(region, (name,))
    if made is not None:
        value = made.attributes.get("value")
        if isinstance(value, Dense) and not value.type.shape:
            return dense_array(value).item()
        return None
    names = [argument for argument, _ in region.arguments]
    if name in names and body is not None:
        number = names.index(name)
        fixed = body.operations[-1].operands[number] == body.arguments[number][0]
        return concrete(start[number]) if fixed else None
    return None if name in names else concrete(environment.get(name))


def _adds_one(body: Region, number: int, environment: Mapping[str, Value]) -> bool:
    """Tell whether the body returns the carry of this number plus one."""
    made = _maker(body, body.operations[-1].operands[number : number + 1])
    name = body.arguments[number][0]
    if made is None or made.name != "stablehlo.add" or name not in made.operands:
        return False
    others = [operand for operand in made.operands if operand != name]
    return len(others) == 1 and _known(body, others[0], (), environment) == 1


def _if(call: Call, which: Value) -> Sequence[Value]:
    """which: a boolean -> the results of the first region if it is true, else the second's."""
    return _chosen(call, which, [call.region(1), call.region(0)])


def _case(call: Call, which: Value) -> Sequence[Value]:
    """which: an int32 -> the results of that region; of the last one if there is none."""
    return _chosen(call, which, [call.region(i) for i in range(len(call.regions))])


def _chosen(call: Call, which: Value, branches: Sequence[Any]) -> Sequence[Value]:
    """Run one of several functions of nothing."""
    if not branches:
        call.fail("a branch is wanted")
    last = len(branches) - 1
    known = concrete(which)
    if known is not None:
        return branches[known if 0 <= known <= last else last]()
    if typeof(which).dtype == np.bool_:
        return lax.cond(which, branches[1], branches[0])
    limit = lax.full_like(which, last)
    outside = lax.lt(which, lax.full_like(which, 0))
    return lax.switch(lax.select(outside, limit, which), branches)


def _call(call: Call, *operands: Value) -> Sequence[Value]:
    """Call a function of the module."""
    return call.function(str(call.get("callee")))(*operands)


def _composite(call: Call, *operands: Value) -> Sequence[Value]:
    """Call the function that says what a composite operation means."""
    return call.function(str(call.get("decomposition")))(*operands)


def _barrier(call: Call, *operands: Value) -> Sequence[Value]:
    """Return the operands."""
    return lax.optimization_barrier(list(operands))


def _nothing(call: Call, *operands: Value) -> tuple[None]:
    """Return a token, which has no value: programs run in order."""
    return (None,)


def _tuple(call: Call, *operands: Value) -> tuple[tuple[Value, ...]]:
    """Return one value: the tuple."""
    return (operands,)


def _tuple_element(call: Call, x: Any) -> tuple[Value]:
    """Return an element of a tuple."""
    index = call.integer("index")
    if not isinstance(x, tuple) or not 0 <= index < len(x):
        call.fail(f"there is no element {index}")
    return (x[index],)


def _alone(call: Call, *operands: Value) -> Sequence[Value]:
    """Return the operands: an exchange among groups of one device."""
    for name in ("replica_groups", "source_target_pairs"):
        groups = call.get(name, None)
        if isinstance(groups, Dense) and dense_array(groups).any():
            call.refuse("a module is evaluated on one device; it exchanges with others")
    return operands


def _number_of_device(call: Call) -> Value:
    """Return 0: there is one device."""
    return np.zeros((), call.out.dtype)


def _as_is(call: Call, x: Value, *others: Value) -> Value:
    """Return the operand."""
    return x


RULES: Rules = {
    "stablehlo.while": _while,
    "stablehlo.if": _if,
    "stablehlo.case": _case,
    "call": _call,
    "func.call": _call,
    "stablehlo.composite": _composite,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.after_all": _nothing,
    "stablehlo.create_token": _nothing,
    "stablehlo.tuple": _tuple,
    "stablehlo.get_tuple_element": _tuple_element,
    "stablehlo.all_reduce": _alone,
    "stablehlo.all_gather": _alone,
    "stablehlo.all_to_all": _alone,
    "stablehlo.reduce_scatter": _alone,
    "stablehlo.collective_permute": _alone,
    "stablehlo.collective_broadcast": _alone,
    "stablehlo.cross-replica-sum": _alone,
    "stablehlo.replica_id": _number_of_device,
    "stablehlo.partition_id": _number_of_device,
    "sdy.sharding_constraint": _as_is,
}
