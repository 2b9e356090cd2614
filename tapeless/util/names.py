"""Names that a module does not have.

Public modules bear the names of the library whose programs they run, also in the error for an
attribute that is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

__all__ = ["missing_attribute"]


def missing_attribute(module: str) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module that is called `module` in errors.

    >>> missing_attribute("jax.numpy")("randn")
    Traceback (most recent call last):
    AttributeError: module 'jax.numpy' has no attribute 'randn'
    """

    def no_such_name(name: str) -> NoReturn:
        """Raise AttributeError."""
        raise AttributeError(f"module '{module}' has no attribute {name!r}")

    return no_such_name
