"""Checks of what a loop carries, raised by the nest that overwrites it.

An iteration reads a vector of indices and leaves another one in its place. The nest that does both
can raise the flag, too, but the message wants the old indices, which are gone by then. So the nest
*keeps* them: where one is wrong, and only there, it writes them to memory of their own, which is
filled with zeros in front of the loop, once:

    kept[i] = 0                                    for all i, in front of the loop
    flag, kept[i] = True, index[i]                 where index[i] is wrong: hardly ever
    index[i] = table[index[i]]

The message is made of what was kept: zeros are within bounds. The flag is looked at after the nest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tapeless.kernel.ir import Buffer, Loop, Scalar, Store
from tapeless.kernel.parts import Element, parts_of
from tapeless.kernel.value import KernelValue, Nest
from tapeless.kernel.watch import Alarm, Watch, has_axes_of, index_of, reads_from

__all__ = ["watched_while_overwriting"]


def watched_while_overwriting(b: Any, nest: Nest, buffers: Collection[Buffer]) -> None:
    """Let a nest that overwrites memory raise the flags of the checks that have its axes.

    Checks whose messages want values of other axes look before the nest, which has no stores yet.
    """
    for watch in b.watches:
        lost = [arg for arg in watch.alarm.args if _is_lost(arg, buffers)]
        if all(has_axes_of(nest, value) for value in (watch.fine, *lost)):
            _look(b, nest, watch, lost)


def _is_lost(arg: KernelValue, buffers: Collection[Buffer]) -> bool:
    """Tell whether a value is read from one of some buffers."""
    return any(reads_from([arg], buffer) for buffer in buffers)


def _look(b: Any, nest: Nest, watch: Watch, lost: Sequence[KernelValue]) -> None:
    """Let a nest raise the flag of a check, and keep what its message wants."""
    wrong = b.not_(b.bool_at(nest, watch.fine))
    elements = [_element(value, nest) for value in lost]
    if not b.hand_over(watch):
        return  # a pull has written out everything
    nest.stores.append(b.flag_store(watch, wrong))
    kept: dict[int, KernelValue] = {}
    for value, element in zip(lost, elements, strict=True):
        kept[id(value)] = _kept(b, nest, value, element, wrong)
    alarm = watch.alarm
    args = [kept.get(id(arg), arg) for arg in alarm.args]
    nest.alarms.append(
        Alarm(
            wrong=alarm.wrong,
            function=alarm.function,
            args=args,
            counts=alarm.counts,
        )
    )


def _element(value: KernelValue, nest: Nest) -> Element:
    """Return the element of a value where a nest is."""
    index = index_of(value, nest.variables)
    return value.at(*index)


def _kept(
    b: Any,
    nest: Nest,
    value: KernelValue,
    element: Element,
    wrong: Scalar,
) -> KernelValue:
    """Let a nest keep the elements of a value where `wrong` holds; elsewhere there are zeros."""
    aval = value.aval
    kept = b.buffer(aval, "temp")
    memory = kept.memory
    zero = b.const(0, memory.dtype)
    var = b.index(b.name("i"), aval.size)
    zeros = []
    for place in b.positions(b.affine(var), aval):
        zeros.append(Store(memory, place, zero))
    b.before_loop([Loop(var, aval.size, tuple(zeros))])
    flat = b.flat_index(index_of(value, nest.variables), aval.shape)
    places = b.positions(flat, aval)
    for place, part in zip(places, parts_of(element), strict=True):
        store = Store(memory, place, part, wrong)
        nest.stores.append(store)
    return kept
