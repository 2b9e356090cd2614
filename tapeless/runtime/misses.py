"""Why a function is traced again: what `jax_explain_cache_misses` logs.

    TRACING CACHE MISS at train.py:31:8 (main):
      for loss defined at train.py:12
      all previously seen cache keys differ. For the closest previous key:
      different input types:
      * at batch['x'], now f32[3] and before f32[2]

The key of a traced program is the tree of the arguments, their types, the static values, what
staging may read of the configuration, and the named axes in scope.  The closest previous key is the
one with the fewest of these different, and of such the one with the fewest types different.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.tree.keys import keystr
from tapeless.tree.prefix import equality_errors_pytreedef
from tapeless.util.frames import user_mark

__all__ = ["miss_explanation"]


def miss_explanation(
    function: Callable, key: tuple, table: Mapping[Any, Any], names: Callable[[Any], Sequence[str]]
) -> str:
    """Return why `key` is not among the keys of a function's programs.

    names: gives the names of a program's arguments.
    """
    mark = user_mark()
    head = "TRACING CACHE MISS" + (f" at {mark}:" if mark else ":")
    name = getattr(function, "__name__", str(function))
    code = getattr(function, "__code__", None)
    place = f" defined at {code.co_filename}:{code.co_firstlineno}" if code else ""
    if not table:
        return f"{head}\n  never seen function:\n    {name} id={id(function)}{place}"
    nearest = min(table, key=lambda old: _distance(old, key))
    lines = [
        head,
        f"  for {name}{place}",
        "  all previously seen cache keys differ. For the closest previous key:",
        *(f"  {line}" for line in _differences(nearest, key, names(table[nearest]))),
    ]
    return "\n".join(lines)


def _distance(old: tuple, new: tuple) -> tuple[int, int]:
    """Return how many parts of two keys differ, and how many types."""
    parts = sum(a != b for a, b in zip(old, new, strict=True))
    types = sum(a != b for a, b in zip(old[1], new[1], strict=False))
    return parts, types + abs(len(old[1]) - len(new[1]))


def _differences(old: tuple, new: tuple, names: Sequence[str]) -> Iterator[str]:
    """Yield lines about each part of two keys that differs."""
    tree, avals, static, settings, axes = new
    if tree != old[0]:
        yield "different input pytree:"
        for path, now, before, why in equality_errors_pytreedef(tree, old[0]):
            yield f"* at input path {keystr(path)}, now {now} and before {before}, so {why}"
    elif avals != old[1]:
        yield "different input types:"
        for number, (now, before) in enumerate(zip(avals, old[1], strict=True)):
            if now != before:
                where = names[number] if number < len(names) else f"argument {number}"
                yield f"* at {where}, now {_type_text(now)} and before {_type_text(before)}"
    if static != old[2]:
        now, before = (_static_text(key) for key in (static, old[2]))
        yield f"different static values: now {now} and before {before}"
    if settings != old[3]:
        yield "Tracing context doesn't match, e.g. due to config or context manager."
        before = old[3].as_dict()
        for name, value in settings.as_dict().items():
            if value != before[name]:
                yield f"* {name} differs: now {value} and before {before[name]}"
    if axes != old[4]:
        yield f"different named axes: now {axes} and before {old[4]}"


def _static_text(static: tuple) -> str:
    """Return the places and values of static arguments, without the types that the key has."""
    return str(tuple([tuple([entry[:2] for entry in group]) for group in static]))


def _type_text(aval: ShapedArray) -> str:
    """Return a type with its weak bit, the usual reason for types that look the same."""
    return aval.str_short(True) + ("{weak_type=True}" if aval.weak_type else "")
