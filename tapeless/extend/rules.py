"""Primitives of libraries: one class that fits JAX's protocol onto the primitives of this house.

A library makes a `Primitive`, gives it an implementation and a typing rule, and enters its other
rules in tables, which `jax.interpreters` shows:

    primitive_jvps            rule(primals, tangents, **params) -> out, tangent of out
    primitive_transposes      rule(cotangent, *args, **params) -> a cotangent per argument; linear
                              arguments are `UndefinedPrimal`s
    fancy_primitive_batchers  rule(axis, args, dims, **params) -> out, dim of out
    axis_primitive_batchers   rule(axis size, axis name, None, args, dims, **params) -> the same
    primitive_batchers        rule(args, dims, **params) -> the same
    lowerings                 the function that `mlir.lower_fun` was given: it is traced into the
                              program that is compiled

A primitive with `multiple_results` takes and gives sequences in the places of `out`, `dim` and
`cotangent`, others single values.  That difference ends here: towards the house each primitive has
a sequence of results, and `bind` alone unpacks one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tapeless.core import primitive
from tapeless.core.aval import ShapedArray
from tapeless.core.jaxpr import subjaxprs
from tapeless.core.linear import Linear, Zero
from tapeless.core.primitive import Values
from tapeless.core.trace import Axis, Value, context
from tapeless.prims.common import no_tangents
from tapeless.transforms.stage import stage_flat
from tapeless.util.records import record

__all__ = [
    "Lowering",
    "Primitive",
    "RuleDict",
    "UndefinedPrimal",
    "axis_primitive_batchers",
    "fancy_primitive_batchers",
    "lowerings",
    "primitive_batchers",
    "primitive_jvps",
    "primitive_transposes",
]


@record
class UndefinedPrimal:
    """An argument of the type `aval` by which a transpose rule of a library transposes."""

    aval: ShapedArray


@record
class Lowering:
    """A rule to compile a primitive: `fun` is traced in its place."""

    fun: Callable[..., Any]
    multiple_results: bool = True


class RuleDict(dict):
    """The rules of a table, by primitive.

    Operations of the house have their rules as methods; a library may add a transpose to one.
    """

    def __init__(self, what: str) -> None:
        """what: the kind of rule, for messages."""
        super().__init__()
        self.what = what

    def __setitem__(self, prim: object, rule: Any) -> None:
        """Enter a rule."""
        if self is primitive_transposes and isinstance(prim, primitive.Primitive):
            if not isinstance(prim, Primitive):
                vars(prim).update(transpose=_transpose_by(rule), rules_vary=True)
        elif not isinstance(prim, Primitive):
            raise TypeError(
                f"a {self.what} rule was given for {prim!r}, whose rules are methods of its class; "
                f"this table holds those of primitives made by jax.extend.core.Primitive(name)"
            )
        super().__setitem__(prim, rule)


primitive_jvps = RuleDict("differentiation")
primitive_transposes = RuleDict("transposition")
primitive_batchers = RuleDict("batching")
axis_primitive_batchers = RuleDict("batching")
fancy_primitive_batchers = RuleDict("batching")
lowerings = RuleDict("lowering")


def _transposed(
    rule: Callable[..., Any], cotangents: Any, args: Sequence, params: dict[str, Any]
) -> tuple:
    """Return what a library's transpose rule gives, one entry per argument."""
    given = [UndefinedPrimal(x.aval) if type(x) is Linear else x for x in args]
    found = rule(cotangents, *given, **params)
    results = [None] * len(args) if found is None else found
    return tuple(
        (Zero(arg.aval.tangent()) if ct is None else ct) if type(arg) is Linear else None
        for ct, arg in zip(results, args, strict=True)
    )


def _transpose_by(rule: Callable[..., Any]) -> Callable[..., tuple]:
    """Return a library's rule as the method of an operation of the house, which has one result."""

    def transpose(cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        """Call the rule."""
        (ct,) = cotangents
        return _transposed(rule, ct, args, params)

    return transpose


class Primitive(primitive.Primitive):
    """An operation of a library's own.

    x: (...) -> (...), in this example:

    >>> from tapeless.numpy import sin
    >>> twice_p = Primitive("twice")
    >>> _ = twice_p.def_impl(lambda x: 2 * x)
    >>> _ = twice_p.def_abstract_eval(lambda x: x)
    >>> twice_p.bind(sin(0.0) + 1.0)
    Array(2., dtype=float32, weak_type=True)
    """

    multiple_results = False
    evaluated_in_python = True
    rules_vary = True

    def __init__(self, name: str) -> None:
        """name: what programs print; two may have the same."""
        self.name = name
        self._impl: Callable[..., Any] | None = None
        self._abstract_eval: Callable[..., Any] | None = None

    # What a library calls

    def bind(self, *args: Value, **params: Any) -> Any:
        """Apply the operation: the result, or a list of them with `multiple_results`."""
        outs = context.trace.process(self, args, params)
        return list(outs) if self.multiple_results else outs[0]

    def impl(self, *args: Value, **params: Any) -> Any:
        """Evaluate it on arrays."""
        if self._impl is None:
            raise NotImplementedError(f"Evaluation rule for '{self.name}' not implemented")
        return self._impl(*args, **params)

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Set how it is evaluated outside of transformations: a function of arrays."""
        self._impl = impl
        return impl

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        """Return the types of the results."""
        if self._abstract_eval is None:
            raise NotImplementedError(f"Abstract evaluation for '{self.name}' not implemented")
        return self._abstract_eval(*avals, **params)

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set how it is typed: a function from `ShapedArray`s to one, or to several."""
        self._abstract_eval = rule
        return rule

    # What the house calls

    def _sequence(self, results: Any) -> Sequence[Any]:
        """Return results as a sequence."""
        return tuple(results) if self.multiple_results else (results,)

    def _no_rule(self, kind: str) -> NoReturn:
        """Raise the error for a rule that the library has not given."""
        raise NotImplementedError(f"{kind} '{self.name}' not implemented")

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        """Ask the library's typing rule."""
        outs = self._sequence(self.abstract_eval(*avals, **params))
        return tuple(
            out if isinstance(out, ShapedArray) else ShapedArray(out.shape, out.dtype)
            for out in outs
        )

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        """Call the rule in `primitive_jvps`; without tangents no rule is needed."""
        if all(type(tangent) is Zero for tangent in tangents):
            outs = context.trace.process(self, tuple(primals), params)
            return outs, no_tangents(outs)
        if self not in primitive_jvps:
            self._no_rule("Differentiation rule for")
        outs, out_tangents = primitive_jvps[self](tuple(primals), tuple(tangents), **params)
        return self._sequence(outs), self._sequence(out_tangents)

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        """Call the rule in `primitive_transposes`."""
        if self not in primitive_transposes:
            self._no_rule("Transpose rule (for reverse-mode differentiation) for")
        cts = list(cotangents) if self.multiple_results else cotangents[0]
        return _transposed(primitive_transposes[self], cts, args, params)

    def batch(self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any) -> tuple:
        """Call the rule in one of the tables of batching rules."""
        if self in fancy_primitive_batchers:
            outs, out_dims = fancy_primitive_batchers[self](axis, args, dims, **params)
        elif self in axis_primitive_batchers:
            rule = axis_primitive_batchers[self]
            outs, out_dims = rule(axis.size, axis.name, None, args, dims, **params)
        elif self in primitive_batchers:
            outs, out_dims = primitive_batchers[self](args, dims, **params)
        else:
            self._no_rule("Batching rule for")
        return self._sequence(outs), self._sequence(out_dims)

    def evaluate(self, *args: Value, **params: Any) -> tuple[Value, ...]:
        """Call the library's implementation."""
        return tuple(self._sequence(self.impl(*args, **params)))

    def decompose(self, *args: Value, **params: Any) -> tuple[Value, ...]:
        """Call the function that was registered as its lowering."""
        rule = lowerings.get(self)
        if rule is None:
            raise NotImplementedError(
                f"MLIR translation rule for primitive '{self.name}' not found for platform cpu"
            )
        if not isinstance(rule, Lowering):
            raise NotImplementedError(
                f"the lowering of primitive '{self.name}' writes MLIR, which the compiler here "
                f"does not read; register mlir.lower_fun(function) instead"
            )
        outs = rule.fun(*args, **params)
        return tuple(outs) if rule.multiple_results else (outs,)

    def lower(self, b: Any, args: Sequence, outs: tuple[ShapedArray, ...], **params: Any) -> tuple:
        """Compile the decomposition, where the parameters contain programs."""
        if not subjaxprs(params):
            return NotImplemented
        avals = [arg.aval for arg in args]
        what = f"the lowering of {self.name}"
        return b.inline(stage_flat(lambda *xs: self.decompose(*xs, **params), avals, what), args)
