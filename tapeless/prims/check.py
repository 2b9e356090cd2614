"""The `check` operation: a condition that must hold when the program runs.

    arguments   [ fine | payload ]     fine: bools; payload: what the message tells

It has no results.  Where any of `fine` is false the program ends, and the call of the program
raises what the *fault* makes of the payload.  A fault knows the sentence, the class of the error
and the user's line; the compiled program knows the numbers of the iterations that are running.

Checks come from three places: users write them (`checkify.check`), user functions put them in where
only they know what is meant (`switch`, segment ids), and the pass `control/instrument.py` puts
them before or after operations.  The transformation `control/checkify.py` takes them out again, and
returns what they found as a value.

A check of the user's that nobody takes out is an error when it is compiled, as in JAX, or is
ignored, if the user said so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless import config, errors
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.effects import CHECK, Effects
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Primitive, Values
from tapeless.core.source import Source, current_source
from tapeless.core.trace import Axis, Value
from tapeless.prims.argextremes import argmax
from tapeless.prims.binary import sub
from tapeless.prims.common import batch_dim_to
from tapeless.prims.dynamic_slice import dynamic_slice_p
from tapeless.prims.reduce import reduce_and
from tapeless.prims.structural import rev, squeeze
from tapeless.prims.unary import bitwise_not
from tapeless.util.records import record

__all__ = ["Fault", "IndexFault", "NamedFault", "all_hold", "check", "check_p"]

_INT32 = np.dtype(np.int32)


@record
class Fault:
    """What a check finds wrong.

    source: the user's line; unknown for an operation outside any transformation, which is on the
    line that is running when it fails.  must_be_discharged, may_be_ignored: what becomes of it if
    no transformation takes it out.
    """

    source: Source

    must_be_discharged = False
    may_be_ignored = False

    def message(self, payload: Sequence[np.ndarray]) -> str:
        """Return the sentence."""
        raise NotImplementedError

    def exception(self, payload: Sequence[np.ndarray], counts: Sequence[int]) -> Exception:
        """Return the error: the sentence, the line, and the iterations, outermost first."""
        raise NotImplementedError

    def place(self, counts: Sequence[int]) -> str:
        """Return words on where it happened."""
        source = self.source if self.source.frame is not None else current_source()
        numbers = ", ".join(map(str, counts))
        during = f", in iteration {numbers} of the loop" if counts else ""
        if len(counts) > 1:
            during = f", in iterations {numbers} of the loops around it, the outermost first"
        return f"It happened on line {source.summary()}{during}."


@record
class NamedFault(Fault):
    """A fault whose sentence is known: of divisions, shifts, switches and segments.

    text: the sentence, with the payload's elements by position; error: the class.
    """

    text: str
    error: type[Exception]

    def message(self, payload: Sequence[np.ndarray]) -> str:
        """Return the sentence."""
        return self.text.format(*payload)

    def exception(self, payload: Sequence[np.ndarray], counts: Sequence[int]) -> Exception:
        """Return the error."""
        return self.error(f"{self.message(payload)}\n{self.place(counts)}")


@record
class IndexFault(Fault):
    """A window that begins outside of an array.

    shape: of the array; axes, room: per component of a place, its axis, and the last place at which
    a window fits.  The payload is the places: vectors in the last axis, or one scalar a component.
    """

    name: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    room: tuple[int, ...]

    def first(self, payload: Sequence[np.ndarray]) -> tuple[int, int]:
        """Return the first place out of bounds, and its axis."""
        places = np.concatenate([np.ravel(part).astype(object) for part in payload])
        n = len(self.axes)
        for number, place in enumerate(places):
            if not 0 <= place <= self.room[number % n]:
                return int(place), self.axes[number % n]
        raise AssertionError("a check of indices fails for one that is out of bounds")

    def message(self, payload: Sequence[np.ndarray]) -> str:
        """Return the sentence, in JAX's words."""
        index, axis = self.first(payload)
        return (
            f"out-of-bounds indexing for array of shape {self.shape}: index {index} is out of "
            f"bounds for axis {axis} with size {self.shape[axis]}. "
        )

    def exception(self, payload: Sequence[np.ndarray], counts: Sequence[int]) -> Exception:
        """Return the error."""
        index, axis = self.first(payload)
        size = self.shape[axis]
        extent = size - self.room[self.axes.index(axis)]
        counted = " (counted from the front)" if index < 0 else ""
        window = f"; the window there has extent {extent}" if extent != 1 else ""
        return errors.OutOfBoundsError(
            f"index {index}{counted} is out of bounds for axis {axis} with size {size}, in "
            f"{self.name} of an array of shape {self.shape}{window}.\n{self.place(counts)}\n"
            f"Say what such an index shall mean, for example by x.at[i].get(mode='fill'), or mend "
            f"it."
        )


class Check(Primitive):
    """End the program unless `fine`; see the module's docstring.

    fault: what is wrong then.
    """

    name = "check"
    evaluated_in_python = True

    def abstract(self, fine: ShapedArray, *payload: ShapedArray, **params: Any) -> tuple:
        """Return no results."""
        return ()

    def effects(self, **params: Any) -> Effects:
        """Return the effect that keeps it."""
        return frozenset((CHECK,))

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> tuple:
        """Check the primals."""
        self.bind(*primals, **params)
        return (), ()

    def transpose(self, cotangents: Sequence, args: Sequence, **params: Any) -> tuple:
        """Do nothing: what is linear is not looked at."""
        return tuple(Zero(x.aval.tangent()) if type(x) is Linear else None for x in args)

    def batch(self, axis: Axis, args: Values, dims: Sequence, *, fault: Fault) -> tuple:
        """Check all rows; tell of the last that is wrong, as JAX does."""
        if axis.size == 0:
            return (), ()
        fine, *payload = (
            batch_dim_to(x, dim, 0, axis.size) for x, dim in zip(args, dims, strict=True)
        )
        of_rows = all_hold(fine, first=1)
        wrong = rev(bitwise_not(of_rows), (0,))
        row = sub(_INT32.type(axis.size - 1), argmax(wrong, 0, _INT32))
        given = [_row(x, row) for x in payload]
        self.bind(fine, *given, fault=fault)
        return (), ()

    def lower(self, b: Any, args: Sequence, outs: tuple, *, fault: Fault) -> tuple:
        """Write a branch that is hardly ever taken."""
        if fault.may_be_ignored:
            return ()
        runs = config.current.jax_experimental_unsafe_xla_runtime_errors
        if fault.must_be_discharged and not runs:
            raise ValueError(
                "Cannot abstractly evaluate a checkify.check which was not functionalized. This "
                "probably means you tried to stage (jit/scan/pmap/...) a `check` without "
                "functionalizing it through `checkify.checkify`."
            )
        fine, *payload = args
        n_counts = len(b.iterations)

        def fail(*arrays: np.ndarray) -> None:
            """Raise."""
            counts, given = arrays[:n_counts], arrays[n_counts:]
            raise fault.exception(given, [int(count) for count in counts])

        b.raise_unless(fine, fail, payload)
        return ()

    def decompose(self, fine: Value, *payload: Value, fault: Fault) -> tuple:
        """Check what is known."""
        if not fault.may_be_ignored and not np.all(np.asarray(fine)):
            raise fault.exception([np.asarray(x) for x in payload], ())
        return ()


def _row(x: Value, row: Value) -> Value:
    """Return one row of a value."""
    aval = typeof(x)
    zeros = (_INT32.type(0),) * (aval.ndim - 1)
    (window,) = dynamic_slice_p.bind(x, row, *zeros, slice_sizes=(1, *aval.shape[1:]))
    return squeeze(window, (0,))


check_p = Check()


def all_hold(flags: Value, first: int = 0) -> Value:
    """Return whether all elements hold, along the axes from `first` on."""
    axes = tuple(range(first, typeof(flags).ndim))
    return reduce_and(flags, axes) if axes else flags


def check(fine: Value, fault: Fault, *payload: Value) -> None:
    """Let the program end with `fault` unless all of the bools `fine` hold."""
    check_p.bind(fine, *payload, fault=fault)
