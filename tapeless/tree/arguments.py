"""Names for messages: of the leaves of the arguments of functions.

An error should say `argument params['w']`, not `argument number 3`.  The name of a leaf is the
parameter's name in the function's signature, followed by the key path inside the argument; where a
signature cannot be had, arguments are called `args[0]` and `kwargs['key']`, as JAX calls them.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tapeless.tree.keys import keystr
from tapeless.tree.paths import tree_flatten_with_path

__all__ = [
    "argument_numbers",
    "argument_names",
    "check_callable",
    "is_one_number",
    "leaf_names",
    "parameter_names",
    "wraps",
]


def argument_numbers(value: Any) -> tuple[int, ...]:
    """Return None, one number or some numbers, of any kind that is an index, as a tuple of ints."""
    if value is None:
        return ()
    return tuple(map(operator.index, (value,) if is_one_number(value) else value))


def is_one_number(value: Any) -> bool:
    """Tell whether a value is an index, of any kind: also an array of NumPy without axes."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def check_callable(function: object) -> None:
    """Raise TypeError unless what is to be transformed is a function."""
    if not callable(function):
        raise TypeError(f"Expected a callable value, got {function}")


# What functions have under the names that are handed on.
_KINDS = {"__name__": str, "__qualname__": str, "__annotations__": dict, "__type_params__": tuple}


def wraps(function: Callable) -> Callable[[Callable], Callable]:
    """Return `functools.wraps(function)`; objects that are called may have names of other kinds."""
    given = [
        name
        for name in functools.WRAPPER_ASSIGNMENTS
        if isinstance(getattr(function, name, None), _KINDS.get(name, object))
    ]
    return functools.wraps(function, assigned=given)


def parameter_names(function: Callable, n_args: int) -> list[str]:
    """Return the names that `n_args` positional arguments have in the signature."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [f"args[{i}]" for i in range(n_args)]
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names.extend(f"{parameter.name}[{i}]" for i in range(n_args - len(names)))
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    names.extend(f"args[{i}]" for i in range(len(names), n_args))
    return names[:n_args]


def leaf_names(name: str, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[str]:
    """Return the name of each leaf of one argument: `name` and the key path."""
    pairs, _ = tree_flatten_with_path(tree, is_leaf)
    return [name + keystr(path) for path, _ in pairs]


def argument_names(
    function: Callable, args: Sequence[Any], kwargs: Mapping[str, Any], skip: Sequence[int] = ()
) -> tuple[str, ...]:
    """Return the name of each leaf of (args, kwargs), in flattening order.

    skip: positions of static arguments, which have no leaves; `args` still holds them.
    """
    names = parameter_names(function, len(args))
    result: list[str] = []
    for position, (name, arg) in enumerate(zip(names, args, strict=True)):
        if position not in skip:
            result.extend(leaf_names(name, arg))
    for key in sorted(kwargs):
        result.extend(leaf_names(key, kwargs[key]))
    return tuple(result)
