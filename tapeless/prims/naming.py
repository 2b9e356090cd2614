"""`name`: the identity with a name, by which checkpoint policies know a value."""

from __future__ import annotations

from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.core.trace import Value
from tapeless.prims.identity import Identity

__all__ = ["name", "name_p"]


class Name(Identity):
    """The operand; `name` is what policies and reports call it."""

    name = "name"

    def back(self, ct: Value, aval: ShapedArray, **params: Any) -> Value:
        """Return the cotangent: it has no name."""
        return ct


name_p = Name()


def name(x: Value, name: str) -> Value:
    """Return `x`, named."""
    return name_p.bind(x, name=name)[0]
