"""Functions under a name: `composite` keeps what a function computes together in programs.

A program shows one `composite` equation, and StableHLO one operation `stablehlo.composite` with the
function that it stands for, so that a compiler that knows the name may put an implementation of its
own in the place.  The compiler here inlines it.  When it is differentiated or mapped, the name is
lost: what is left is the derivative, or the map, of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapeless.control.bodies import flatten_values, trace_body
from tapeless.control.common import ProgramPrimitive
from tapeless.control.jit import jit_p
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value
from tapeless.tree.flatten import tree_flatten, tree_unflatten

__all__ = ["composite", "composite_p"]


class Composite(ProgramPrimitive):
    """Run `call_jaxpr`.

    name, version: what a compiler may know it by.  attributes: (name, leaves, tree) per constant of
    the decomposition.
    """

    name = "composite"
    prints_as_bound = True
    inline_program = True

    def abstract(self, *avals: ShapedArray, call_jaxpr: Jaxpr, **params: Any) -> tuple:
        """Return the program's output types."""
        return call_jaxpr.out_avals

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return the program, which takes the operands and returns the results."""
        return [(params["call_jaxpr"], avals, outs)]

    def jvp(self, primals: Values, tangents: Sequence, **params: Any) -> tuple:
        """Differentiate the program, as a call."""
        return jit_p.jvp(primals, tangents, **_as_call(params))

    def transpose(self, cotangents: Sequence, args: Sequence, **params: Any) -> tuple:
        """Transpose the program, as a call."""
        return jit_p.transpose(cotangents, args, **_as_call(params))

    def batch(self, axis: Axis, args: Values, dims: Sequence, **params: Any) -> tuple:
        """Map the program, as a call."""
        return jit_p.batch(axis, args, dims, **_as_call(params))

    def decompose(self, *args: Value, call_jaxpr: Jaxpr, **params: Any) -> tuple[Value, ...]:
        """Evaluate the program by its equations."""
        return eval_jaxpr(call_jaxpr, call_jaxpr.consts, *args)

    def lower(
        self, b: Any, args: Sequence, outs: tuple, *, call_jaxpr: Jaxpr, **params: Any
    ) -> tuple:
        """Inline the program."""
        return b.inline(call_jaxpr, args)

    def hlo(self, b: Any, args: Sequence, outs: tuple, **params: Any) -> tuple:
        """Write the operation; the program is the function that decomposes it."""
        name = params["name"]
        attributes = {
            "name": f'"{name}"',
            "decomposition": b.module.function_of(params["call_jaxpr"], name),
            "version": f"{params['version']} : i32",
        }
        constants = [f"{key} = {_attribute(x, t)}" for key, x, t in params["attributes"]]
        if constants:
            attributes["composite_attributes"] = "{" + ", ".join(constants) + "}"
        return b.op("stablehlo.composite", args, outs, attributes)


def _as_call(params: dict) -> dict[str, Any]:
    """Return the parameters of the `jit` that computes the same."""
    return {"name": params["name"], "jaxpr": params["call_jaxpr"]}


def _attribute(leaves: Sequence[Any], tree: Any) -> str:
    """Return a constant as the text of an attribute."""
    value = tree_unflatten(tree, leaves)
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_number(item) for item in value) + "]"
    return _number(value)


def _number(value: Any) -> str:
    """Return a number, a flag or a string as the text of an attribute."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (bool, int)):
        return str(value).lower() if isinstance(value, bool) else f"{value} : i64"
    if isinstance(value, float):
        return f"{value:e} : f64"
    if typeof(value).shape == () and typeof(value).dtype.kind in "biuf":
        return _number(value.item())
    raise TypeError(
        f"the attributes of a composite are numbers, strings and sequences of them in StableHLO, "
        f"got {value!r} of type {type(value)}"
    )


composite_p = Composite()


def composite(decomposition: Callable, name: str, version: int = 0) -> Callable:
    """Return `decomposition` as a function that programs show as one operation of this name.

    decomposition: (n,) -> (m,) gives a function of the same types.
    Keyword arguments are attributes: constants, not values.  version: of the operation.

    Derivatives and maps are those of the decomposition; JAX has none.

    >>> import tapeless.numpy as jnp
    >>> composite(lambda x, *, power: x**power, "my.power")(jnp.arange(3.0), power=2)
    Array([0., 1., 4.], dtype=float32)
    """

    def call(*args: Any, **attributes: Any) -> Any:
        """Call the decomposition."""
        leaves, tree = flatten_values(args)

        def inner(*operands: Any) -> Any:
            """Call it with its attributes."""
            return decomposition(*operands, **attributes)

        body = trace_body(inner, tree, [typeof(leaf) for leaf in leaves], f"composite {name}")
        flat = [(key, *tree_flatten(value)) for key, value in attributes.items()]
        outs = composite_p.bind(
            *body.consts,
            *leaves,
            attributes=tuple((key, tuple(x), t) for key, x, t in flat),
            call_jaxpr=body.jaxpr,
            name=name,
            version=version,
        )
        return tree_unflatten(body.out_tree, outs)

    return call
