"""When two programs are the same: a key of what a jaxpr does, without its identity.

A function that is made anew for each call, such as the body of an eager `scan`, is traced anew, but
what it does is mostly the same as before, and need not be compiled again.  The key of a jaxpr has
its operations, parameters, types and literals, with variables as numbers.  Captured arrays are
numbers, too: they are arguments of native code, so that equal keys mean equal code.

Programs with Python functions among their parameters have no key: it would keep these alive.  Very
long ones have none either, since computing it would take longer than it is worth.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from tapeless.core.jaxpr import Atom, Jaxpr, Literal, Var

__all__ = ["parameters_key", "structure_of"]

_MOST_EQUATIONS = 20_000


class _NoKeyError(Exception):
    """The program has no key."""


class _Reader:
    """Walks programs and collects their captured arrays."""

    def __init__(self) -> None:
        """Nothing is captured yet."""
        self.consts: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._n_equations = 0

    def program(self, jaxpr: Jaxpr) -> tuple:
        """Return the key of a program."""
        self._n_equations += len(jaxpr.eqns)
        if self._n_equations > _MOST_EQUATIONS:
            raise _NoKeyError
        names: dict[Var, int] = {}
        captured = tuple(self._const(value) for value in jaxpr.consts)
        heads = (*jaxpr.constvars, *jaxpr.invars)
        for var in heads:
            names[var] = len(names)
        parts: list[Hashable] = [captured, tuple([var.aval for var in heads])]
        for eqn in jaxpr.eqns:
            read = tuple([_atom(atom, names) for atom in eqn.invars])
            for var in eqn.outvars:
                names[var] = len(names)
            types = tuple([var.aval for var in eqn.outvars])
            parts.append((eqn.primitive, read, types, self.mapping(eqn.params)))
        parts.append(tuple([_atom(atom, names) for atom in jaxpr.outvars]))
        return tuple(parts)

    def mapping(self, params: Mapping[str, Any]) -> tuple:
        """Return the key of parameters."""
        return tuple([(name, self.value(value)) for name, value in params.items()])

    def value(self, value: Any) -> Hashable:
        """Return the key of one parameter; its type tells 1 from 1.0 and True."""
        if isinstance(value, Jaxpr):
            return self.program(value)
        if type(value) in (tuple, list):
            return (type(value), *[self.value(item) for item in value])
        if type(value) is float:
            return struct.pack("d", value)
        if callable(value) and not isinstance(value, (type, np.dtype)):
            raise _NoKeyError
        try:
            hash(value)
        except TypeError as error:
            raise _NoKeyError from error
        return (type(value), value)

    def _const(self, value: Any) -> int:
        """Return the number of a captured value: the same for the same object."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.consts)
            self.consts.append(value)
        return number


def _atom(atom: Atom, names: Mapping[Var, int]) -> Hashable:
    """Return the number of a variable, or the type and the bits of a literal."""
    if type(atom) is not Literal:
        return names[atom]
    value = atom.val
    return (atom.aval, type(value), np.asarray(value).tobytes() if value is not None else None)


def structure_of(jaxpr: Jaxpr) -> tuple[Hashable, list[Any]] | None:
    """Return the key of a program, and its captured values in order; None if it has no key."""
    reader = _Reader()
    try:
        return reader.program(jaxpr), reader.consts
    except _NoKeyError:
        return None


def parameters_key(params: Mapping[str, Any]) -> tuple[Hashable, list[Any]] | None:
    """Return the key of an operation's parameters that hold programs; None if there is none."""
    reader = _Reader()
    try:
        return reader.mapping(params), reader.consts
    except _NoKeyError:
        return None
