"""What the code of a function reads of its surroundings, found in its instructions.

A function that is traced reads globals, variables of enclosing functions, and attributes of them.
`reads_of` goes through its instructions, and through those of the functions written inside of it,
without running anything.  A *path* is a variable and attributes one after the other: `a.b.c`.
It is *whole* if no further attribute is read there: the value goes on to somewhere else, as an
argument, into a variable, or to be indexed.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator

from tapeless.util.records import record

__all__ = ["Reads", "reads_of"]

Path = tuple[str, ...]

_READS = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_READS_CELL = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF"))
_READS_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "LOAD_SUPER_METHOD"))


@record
class Reads:
    """What code reads.

    variables: globals.  paths: of attributes; of globals, cells, and arguments that keep the value
    they begin with.  whole: those that are used whole, variables as well.  attributes: the names of
    all attributes that are read of anything; optional: of those by `getattr` and `hasattr`.
    """

    variables: frozenset[str]
    paths: frozenset[Path]
    whole: frozenset[Path]
    attributes: frozenset[str]
    optional: frozenset[str]


def reads_of(code: types.CodeType) -> Reads:
    """Return what code, and the functions written inside of it, read."""
    variables: set[str] = set()
    paths: set[Path] = set()
    whole: set[Path] = set()
    attributes: set[str] = set()
    optional: set[str] = set()
    for part in _parts(code):
        variables.update(x.argval for x in dis.get_instructions(part) if x.opname in _READS)
        attributes.update(_attributes(part))
        optional.update(_optional(part))
        for path in _maximal_paths(part):
            whole.add(path)
            paths.update(path[:n] for n in range(2, len(path) + 1))
    names = frozenset(variables), frozenset(attributes | optional), frozenset(optional)
    return Reads(names[0], frozenset(paths), frozenset(whole), *names[1:])


def _parts(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield code, and that of the functions written inside of it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _parts(inner)


def _attributes(code: types.CodeType) -> Iterator[str]:
    """Yield the names of the attributes that code reads."""
    for step in dis.get_instructions(code):
        if step.opname in _READS_ATTRIBUTE:
            yield step.argval


def _optional(code: types.CodeType) -> Iterator[str]:
    """Yield constants that may be names of attributes, if code uses `getattr` or `hasattr`."""
    if not {"getattr", "hasattr"}.isdisjoint(code.co_names):
        yield from (x for x in code.co_consts if isinstance(x, str) and x.isidentifier())


def _maximal_paths(code: types.CodeType) -> Iterator[Path]:
    """Yield what code reads, each up to the last attribute."""
    steps = list(dis.get_instructions(code))
    n_arguments = code.co_argcount + code.co_kwonlyargcount
    stored = {step.argval for step in steps if step.opname.startswith("STORE_FAST")}
    arguments = set(code.co_varnames[:n_arguments]) - stored
    path: Path = ()
    for step in steps:
        if step.opname in _READS_ATTRIBUTE and path:
            path = (*path, step.argval)
            continue
        if path:
            yield path
        path = ()
        if step.opname in _READS | _READS_CELL:
            path = (step.argval,)
        elif step.opname.startswith("LOAD_FAST"):  # of one variable, or of two
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            yield from ((name,) for name in names[:-1] if name in arguments)
            path = names[-1:] if names[-1] in arguments else ()
