"""Spans: named stretches of time in a program, written down while a trace is on.

`TraceAnnotation` marks a stretch; `start_trace(folder)` and `stop_trace()` bound what is written:
a file `tapeless.trace.json` in the format that chrome://tracing and ui.perfetto.dev read.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

from tapeless.util import lazy

__all__ = [
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "start_trace",
    "stop_trace",
    "trace",
]

json = lazy.load("json")
pathlib = lazy.load("pathlib")
FILE_NAME = "tapeless.trace.json"


class _Recorder:
    """What a trace has written so far; `folder` is None when none is on."""

    def __init__(self) -> None:
        """Start without a trace."""
        self.folder: pathlib.Path | None = None
        self.events: list[dict[str, Any]] = []


_recorder = _Recorder()


class TraceAnnotation(contextlib.ContextDecorator):
    """A named stretch of time: a context manager, or a decorator.

    >>> with TraceAnnotation("load", file="a.npz"):
    ...     pass
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        """kwargs: details, shown with the stretch."""
        self.name, self.details = name, kwargs
        self._starts: list[int] = []

    def __enter__(self) -> TraceAnnotation:
        """Note the time."""
        self._starts.append(time.perf_counter_ns())
        return self

    def __exit__(self, *exception: object) -> None:
        """Write the stretch, if a trace is on."""
        start, end = self._starts.pop(), time.perf_counter_ns()
        if _recorder.folder is not None:
            _recorder.events.append({
                "ph": "X", "name": self.name, "ts": start / 1000, "dur": (end - start) / 1000,
                "pid": os.getpid(), "tid": threading.get_ident(),
                "args": {key: str(value) for key, value in self.details.items()},
            })  # fmt: skip


class StepTraceAnnotation(TraceAnnotation):
    """A step of training: `StepTraceAnnotation("train", step_num=3)`.

    >>> with StepTraceAnnotation("train", step_num=3):
    ...     print(jnp.arange(3).sum())
    3
    """


def annotate_function(func: Callable, name: str | None = None, **decorator_kwargs: Any) -> Callable:
    """Return `func`, its calls annotated with its name.

    >>> double = annotate_function(lambda x: 2 * x, "double")
    >>> double(3)
    6
    """
    label = name or getattr(func, "__qualname__", None) or func.__name__

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        """Call within an annotation."""
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


def start_trace(
    log_dir: os.PathLike | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Start to write annotations; `log_dir` is where the file will be.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     start_trace(folder)
    ...     stop_trace()
    ...     print(len(os.listdir(folder)))
    1
    """
    if create_perfetto_link:
        raise NotImplementedError("no server is started: open the file in ui.perfetto.dev")
    if _recorder.folder is not None:
        raise RuntimeError(
            "Profile has already been started. Only one profile may be run at a time."
        )
    _recorder.folder, _recorder.events = pathlib.Path(log_dir), []


def stop_trace() -> None:
    """Stop, and write the file.

    >>> stop_trace()
    Traceback (most recent call last):
        ...
    RuntimeError: No profile started
    """
    folder = _recorder.folder
    if folder is None:
        raise RuntimeError("No profile started")
    _recorder.folder = None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE_NAME).write_text(json.dumps({"traceEvents": _recorder.events}))


@contextlib.contextmanager
def trace(
    log_dir: os.PathLike | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Generator[None, None, None]:
    """Write the annotations of a block to a file in `log_dir`.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with trace(folder):
    ...         x = jnp.arange(3).sum()
    ...     print(len(os.listdir(folder)))
    1
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()
