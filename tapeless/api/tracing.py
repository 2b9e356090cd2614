"""Functions traced and not run: `make_jaxpr`, `eval_shape`, scopes for names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from tapeless.api.jit import StaticSpec, described_type, trace_program
from tapeless.core.aval import ShapedArray, ShapeDtypeStruct, is_value, typeof
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.source import name_scope
from tapeless.core.trace import Axis, bind_axis
from tapeless.prims.common import zeros
from tapeless.runtime.cache import TracedProgram
from tapeless.tree.arguments import argument_names
from tapeless.tree.flatten import tree_flatten
from tapeless.tree.maps import tree_map
from tapeless.util.frames import api_boundary

__all__ = ["eval_shape", "make_jaxpr", "named_call", "named_scope"]


def make_jaxpr(
    fun: Callable,
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """Return the function that traces `fun` and returns its program.

    >>> make_jaxpr(lambda x: x * 2)(3.0)
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    spec = StaticSpec(fun, static_argnums, None)

    @functools.wraps(fun)
    @api_boundary
    def traced(*args: Any, **kwargs: Any) -> Jaxpr | tuple[Jaxpr, Any]:
        """Trace on arguments like these."""
        dynamic, named, static = spec.divide(args, kwargs)
        leaves, tree = tree_flatten((dynamic, named))
        avals = [abstract(leaf) for leaf in leaves]
        names = argument_names(fun, args, named, spec.positions(len(args) or 1))
        with ExitStack() as scopes:
            for name, size in axis_env or ():
                scopes.enter_context(bind_axis(Axis(size, name)))
            program = trace_program(fun, tree, avals, static, names, "make_jaxpr")
        jaxpr = _closed(program)
        return (jaxpr, program.out_struct()) if return_shape else jaxpr

    return traced


def _closed(program: TracedProgram) -> Jaxpr:
    """Return the program; captured tracers are constants of it again."""
    n = len(program.tracers)
    if not n:
        return program.jaxpr
    jaxpr = program.jaxpr
    return jaxpr.replace(
        constvars=(*jaxpr.invars[:n], *jaxpr.constvars),
        consts=(*program.tracers, *jaxpr.consts),
        invars=jaxpr.invars[n:],
        debug=type(jaxpr.debug)(jaxpr.debug.function),
    )


def abstract(leaf: Any) -> ShapedArray:
    """Return the type of an argument: a value, or a description of one."""
    if isinstance(leaf, ShapedArray):
        return leaf
    if isinstance(leaf, ShapeDtypeStruct):
        return described_type(leaf)
    if not is_value(leaf) and hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return ShapedArray(tuple(leaf.shape), leaf.dtype)
    return typeof(leaf)


@api_boundary
def eval_shape(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """Return the types of `fun(*args, **kwargs)` without computing it.

    fun: (n,) -> (m,) gives a `ShapeDtypeStruct` of shape (m,).

    >>> eval_shape(lambda x: x * 2, 3.0)
    ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
    """
    try:
        hash(fun)
    except TypeError:
        fun = functools.partial(fun)
    leaves, tree = tree_flatten((args, kwargs))
    avals = [abstract(leaf) for leaf in leaves]
    return trace_program(_typed_results(fun), tree, avals, purpose="eval_shape").out_struct()


def _typed_results(fun: Callable) -> Callable:
    """Return `fun` such that descriptions of arrays among its results are arrays."""

    @functools.wraps(fun)
    def typed(*args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return tree_map(_array_of, fun(*args, **kwargs))

    return typed


def _array_of(leaf: Any) -> Any:
    """Return a result, or some array as it describes."""
    return zeros(abstract(leaf)) if isinstance(leaf, ShapeDtypeStruct) else leaf


def named_scope(name: str) -> AbstractContextManager[None]:
    """Return a context in which operations carry a name, in the name stacks of programs.

    >>> import tapeless as jax
    >>> def double(x):
    ...     with jax.named_scope("twice"):
    ...         return x * 2
    >>> print(jax.make_jaxpr(double)(1.0).pretty_print(name_stack=True, use_color=False))
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) } # [twice]
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a scope must be text, but named_scope got {name!r}")
    return name_scope(name)


def named_call(fun: Callable, *, name: str | None = None) -> Callable:
    """Return `fun` such that what it does carries a name: `name`, or its own.

    The name stands in the name stacks of programs, as that of `named_scope` does.

    >>> import tapeless as jax
    >>> double = jax.named_call(lambda x: x * 2, name="double")
    >>> print(jax.make_jaxpr(double)(1.0).pretty_print(name_stack=True, use_color=False))
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) } # [double]
    """
    scope = getattr(fun, "__name__", type(fun).__name__) if name is None else name

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        """Call the function in its scope."""
        with named_scope(scope):
            return fun(*args, **kwargs)

    return named
