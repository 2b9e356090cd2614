"""`checkpoint`: compute again in the backward pass instead of storing; policies; what is saved."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapeless.api.jit import StaticSpec, join_static
from tapeless.control.bodies import flatten_values, trace_body
from tapeless.control.remat import remat_p
from tapeless.core.aval import typeof
from tapeless.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tapeless.core.trace import Value
from tapeless.errors import ConcretizationTypeError
from tapeless.prims.convert import reduce_precision_p
from tapeless.prims.naming import name, name_p
from tapeless.transforms.linearize import linearize_flat
from tapeless.transforms.stage import stage_flat
from tapeless.tree.arguments import argument_names
from tapeless.tree.flatten import tree_leaves, tree_unflatten
from tapeless.tree.maps import tree_map
from tapeless.util.chains import source_name

__all__ = ["checkpoint", "checkpoint_name", "print_saved_residuals", "remat", "saved_residuals"]


_STATIC = (
    "Consider using the `static_argnums` parameter for `jax.remat` or `jax.checkpoint`: a static "
    "argument keeps its Python value."
)


def checkpoint(
    fun: Callable,
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable:
    """Return `fun`, whose intermediates are computed again when it is differentiated in reverse.

    fun: (n,) -> (m,) gives a function of the same types.
    policy: which of them to store all the same, see `checkpoint_policies`.

    >>> jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))))(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    numbers = static_argnums if isinstance(static_argnums, tuple) else (static_argnums,)
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in numbers):
        raise TypeError(
            "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` must be an int or a "
            f"tuple of ints, but got {static_argnums!r}"
        )
    spec = StaticSpec(fun, numbers or None, static_argnames or None, None)

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        """Bind the function as one `remat2` equation."""
        if static_argnums != () and not all(-len(args) <= i < len(args) for i in spec.argnums):
            raise ValueError(
                "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take "
                "integer values greater than or equal to `-len(args)` and less than `len(args)`, "
                f"but got {spec.argnums}, while `len(args)` = {len(args)}"
            )
        dynamic, named, static = spec.separate(args, kwargs)
        leaves, tree = flatten_values((dynamic, named))

        @functools.wraps(fun)
        def body(args_in: tuple, kwargs_in: dict) -> Any:
            """Call the function with its static arguments in place."""
            full, keywords = join_static(args_in, kwargs_in, static)
            return fun(*full, **keywords)

        avals = [typeof(leaf) for leaf in leaves]
        places = [entry[0] for entry in static[0]] if static else []
        names = argument_names(fun, args, named, places)
        try:
            traced = trace_body(body, tree, avals, "checkpoint / remat", names)
        except ConcretizationTypeError as error:
            error.args = (f"{error}\n\n{_STATIC}",)
            raise
        outs = remat_p.bind(
            *traced.consts,
            *leaves,
            jaxpr=traced.jaxpr,
            prevent_cse=prevent_cse if isinstance(prevent_cse, bool) else tuple(prevent_cse),
            differentiated=False,
            policy=policy,
        )
        return tree_unflatten(traced.out_tree, outs)

    return wrapped


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """Return the tree `x` with its values named, for policies such as `save_only_these_names`.

    >>> checkpoint_name(1.0, "scale")
    Array(1., dtype=float32, weak_type=True)
    """
    return tree_map(lambda leaf: _named(leaf, name), x)


_named = name


def saved_residuals(f: Callable, *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """Return what the backward pass of `f` keeps: the type of each value, and where it is from."""
    leaves, tree = flatten_values((args, kwargs))
    names = argument_names(f, args, kwargs)

    def flat(*values: Value) -> list[Value]:
        """Call the function."""
        given, named = tree_unflatten(tree, values)
        return tree_leaves(f(*given, **named))

    def residuals(*values: Value) -> tuple[Value, ...]:
        """Return the constants of the linearised function."""
        return linearize_flat(flat, values).jaxpr.consts

    jaxpr = stage_flat(residuals, [typeof(leaf) for leaf in leaves], source_name(f))
    return _with_origins(jaxpr, names)


def _with_origins(jaxpr: Jaxpr, names: Sequence[str]) -> list[tuple[Any, str]]:
    """Say of each output of a program what it is: arguments first, then constants, then results."""
    wanted = {atom for atom in jaxpr.outvars if type(atom) is Var}
    found = [
        (var.aval, f"from the argument {name}")
        for var, name in zip(jaxpr.invars, names, strict=True)
        if var in wanted
    ]
    found += [(var.aval, "from a constant") for var in jaxpr.constvars if var in wanted]
    found += [(a.aval, "from a literal") for a in jaxpr.outvars if type(a) is Literal]
    makers: dict[Atom, Eqn] = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
    for eqn in jaxpr.eqns:
        # What a policy keeps is rounded to the precision that it has; that says nothing.
        rounds = eqn.primitive is reduce_precision_p
        maker = makers.get(eqn.invars[0], eqn) if rounds else eqn
        found += [(var.aval, _origin(maker)) for var in eqn.outvars if var in wanted]
    return found


def _origin(eqn: Eqn) -> str:
    """Say which operation, on which line, made a value."""
    where = eqn.source.summary()
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {where}"
    if eqn.primitive.name == "jit":
        return f"output of jitted function '{eqn.params['name']}' from {where}"
    return f"output of {eqn.primitive} from {where}"


def print_saved_residuals(f: Callable, *args: Any, **kwargs: Any) -> None:
    """Print what the backward pass of `f` keeps, a line per value.

    >>> print_saved_residuals(lambda x, y: x * y, 2.0, 3.0)
    f32[] from the argument x
    f32[] from the argument y
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short(True)} {origin}")
