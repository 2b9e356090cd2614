"""`vectorize`: a function of small arrays becomes one of arrays with any leading axes.

A signature such as `(n,m),(m)->(n)` names the *core* axes that the function itself works on; all
axes in front are *loop* axes, which broadcast against each other.  The loop axes are mapped by
`vmap`, one after another from the last to the first; an argument that lacks a loop axis, or has
extent 1 there, is not mapped over it and so is never copied.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tapeless import config
from tapeless.api.vmap import vmap
from tapeless.core.aval import typeof
from tapeless.core.trace import Value
from tapeless.numpy.common import asarray, complain_of_rank
from tapeless.prims import structural
from tapeless.util.frames import api_boundary

__all__ = ["vectorize"]

CoreDims = tuple[str, ...]
_NAME = r"\w+"
_LIST = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_LISTS = rf"{_LIST}(?:,{_LIST})*"
_SIGNATURE = re.compile(rf"^{_LISTS}->{_LISTS}$")


def vectorize(
    pyfunc: Callable, *, excluded: Collection[int | str] = frozenset(), signature: str | None = None
) -> Callable:
    """Return a function that maps `pyfunc` over all axes but the core axes of its arguments.

    excluded: positions and names of arguments that are passed on as they are.
    signature: core axes of arguments and results, such as `(n,m),(m)->(n)`; scalars by default.

    Unlike NumPy's, it is compiled and differentiated like any function; `otypes` and `cache` do not
    exist. Arguments given by keyword are mapped as well, in the order of the call, behind those
    given by position, as in NumPy; JAX ignores them.

    >>> import tapeless.numpy as jnp
    >>> outer = jnp.vectorize(lambda x, y: x[:, None] * y, signature="(n),(m)->(n,m)")
    >>> outer(jnp.ones((5, 2)), jnp.ones(3)).shape
    (5, 2, 3)
    """
    if any(not isinstance(each, (str, int)) for each in excluded):
        raise TypeError(
            "jax.numpy.vectorize can only exclude integer or string arguments, but "
            f"excluded={excluded!r}"
        )
    if any(isinstance(each, int) and each < 0 for each in excluded):
        raise ValueError(f"excluded={excluded!r} contains negative numbers")

    @api_boundary
    @functools.wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        """Map the function over the loop axes."""
        context = f"on vectorized function with excluded={excluded!r} and signature={signature!r}"
        function, mapped = _without_excluded(pyfunc, args, kwargs, excluded)
        mapped = [asarray(arg) for arg in mapped]
        inputs, outputs = _parse(signature) if signature else ([()] * len(mapped), None)
        if len(inputs) != len(mapped):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(inputs)}, got {len(mapped)} "
                f"{context}"
            )
        return _map(function, mapped, inputs, outputs, context)

    return vectorized


def _parse(signature: str) -> tuple[list[CoreDims], list[CoreDims]]:
    """Return the names of the core axes of each argument and each result."""
    text = signature.replace(" ", "")
    if not _SIGNATURE.match(text):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    sides = (re.findall(_LIST, side) for side in text.split("->"))
    inputs, outputs = ([tuple(re.findall(_NAME, each)) for each in side] for side in sides)
    return inputs, outputs


def _without_excluded(
    function: Callable, args: Sequence, kwargs: dict[str, Any], excluded: Collection[int | str]
) -> tuple[Callable, list]:
    """Return the function of the arguments that are not excluded, and those arguments.

    Positional arguments come first, then keyword arguments in the order of the call.
    """
    fixed = {i: arg for i, arg in enumerate(args) if i in excluded}
    kept = [i for i in range(len(args)) if i not in fixed]
    fixed_names = {name: value for name, value in kwargs.items() if name in excluded}
    names = [name for name in kwargs if name not in fixed_names]

    def of_mapped(*mapped: Any) -> Any:
        """Call the function with all its arguments."""
        positional = dict(fixed)
        positional.update(zip(kept, mapped[: len(kept)], strict=True))
        named = dict(zip(names, mapped[len(kept) :], strict=True))
        return function(*(positional[i] for i in range(len(args))), **named, **fixed_names)

    return of_mapped, [args[i] for i in kept] + [kwargs[name] for name in names]


def _map(
    function: Callable,
    args: Sequence[Value],
    inputs: Sequence[CoreDims],
    outputs: Sequence[CoreDims] | None,
    context: str,
) -> Any:
    """Apply the function under one `vmap` per loop axis."""
    shapes = [typeof(arg).shape for arg in args]
    sizes: dict[str, int] = {}
    for shape, dims in zip(shapes, inputs, strict=True):
        _check_core(shape, dims, sizes, context)
    loops = [s[: len(s) - len(dims)] for s, dims in zip(shapes, inputs, strict=True)]
    mode = config.current.jax_numpy_rank_promotion
    if mode != "allow" and len({len(axes) for axes, s in zip(loops, shapes, strict=True) if s}) > 1:
        complain_of_rank(f"jnp.vectorize {context}", [each for each in shapes if each], mode)
    loop = structural.broadcast_shapes(*loops) if loops else ()
    if outputs is None:
        mapped = function
    else:
        mapped = _checked(function, outputs, sizes, context)
    squeezed = []
    masks = []
    for arg, shape in zip(args, loops, strict=True):
        # An axis of extent 1 is dropped where the loop is longer: it is not mapped over.
        lead = len(loop) - len(shape)
        ones = [i for i, extent in enumerate(shape) if extent == 1 and loop[lead + i] != 1]
        squeezed.append(structural.squeeze(arg, ones) if ones else arg)
        masks.append([i >= lead and i - lead not in ones for i in range(len(loop))])
    for position in reversed(range(len(loop))):
        axes = tuple(0 if mask[position] else None for mask in masks)
        mapped = vmap(mapped, in_axes=axes, axis_size=loop[position])
    return mapped(*squeezed)


def _check_core(
    shape: tuple[int, ...], dims: CoreDims, sizes: dict[str, int], context: str
) -> None:
    """Check the core axes of one array, and learn the extents of names."""
    if len(shape) < len(dims):
        raise ValueError(
            f"input with shape {shape} does not have enough dimensions for all core dimensions "
            f"{dims} {context}"
        )
    for name, extent in zip(dims, shape[len(shape) - len(dims) :], strict=True):
        if sizes.setdefault(name, extent) != extent:
            raise ValueError(
                f"inconsistent size for core dimension {name!r}: {extent} vs {sizes[name]} "
                f"{context}"
            )


def _checked(
    function: Callable, outputs: Sequence[CoreDims], sizes: dict[str, int], context: str
) -> Callable:
    """Return the function with its results checked against the signature."""

    def checked(*args: Value) -> Any:
        """Call the function and look at the shapes of its results."""
        result = function(*args)
        results = result if isinstance(result, (tuple, list)) else (result,)
        if len(outputs) > 1 and not isinstance(result, tuple):
            raise TypeError(
                f"output must be a tuple when multiple outputs are expected, got: {result!r}\n"
                f"{context}"
            )
        if len(results) != len(outputs):
            raise TypeError(
                f"wrong number of output arguments: expected {len(outputs)}, got {len(results)} "
                f"{context}"
            )
        known = dict(sizes)
        for each, dims in zip(results, outputs, strict=True):
            shape = typeof(each).shape
            if len(shape) != len(dims):
                raise ValueError(
                    f"output shape {shape} does not match core dimensions {dims} {context}"
                )
            _check_core(shape, dims, known, context)
        return result

    return checked
