"""`jax.ref`: arrays that change.  Names only."""

from tapeless.core.aval import AbstractRef
from tapeless.core.ref import Ref
from tapeless.numpy.references import (
    addupdate,
    empty_ref,
    free_ref,
    freeze,
    get,
    new_ref,
    set,
    swap,
)
from tapeless.util.names import close_module

__all__ = [
    "AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set",
    "swap",
]  # fmt: skip

close_module("jax.ref", globals())
