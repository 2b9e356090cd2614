"""Finding tracers that outlive their transformation, where `jax.checking_leaks` asks for it.

A tracer must not be used after its transformation has returned.  Such a use is an error of its own
(`trace.leaked`), but it may come much later, in other code.  The check looks through all objects
that Python knows at the end of every transformation, which is slow, and names who holds the tracer.
"""

from __future__ import annotations

import gc
import itertools
import types

from tapeless import config
from tapeless.core.trace import Tag, Tracer

__all__ = ["check"]

_MOST = 3


def check(tag: Tag) -> None:
    """Raise if tracers of the transformation `tag`, which has returned, are still alive."""
    if not config.current.jax_check_tracer_leaks:
        return
    gc.collect()
    alive = [x for x in gc.get_objects() if isinstance(x, Tracer) and x.tag is tag]
    if not alive:
        return
    lines = [f"Leaked trace of {tag.what}. Leaked tracer(s):"]
    for tracer in itertools.islice(alive, _MOST):
        place = tracer.place()
        lines.append(f"\n{tracer!r}" + (f", created on line {place}" if place else ""))
        lines.extend(_holders(tracer, alive))
    raise Exception("\n".join(lines))


def _holders(tracer: Tracer, ours: list[Tracer]) -> list[str]:
    """Say which objects refer to a tracer, one line each."""
    ignored = {id(ours), *map(id, ours)}
    found = []
    for holder in gc.get_referrers(tracer):
        if id(holder) in ignored or isinstance(holder, types.FrameType):
            continue
        found.append(f"{type(tracer).__name__} is referred to by {_described(holder, tracer)}")
    return found[:_MOST]


def _described(holder: object, tracer: Tracer) -> str:
    """Name a container and the place in it."""
    if isinstance(holder, dict):
        keys = [key for key, value in holder.items() if value is tracer]
        module = holder.get("__name__") if "__builtins__" in holder else None
        where = f"global of {module}" if module else "dict"
        return f"<{where}>[{keys[0]!r}]" if keys else f"<{where}>"
    if isinstance(holder, (list, tuple)):
        position = next(number for number, value in enumerate(holder) if value is tracer)
        return f"<{type(holder).__name__} {id(holder)}>[{position}]"
    return f"<{type(holder).__name__} {id(holder)}>"
