"""Traces and tracers: one current trace, each knowing its parent.

A thread has one current trace.  `Primitive.bind` hands every operation to it; nothing scans the
arguments to find out who is responsible.  A trace is a pair of a parent and a tag.  Given an
operation it unwraps the tracers that carry its tag, treats everything else (tracers of other traces
included) as constants, and runs the rule of its transformation with its parent current.  The
outermost parent is the base trace, which evaluates; the run time installs it.

Ownership is the identity of the tag, not a depth, so that perturbations cannot be confused, and a
rule may enter the same transformation again under another parent.

A tracer stands for a value while a function is traced.  Arithmetic operators, methods and
properties of arrays are filled in from one table (`array_methods`), which the array library owns.

Named axes (`vmap(axis_name=)`) live in the context beside the current trace.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NoReturn

from tapeless import errors
from tapeless.core.any_array import AnyArray
from tapeless.core.aval import ShapedArray, register_value_type
from tapeless.util.chains import users_name
from tapeless.util.records import record

__all__ = [
    "Axis",
    "Context",
    "Tag",
    "Trace",
    "Tracer",
    "Value",
    "array_methods",
    "bind_axis",
    "context",
    "current_trace",
    "ensure_compile_time_eval",
    "eval_context",
    "find_axis",
    "install_base_trace",
    "leaked",
    "trace_state_clean",
    "under",
]

Value = Any  # a Python scalar, a NumPy array, an Array or a Tracer


@record
class Axis:
    """A mapped axis: its size and, for collectives, its name (None if it has none)."""

    size: int
    name: object = None


class Tag:
    """The identity of one use of a transformation; tracers carry it.

    what: the words for messages, such as `jit of f at file:line`, or without the function.
    function: what is transformed, where the words do not name it.
    alive: False once the transformation has returned, which tells a leaked tracer from a live one.
    """

    __slots__ = ("alive", "function", "what")

    def __init__(self, what: str = "") -> None:
        """what: a description for messages."""
        self.what = what
        self.function: Any = None
        self.alive = True

    @property
    def main(self) -> Tag:
        """Itself: what JAX's libraries compare of `tracer._trace` and of a trace."""
        return self


class Trace:
    """One interpretation of operations, above the interpretation `parent`."""

    __slots__ = ("parent", "tag")

    def __init__(self, parent: Trace | None, tag: Tag) -> None:
        """parent: the trace in which the rules run; None for the base trace."""
        self.parent: Trace = parent  # pyrefly: ignore[bad-assignment]  # the base trace runs none
        self.tag = tag

    def process(
        self, prim: Any, args: tuple[Value, ...], params: dict[str, Any]
    ) -> tuple[Value, ...]:
        """Apply the operation `prim` to `args`; `params` is the trace's to keep."""
        raise NotImplementedError

    def array(self, elements: Any, aval: ShapedArray) -> Value:
        """Return a new value with the elements of a NumPy array; the base trace's business."""
        raise NotImplementedError

    def linear_side(self) -> Trace:
        """Return where zero tangents are made that an operation needs as arrays."""
        return self

    def constant(self, x: Value) -> Value:
        """Return a concrete value as an Array or, while a program is written, a tracer for it."""
        return self.parent.constant(x)

    @property
    def main(self) -> Tag:
        """The tag, by JAX's name."""
        return self.tag

    def owns(self, x: object) -> bool:
        """Tell whether `x` is a tracer of this trace."""
        return isinstance(x, Tracer) and x.tag is self.tag


class Tracer(AnyArray):
    """A value of a function that is being traced; subclasses say what stands behind it."""

    __slots__ = ("__weakref__", "tag")
    __array_priority__ = 1000
    tag: Tag
    aval: ShapedArray

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError for what arrays have not, in JAX's words."""
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def __repr__(self) -> str:
        """Return the kind of tracer and its type."""
        return f"{type(self).__name__}<{self.aval.str_short(True)}>"

    @property
    def _trace(self) -> Tag:
        """What tells the tracers of one trace from those of others, by JAX's name."""
        return self.tag

    def __copy__(self) -> Tracer:
        """Return itself: values do not change."""
        return self

    def __deepcopy__(self, memo: dict) -> Tracer:
        """Return itself: values do not change."""
        return self

    def __reduce__(self) -> NoReturn:
        """Raise: what has no elements yet cannot be written to a file or sent to a process."""
        raise errors.ConcretizationTypeError(
            f"Abstract tracer value encountered where concrete value is expected: {self!r} was to "
            f"be pickled.\n{self.origin()} Pickle the result of the function instead, or pickle in "
            f"a `jax.pure_callback`."
        )

    def __format__(self, spec: str) -> str:
        """Return the tracer's text, or raise: there are no digits to be formatted."""
        if spec:
            raise TypeError(
                f"unsupported format string passed to {type(self).__name__}.__format__: the value "
                "is not known while the function is traced. Print it when the function runs: "
                f'jax.debug.print("{{x:{spec}}}", x=x).'
            )
        return str(self)

    def origin(self) -> str:
        """Return words on where the value comes from, for messages."""
        return ""

    def place(self) -> str:
        """Return the line on which the value was made, or "" where nobody knows."""
        return ""

    def concrete(self) -> Any:
        """Return the concrete value behind it, or None if there is none."""
        return None

    def constant(self) -> Value:
        """Return the value without tangents."""
        return self


register_value_type(Tracer, operator.attrgetter("aval"))
array_methods: dict[str, Any] = {}


class _Uninstalled(Trace):
    """The base trace before the run time is imported: it can only say so."""

    __slots__ = ()

    def process(
        self, prim: Any, args: tuple[Value, ...], params: dict[str, Any]
    ) -> tuple[Value, ...]:
        """Refuse: there is nothing that evaluates."""
        raise RuntimeError(f"no run time is installed that could evaluate {prim}")


class Context(threading.local):
    """What is current in this thread: the trace and the named axes in scope."""

    base: Trace = _Uninstalled(None, Tag("base"))
    axes: tuple[Axis, ...] = ()

    def __init__(self) -> None:
        """Start each thread at the base trace."""
        self.trace = Context.base


context = Context()


def install_base_trace(trace: Trace) -> None:
    """Make `trace` the one that evaluates; called once, by the run time."""
    Context.base = trace
    context.trace = trace


def current_trace() -> Trace:
    """Return the current trace of this thread."""
    return context.trace


def trace_state_clean() -> bool:
    """Tell whether nothing is being traced around the call."""
    return context.trace is context.base


def under(trace: Trace, function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call `function` with `trace` current."""
    previous = context.trace
    context.trace = trace
    try:
        return function(*args, **kwargs)
    finally:
        context.trace = previous


@contextmanager
def eval_context() -> Generator[None, None, None]:
    """Evaluate operations on known values at once, whatever is being traced around the block."""
    previous, axes = context.trace, context.axes
    context.trace, context.axes = Context.base, ()
    try:
        yield
    finally:
        context.trace, context.axes = previous, axes


class FoldTrace(Trace):
    """Evaluates operations on known values at once; those on tracers are `parent`'s."""

    __slots__ = ()

    def process(
        self, prim: Any, args: tuple[Value, ...], params: dict[str, Any]
    ) -> tuple[Value, ...]:
        """Ask whether an operand is a tracer."""
        traced = any(isinstance(arg, Tracer) for arg in args)
        trace = self.parent if traced else Context.base
        return under(trace, trace.process, prim, args, params)

    def array(self, elements: Any, aval: ShapedArray) -> Value:
        """Return an array, which is known."""
        return Context.base.array(elements, aval)

    def constant(self, x: Value) -> Value:
        """Return an array, which is known."""
        return Context.base.constant(x)

    def linear_side(self) -> Trace:
        """Return that of the trace around it."""
        return self.parent.linear_side()


@contextmanager
def ensure_compile_time_eval() -> Generator[None, None, None]:
    """Evaluate operations on known values at once inside the block; others are traced.

    >>> from tapeless import jit, numpy
    >>> def largest(x):
    ...     with ensure_compile_time_eval():
    ...         count = int(numpy.arange(3).max())
    ...     return x * count
    >>> jit(largest)(1.5)
    Array(3., dtype=float32, weak_type=True)
    """
    previous = context.trace
    if previous is not Context.base:
        context.trace = FoldTrace(previous, Tag("ensure_compile_time_eval"))
    try:
        yield
    finally:
        context.trace = previous


@contextmanager
def bind_axis(axis: Axis) -> Generator[None, None, None]:
    """Bring a named axis into scope; an axis without a name changes nothing."""
    previous = context.axes
    if axis.name is not None:
        context.axes = (*previous, axis)
    try:
        yield
    finally:
        context.axes = previous


def find_axis(name: object) -> Axis:
    """Return the innermost axis in scope of this name."""
    for axis in reversed(context.axes):
        if axis.name == name:
            return axis
    raise NameError(
        f"Found an unbound axis name: {name}. To fix this, please call the collective under "
        f"`vmap` with `axis_name={name!r}`."
    )


_ARGUMENT = "The leaked value was an argument of the function.\n"  # no operation made it


def leaked(tracer: Tracer) -> errors.UnexpectedTracerError:
    """Return the error for a tracer that reached a trace which does not know it."""
    purpose, _, function = tracer.tag.what.partition(" of ")
    traced = f"{function or users_name(tracer.tag.function) or 'one'} traced for {purpose}"
    place = tracer.place()
    made = f"The leaked intermediate value was created on line {place}.\n" if place else _ARGUMENT
    return errors.UnexpectedTracerError(
        f"Encountered an unexpected tracer. A function transformed by JAX had a side effect, "
        f"allowing for a reference to an intermediate value with type "
        f"{tracer.aval.str_short(False)} wrapped in a {type(tracer).__name__} to escape the scope "
        f"of the transformation.\n"
        f"JAX transformations require that functions explicitly return their outputs, and "
        f"disallow saving intermediate values to global state.\n"
        f"The function being traced when the value leaked was {traced}.\n{made}"
        f"To catch the leak earlier, try setting the environment variable JAX_CHECK_TRACER_LEAKS "
        f"or using the `jax.checking_leaks` context manager."
    )
