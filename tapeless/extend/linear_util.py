"""`jax.extend.linear_util`: functions in layers, as old libraries build transformations.

A `WrappedFun` is a function with words for messages.  A transformation puts a layer around it: a
function that takes the next inner function first (`transformation2`), or a generator that yields
the inner arguments, gets the inner results, and yields its own (`transformation`).  With
`_with_aux` a layer also has a side result, which a thunk returns after the call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tapeless.core.jaxpr import DebugInfo
from tapeless.util.chains import function_name
from tapeless.util.names import close_module
from tapeless.util.records import record

__all__ = [
    "StoreException",
    "WrappedFun",
    "merge_linear_aux",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "wrap_init",
]


class StoreException(Exception):
    """A side result was asked for before the call, or stored twice."""


class _Store:
    """A place for one side result."""

    def __init__(self) -> None:
        """Start empty."""
        self.values: list[Any] = []

    def put(self, value: Any) -> None:
        """Store the result of a call."""
        if self.values:
            raise StoreException("Store occupied")
        self.values.append(value)

    def __call__(self) -> Any:
        """Return the stored result."""
        if not self.values:
            raise StoreException("Store empty")
        return self.values[0]


@record
class WrappedFun:
    """A function to be transformed; `f` is the innermost one, `call_wrapped` has all layers."""

    f: Callable[..., Any]
    call_wrapped: Callable[..., Any]
    debug_info: Any = None

    @property
    def __name__(self) -> str:  # pyrefly: ignore[bad-override]  # a name of each instance
        """The name of the innermost function."""
        return function_name(self.f)

    def wrap(self, layer: Callable[..., Any]) -> WrappedFun:
        """Return the function with one more layer around it."""
        return WrappedFun(self.f, functools.partial(layer, self.call_wrapped), self.debug_info)


def wrap_init(
    f: Callable[..., Any],
    params: dict[str, Any] | None = None,
    *,
    debug_info: DebugInfo | None = None,
) -> WrappedFun:
    """Return a function without layers; `params` are keyword arguments of each call.

    >>> wrap_init(lambda x: x + 1).call_wrapped(2)
    3
    """
    return WrappedFun(f, functools.partial(f, **(params or {})), debug_info)


def transformation2(layer: Callable[..., Any], *rest: Any) -> Any:
    """Return `fun` with a layer `layer(inner, *static, *args)`; a decorator without `fun`."""
    if not rest:
        return functools.partial(transformation2, layer)
    fun, *static = rest
    return fun.wrap(lambda inner, *args, **kwargs: layer(inner, *static, *args, **kwargs))


def transformation_with_aux2(layer: Callable[..., Any], *rest: Any, **options: Any) -> Any:
    """Return `fun` with a layer `layer(inner, store, *static, *args)`, and the side result.

    The layer calls `store(value)` once.
    """
    if not rest:
        return functools.partial(transformation_with_aux2, layer)
    fun, *static = rest
    store = _Store()
    wrapped = fun.wrap(
        lambda inner, *args, **kwargs: layer(inner, store.put, *static, *args, **kwargs)
    )
    return wrapped, store


def _run(inner: Callable[..., Any], generator: Any) -> Any:
    """Drive a generator that yields (args, kwargs), gets the results, and yields its own."""
    args, kwargs = next(generator)
    return generator.send(inner(*args, **kwargs))


def transformation(gen: Callable[..., Any], *rest: Any) -> Any:
    """Return `fun` with the layer that a generator describes; a decorator without `fun`."""
    if not rest:
        return functools.partial(transformation, gen)
    fun, *static = rest
    return fun.wrap(lambda inner, *args, **kwargs: _run(inner, gen(*static, *args, **kwargs)))


def transformation_with_aux(gen: Callable[..., Any], *rest: Any) -> Any:
    """As `transformation`, for a generator that yields (results, side result)."""
    if not rest:
        return functools.partial(transformation_with_aux, gen)
    fun, *static = rest
    store = _Store()

    def layer(inner: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Keep the side result."""
        out, aux = _run(inner, gen(*static, *args, **kwargs))
        store.put(aux)
        return out

    return fun.wrap(layer), store


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Return which of two side results was stored, True for the first, and the result."""
    try:
        return True, aux1()
    except StoreException:
        return False, aux2()


close_module("jax.extend.linear_util", globals())
