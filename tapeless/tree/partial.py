"""`Partial`: a partially applied function that is a tree.

``functools.partial`` is a leaf.  A `Partial` is a container: its arguments are children,
so they can be arrays that are traced, batched and differentiated, and its function belongs
to the structure.

Structures are compared and hashed, and a ``functools.partial`` compares by identity and may
hold arrays.  When one is wrapped, calls must go through it as it is: `_Whole` keeps it
from being merged into the new partial, whose arguments would then become children.
"""

import functools
from collections.abc import Callable
from typing import Any

from tapeless.tree.registry import register_pytree_node

__all__ = ["Partial"]


class _Whole:
    """Holds a partial function so that ``functools.partial`` does not look into it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Remember the function and what it is made of."""
        self.function = function
        self.func = getattr(function, "func", None)
        self.args = getattr(function, "args", None)
        self.keywords = getattr(function, "keywords", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)

    def __hash__(self) -> int:
        """Hash as the function does."""
        return hash(self.function)

    def __eq__(self, other: object) -> bool:
        """Compare the functions."""
        if isinstance(other, _Whole):
            return bool(self.function == other.function)
        return bool(self.function == other)

    def __repr__(self) -> str:
        """Show the function inside."""
        return f"_HashableCallableShim({self.function!r})"


class Partial(functools.partial[Any]):
    """Like ``functools.partial``, but a container whose children are the arguments.

    >>> from tapeless.tree import leaves
    >>> add_two = Partial(max, 2)
    >>> add_two(5), leaves(add_two)
    (5, [2])
    """

    __module__ = "tapeless.tree_util"

    def __new__(klass, func: Callable[..., Any], *args: Any, **kw: Any) -> "Partial":  # noqa: N804
        """Make a partial; one that is wrapped stays whole."""
        if isinstance(func, functools.partial):
            func = _Whole(func)
        return super().__new__(klass, func, *args, **kw)

    def __repr__(self) -> str:
        """Return the call that makes the same partial, on every version of Python alike."""
        keywords = [f"{name}={value!r}" for name, value in self.keywords.items()]
        arguments = [repr(self.func), *map(repr, self.args), *keywords]
        return f"tapeless.tree_util.Partial({', '.join(arguments)})"


def _flatten(partial: Partial) -> tuple[tuple[Any, Any], Callable[..., Any]]:
    """Take a partial apart: arguments and keywords are children, the function is data."""
    return (partial.args, partial.keywords), partial.func


def _unflatten(function: Callable[..., Any], children: Any) -> Partial:
    """Build a partial around the function of the structure."""
    args, keywords = children
    return Partial(function, *args, **keywords)


register_pytree_node(Partial, _flatten, _unflatten)
