"""Events: what happened, how long it took, told to whoever listens (this is ``jax.monitoring``).

An event is a name with keyword details.  Listeners are called at once, in the order in which they
registered.  There are four kinds: a plain event, a duration, a span of time and a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]

# The durations that this system tells of by itself; programs count traces and compilations by them.
TRACED = "/jax/core/compile/jaxpr_trace_duration"
COMPILED = "/jax/core/compile/backend_compile_duration"
Listener = Callable[..., None]
_event: list[Listener] = []
_duration: list[Listener] = []
_time_span: list[Listener] = []
_scalar: list[Listener] = []


def _tell(listeners: list[Listener], *details: Any, **named: Any) -> None:
    """Call all listeners; one may register or leave meanwhile."""
    for listener in tuple(listeners):
        listener(*details, **named)


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell that an event happened.

    >>> register_event_listener(lambda event, **details: print(event, details))
    >>> record_event("/saved", step=3)
    /saved {'step': 3}
    >>> clear_event_listeners()
    """
    _tell(_event, event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell that an event took `duration` seconds.

    >>> listener = lambda event, seconds: print(event, seconds)
    >>> register_event_duration_secs_listener(listener)
    >>> record_event_duration_secs("/saved", 0.5)
    /saved 0.5
    >>> unregister_event_duration_listener(listener)
    """
    _tell(_duration, event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Tell that an event lasted from one time to another, in seconds.

    >>> listener = lambda event, start, end: print(event, end - start)
    >>> register_event_time_span_listener(listener)
    >>> record_event_time_span("/saved", 1.0, 3.5)
    /saved 2.5
    >>> unregister_event_time_span_listener(listener)
    """
    _tell(_time_span, event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Tell a number.

    >>> listener = lambda event, value: print(event, value)
    >>> register_scalar_listener(listener)
    >>> record_scalar("/loss", 0.25)
    /loss 0.25
    >>> unregister_scalar_listener(listener)
    """
    _tell(_scalar, event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Call `callback(event, **details)` for each event.

    >>> register_event_listener(print)
    >>> record_event("/saved")
    /saved
    >>> unregister_event_listener(print)
    """
    _event.append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Call `callback(event, seconds, **details)` for each duration.

    >>> register_event_duration_secs_listener(print)
    >>> record_event_duration_secs("/saved", 0.5)
    /saved 0.5
    >>> unregister_event_duration_listener(print)
    """
    _duration.append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Call `callback(event, start, end, **details)` for each span of time.

    >>> register_event_time_span_listener(print)
    >>> record_event_time_span("/saved", 1.0, 3.5)
    /saved 1.0 3.5
    >>> unregister_event_time_span_listener(print)
    """
    _time_span.append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Call `callback(event, value, **details)` for each number.

    >>> register_scalar_listener(print)
    >>> record_scalar("/loss", 0.25)
    /loss 0.25
    >>> unregister_scalar_listener(print)
    """
    _scalar.append(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Stop calling `callback` for events.

    >>> register_event_listener(print)
    >>> unregister_event_listener(print)
    >>> record_event("/saved")
    """
    _event.remove(callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Stop calling `callback` for durations.

    >>> register_event_duration_secs_listener(print)
    >>> unregister_event_duration_listener(print)
    >>> record_event_duration_secs("/saved", 0.5)
    """
    _duration.remove(callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Stop calling `callback` for spans of time.

    >>> register_event_time_span_listener(print)
    >>> unregister_event_time_span_listener(print)
    >>> record_event_time_span("/saved", 1.0, 3.5)
    """
    _time_span.remove(callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Stop calling `callback` for numbers.

    >>> register_scalar_listener(print)
    >>> unregister_scalar_listener(print)
    >>> record_scalar("/loss", 0.25)
    """
    _scalar.remove(callback)


def clear_event_listeners() -> None:
    """Forget all listeners.

    >>> register_event_listener(print)
    >>> clear_event_listeners()
    >>> record_event("/saved")
    """
    for listeners in (_event, _duration, _time_span, _scalar):
        listeners.clear()
