"""`checkify`: errors of a program as values that it returns.

A program that is compiled, mapped or differentiated cannot raise where its user wrote `raise`.  It
may *check*: `checkify(f)` is the function that returns an `Error` beside the result of f, which
says what went wrong first, or that nothing did.  The transformation is of programs alone: the
function is traced; checks of operations are put in (`control/instrument.py`); and all checks are
taken out, in favour of a record that is handed on (`control/discharge.py`).  So it works with
`jit`, loops, branches, `vmap` and `grad`, on either side.

Kinds of errors are classes, as in JAX; sets of them have names: `user_checks`, `nan_checks`,
`index_checks`, `div_checks`, `float_checks`, `automatic_checks`, `all_checks`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tapeless import config
from tapeless.api.jit import trace_program
from tapeless.control.discharge import Layout, discharge, empty_record, layout_of
from tapeless.control.instrument import instrument
from tapeless.control.jit import jit_p
from tapeless.core.any_array import AnyArray
from tapeless.core.aval import is_value, typeof
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.source import current_source
from tapeless.core.trace import Axis, Context, Tracer, Value
from tapeless.dtypes import float0
from tapeless.prims.check import Fault, check_p
from tapeless.prims.compare import eq
from tapeless.transforms.batch import batch_flat
from tapeless.tree.flatten import tree_flatten, tree_unflatten
from tapeless.tree.registry import register_pytree_node
from tapeless.tree.treedef import PyTreeDef
from tapeless.util.frames import api_boundary
from tapeless.util.records import record
from tapeless.util.seqs import few, invert, merge, select

__all__ = [
    "DivisionByZeroError", "Error", "ErrorCategory", "FailedCheckError", "JaxRuntimeError",
    "NaNError", "OOBError", "all_checks", "automatic_checks", "check", "check_error", "checkify",
    "debug_check", "div_checks", "float_checks", "index_checks", "init_error", "nan_checks",
    "user_checks",
]  # fmt: skip


class JaxRuntimeError(ValueError):
    """A check has failed: what `check` raises outside transformations, and `Error.throw`."""


class FailedCheckError(JaxRuntimeError):
    """The kind of errors that users check for."""


class NaNError(JaxRuntimeError):
    """The kind of results that are no numbers."""


class OOBError(JaxRuntimeError):
    """The kind of indices out of bounds."""


class DivisionByZeroError(JaxRuntimeError):
    """The kind of divisors that are zero."""


ErrorCategory = type[JaxRuntimeError]

user_checks = frozenset({FailedCheckError})
nan_checks = frozenset({NaNError})
index_checks = frozenset({OOBError})
div_checks = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks

_KINDS: dict[ErrorCategory, set[str]] = {
    NaNError: {"nan"},
    OOBError: {"index", "fill", "clip"},
    DivisionByZeroError: {"div"},
}


# Faults


@record
class UserFault(Fault):
    """A condition of the user's that does not hold.

    text: a format string; tree: that of its arguments, whose leaves are the payload.
    """

    text: str
    tree: PyTreeDef

    must_be_discharged = True

    def message(self, payload: Sequence[np.ndarray]) -> str:
        """Return the text with its arguments put in."""
        args, kwargs = tree_unflatten(self.tree, list(map(Context.base.constant, payload)))
        return f"{self.text.format(*args, **kwargs)} (`check` failed)"

    def exception(self, payload: Sequence[np.ndarray], counts: Sequence[int]) -> Exception:
        """Return the error."""
        return JaxRuntimeError(self.message(payload))


@record
class DebugFault(UserFault):
    """A condition that is looked at in `checkify` only."""

    may_be_ignored = True


@record
class ErrorFault(Fault):
    """An error that was a value, and is an error again; the payload is its record."""

    layout: Layout

    must_be_discharged = True

    def message(self, payload: Sequence[np.ndarray]) -> str:
        """Return the sentence of the fault that the record tells of."""
        return _message(self.layout, [np.asarray(x) for x in payload], ())

    def exception(self, payload: Sequence[np.ndarray], counts: Sequence[int]) -> Exception:
        """Return the error."""
        return JaxRuntimeError(self.message(payload))


def _is_wanted(errors: frozenset) -> Callable[[Fault], bool]:
    """Return the function that tells whether a fault is looked for; those put in always are."""
    return lambda fault: FailedCheckError in errors or not isinstance(fault, UserFault)


# Errors as values


class Error:
    """What went wrong first in a function that was transformed by `checkify`, if anything did.

    It is a tree of arrays, and may be returned from and given to compiled functions.
    """

    __slots__ = ("_layout", "_record")

    def __init__(self, layout: Layout, record: Sequence[Value]) -> None:
        """record: () where nothing can go wrong."""
        self._layout = layout
        self._record = tuple(record)

    def get(self) -> str | None:
        """Return the message, or None if nothing went wrong; of mapped functions, a line a row.

        >>> from tapeless import numpy as jnp
        >>> error, _ = checkify(jnp.log, errors=nan_checks)(-1.0)
        >>> print(error.get())
        nan generated by primitive: log.
        """
        if not self._record:
            return None
        arrays = list(map(_known, self._record))
        if arrays[0].dtype == float0:  # the tangent of an error
            return None
        lines = []
        for place in np.argwhere(arrays[0] != 0):
            found = _message(self._layout, arrays, tuple(place))
            numbers = ", ".join(map(str, place))
            lines.append(f"at mapped index {numbers}: {found}" if len(place) else found)
        return "\n".join(few(lines, 12)) or None

    def throw(self) -> None:
        """Raise if something went wrong."""
        check_error(self)

    def __repr__(self) -> str:
        """Return the message, or the leaves while they are traced."""
        if any(isinstance(x, Tracer) for x in self._record):
            return f"Error({', '.join(map(repr, self._record))})"
        return f"Error({self.get()})"


register_pytree_node(
    Error,
    lambda error: (error._record, error._layout),
    lambda layout, record: Error(layout, record),
)

init_error = Error(Layout((), (), ()), ())


def _known(x: Value) -> np.ndarray:
    """Return the numbers of a part of a record, also under a derivative."""
    concrete = x.concrete() if isinstance(x, Tracer) else None
    return np.asarray(x if concrete is None else concrete)


def _message(layout: Layout, record: Sequence[np.ndarray], place: tuple[int, ...]) -> str:
    """Return the sentence of the fault that a record tells of, at a place of the mapped axes."""
    number = int(record[0][place]) - 1
    fault = layout.faults[number]
    return fault.message([record[1 + slot][place] for slot in layout.places[number]])


# Functions


@api_boundary
def check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Check that the scalar bool `pred` holds.

    msg: a format string for the arrays (or trees of arrays) `fmt_args` and `fmt_kwargs`.  Inside a
    transformation the function must be transformed by `checkify`; outside, JaxRuntimeError is
    raised at once.

    >>> from tapeless import numpy as jnp
    >>> def root(x):
    ...     check(x >= 0, "{x} has no root", x=x)
    ...     return jnp.sqrt(x)
    >>> error, out = checkify(root)(-4.0)
    >>> print(error.get())
    -4.0 has no root (`check` failed)
    """
    _check(pred, msg, fmt_args, fmt_kwargs, UserFault)


@api_boundary
def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Check as `check` does, but only inside of `checkify`: elsewhere nothing happens."""
    _check(pred, msg, fmt_args, fmt_kwargs, DebugFault)


def _check(pred: Any, msg: str, args: tuple, kwargs: dict, kind: type[UserFault]) -> None:
    """Bind one check."""
    is_flag = isinstance(pred, (bool, np.bool_)) or (
        is_value(pred) and typeof(pred).dtype == np.bool_ and not typeof(pred).shape
    )
    if not is_flag:
        raise TypeError(f"check takes a scalar pred as argument, got {pred}")
    leaves, tree = tree_flatten((args, kwargs))
    for leaf in leaves:
        if not isinstance(leaf, (AnyArray, np.ndarray, np.generic)):
            raise TypeError(
                f"Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                f"{leaf!r} of type {type(leaf)}."
            )
    check_p.bind(pred, *leaves, fault=kind(current_source(), msg, tree))


@api_boundary
def check_error(error: Error) -> None:
    """Raise an error that is a value; inside of `checkify`, let it be found there.

    Of the error of a mapped function, the last row that went wrong is told.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error as argument, got type {type(error)} instead.")
    if not error._record:
        return
    fault = ErrorFault(current_source(), error._layout)
    avals = error._layout.avals()

    def bind(*record: Value) -> Sequence[Value]:
        """Check one record."""
        code = record[0]
        if not typeof(code).ndim:
            return check_p.bind(eq(code, np.int32(0)), *record, fault=fault)
        mapped = [typeof(x).ndim > aval.ndim for x, aval in zip(record, avals, strict=True)]
        axis = Axis(typeof(code).shape[0])
        return batch_flat(bind, axis, record, [0 if flag else None for flag in mapped])[0]

    bind(*error._record)


@api_boundary
def checkify(f: Callable, errors: Iterable[ErrorCategory] = user_checks) -> Callable:
    """Return the function (*args) -> (error, result) that returns what goes wrong in `f`.

    errors: the kinds of errors to look for: `user_checks`, `index_checks`, `nan_checks`,
    `div_checks`, or a union of such sets.  The first that happens is told.

    >>> from tapeless import numpy as jnp
    >>> error, out = checkify(lambda x, i: x[i], errors=index_checks)(jnp.arange(3), 7)
    >>> print(error.get().partition(": ")[2].strip())
    index 7 is out of bounds for axis 0 with size 3.
    """
    if not callable(f):
        raise TypeError(f"Expected a callable value, got {f}")
    wanted = frozenset(errors)
    kinds = frozenset().union(*(_KINDS.get(kind, ()) for kind in wanted))
    bounds = config.out_of_bounds("check" if "index" in kinds else "fill")

    @functools.wraps(f)
    @api_boundary
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        """Trace, discharge, run."""
        leaves, tree = tree_flatten((args, kwargs))
        is_input = [is_value(leaf) and not isinstance(leaf, (bool, int)) for leaf in leaves]
        inputs, others = select(leaves, is_input), select(leaves, invert(is_input))

        @functools.wraps(f)
        def flat(*given: Value) -> Any:
            """Call the function; what is no array, and Python integers, are the same as outside."""
            full, named = tree_unflatten(tree, merge(is_input, others, given))
            return f(*full, **named)

        with bounds:
            _, inputs_tree = tree_flatten((tuple(inputs), {}))
            avals = tuple(map(typeof, inputs))
            traced = trace_program(flat, inputs_tree, avals, purpose="checkify")
        jaxpr, layout = _discharged(traced.jaxpr, kinds, wanted)
        record: Sequence[Value] = ()
        if layout.faults:
            record = empty_record(layout)
        given = [*record, *traced.tracers, *inputs]
        outs = jit_p.bind(*given, name=traced.name, jaxpr=jaxpr, inline=False)
        n = len(record)
        return Error(layout, outs[:n]), tree_unflatten(traced.out_tree, outs[n:])

    return checked


def _discharged(jaxpr: Jaxpr, kinds: frozenset[str], wanted: frozenset) -> tuple[Jaxpr, Layout]:
    """Return the program that returns a record, and what the record means."""
    instrumented = instrument(jaxpr, kinds) if kinds else jaxpr
    layout = layout_of(instrumented, _is_wanted(wanted))
    program = discharge(instrumented, layout)
    if not layout.faults:
        n = len(layout.avals())
        program = program.replace(invars=program.invars[n:], outvars=program.outvars[n:])
    return program, layout
