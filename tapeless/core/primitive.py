"""Primitives: the verbs of the language, each a class with all its rules on one page.

A primitive is an instance of a subclass of `Primitive`; its rules are methods, in a fixed order,
and every rule has a default here.  A rule that is missing raises one error which says which
operation lacks which rule and what asked for it.

Arguments and results are always sequences: there is no single-result mode.  A *value* is a Python
scalar, a NumPy array, an Array or a Tracer.  Rules are ordinary Python functions over values that
call user functions of other primitives; whatever trace is current decides what these calls do.

    rule       receives                                     returns
    abstract   avals, params                                out avals
    effects    params                                       set of effects
    programs   avals, out avals, params                     nested programs and their types
    jvp        primals, tangents (value or Zero), params    outs, out tangents (value or Zero)
    transpose  cotangents (value or Zero), args (Linear     per argument a cotangent, a Zero, or
               where wanted), params                        None where it was not wanted
    batch      axis, args, dims (int or None), params       outs, out dims (int or None)
    split      which inputs are unknown, params             a `Split`
    dce        which outputs are used, params               inputs needed, new params, outputs left
    stage      trace, args, params                          tracers
    lower      kernel builder, args, out avals, params      kernel values
    decompose  args, params                                 values, by simpler operations
    hlo        text builder, args, out avals, params        names of the results
    reference  NumPy arrays, params                         NumPy arrays; for tests only

A new transformation adds a `RuleTable` instead of a slot: `table.rule(sin_p)` registers a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from tapeless.core.aval import ShapedArray
from tapeless.core.effects import NO_EFFECTS, Effects
from tapeless.core.linear import Zero
from tapeless.core.trace import Axis, Value, context
from tapeless.util.records import record

__all__ = ["Primitive", "RuleTable", "Split", "Values", "registry"]

Values = Sequence[Value]
Mask = tuple[bool, ...]
registry: dict[str, Primitive] = {}


@record
class Split:
    """How an operation with some unknown inputs becomes a known and a staged one.

    known: the primitive and params of the known half, which takes the known inputs and returns the
    known outputs and then `n_residuals` residuals; None if there is nothing to run.
    staged: the primitive and params of the staged half, which returns the unknown outputs.
    staged_args: its arguments, as positions in (*residuals, *all inputs of the operation, *known
    outputs).
    unknown_outputs: which outputs come from the staged half.
    """

    known: tuple[Primitive, dict[str, Any]] | None
    staged: tuple[Primitive, dict[str, Any]]
    unknown_outputs: Mask
    n_residuals: int
    staged_args: tuple[int, ...]


class Primitive:
    """One operation.  `name` is unique, see `registry`; programs print it."""

    name: str
    # Whether the types of the results follow from those of the operands and from hashable
    # parameters, whatever the settings and the axes in scope; without parameters they do.  Then
    # what its rules write follows as well, from these and the settings (`transforms/templates.py`).
    types_follow = False
    # Whether rules of differentiation are a library's, which may do anything and be replaced.
    rules_vary = False
    # Whether a transformation takes part in it even where no operand is its own: so it is with what
    # makes a reference, into which values of the transformation may be written later.
    joins_every_trace = False
    # Whether `batch` maps Python functions, and gets `tag`, of the batch they may have captured.
    maps_functions = False
    # Whether operands may be references to arrays.
    takes_references = False
    collective_axes: tuple[str, ...] = ()
    # What programs print: another name; parameters that are left out when they have the value given
    # here, or always where that is `...`; whether a nested program's variables bear the names
    # outside; whether parameters are printed in the order in which they were bound, not in the
    # alphabet's.
    printed_name = ""
    hidden: Mapping[str, Any] = MappingProxyType({})
    shares_names = False
    prints_as_bound = False
    # Whether `phrase` writes the text of equations.
    has_phrase = False
    # What libraries that walk programs ask: `bind` returns a sequence; no operand is a function.
    multiple_results = True
    call_primitive = map_primitive = False
    # Which rules are not the default ones, for passes that need not call those.
    has_effects = has_split = has_dce = has_stage = False

    def __init_subclass__(cls) -> None:
        """Note which rules the class has."""
        cls.has_effects = cls.effects is not Primitive.effects
        cls.has_split = cls.split is not Primitive.split
        cls.has_dce = cls.dce is not Primitive.dce
        cls.has_stage = cls.stage is not Primitive.stage

    def __init__(self) -> None:
        """Enter the operation in the registry."""
        if self.name in registry:
            raise ValueError(f"two primitives are called {self.name}")
        registry[self.name] = self

    def __repr__(self) -> str:
        """Return the name."""
        return self.name

    def bind(self, *args: Value, **params: Any) -> tuple[Value, ...]:
        """Apply the operation under the current trace."""
        return context.trace.process(self, args, params)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        """Return the avals of the results, or raise TypeError for operands that do not fit."""
        self.missing("abstract", "typing it")

    def effects(self, **params: Any) -> Effects:
        """Return what it does besides returning values."""
        return NO_EFFECTS

    def programs(self, avals: Sequence, outs: Sequence, **params: Any) -> Sequence[tuple]:
        """Return (program, input types, output types) per nested program, for the type checker."""
        return ()

    def axis_names(self, **params: Any) -> tuple[object, ...]:
        """Return the named axes that it communicates over; none but for collectives."""
        return ()

    def jvp(self, primals: Values, tangents: Sequence[Value | Zero], **params: Any) -> tuple:
        """Return the results and their tangents."""
        raise NotImplementedError(f"Differentiation rule for '{self}' not implemented")

    def transpose(self, cotangents: Sequence[Value | Zero], args: Sequence, **params: Any) -> tuple:
        """Return the cotangents of the `Linear` arguments."""
        raise NotImplementedError(
            f"Transpose rule (for reverse-mode differentiation) for '{self}' not implemented. A "
            f"function given to jax.linear_transpose must be linear, and '{self}' is not known to "
            f"be; jax.vjp gives the derivative of any differentiable function at a point."
        )

    def batch(self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any) -> tuple:
        """Apply the operation to every row; at least one of `dims` is not None."""
        raise NotImplementedError(f"Batching rule for '{self}' not implemented")

    def batch_collective(
        self, axis: Axis, args: Values, dims: Sequence[int | None], **params: Any
    ) -> tuple:
        """Apply it to all rows together; for operations that communicate over `axis`."""
        self.missing("batch_collective", "mapping it over an axis that it names")

    def split(self, unknown: Mask, **params: Any) -> Split | None:
        """Divide it into a known and a staged half; None stages it whole."""
        return None

    def dce(self, used: Mask, n_inputs: int, **params: Any) -> tuple[Mask, dict, Mask] | None:
        """Shrink it to the outputs `used`; None keeps all of it.

        Returns which inputs are needed, the params of what is left, and which outputs that
        returns: those used, and for a loop the carries that they depend on.
        """
        return None

    def stage(self, trace: Any, args: Values, params: dict[str, Any]) -> tuple[Value, ...]:
        """Enter the operation in the program that `trace` builds; one equation by default."""
        return trace.emit(self, args, params)

    def lower(self, b: Any, args: Sequence, outs: tuple[ShapedArray, ...], **params: Any) -> tuple:
        """Return the kernel values of the results, or NotImplemented to be decomposed."""
        return NotImplemented

    def decompose(self, *args: Value, **params: Any) -> tuple[Value, ...]:
        """Return the results by simpler operations."""
        self.missing("lower", "compiling it")

    def evaluate(self, *args: Value, **params: Any) -> tuple[Value, ...]:
        """Return the results, for operations that are evaluated in Python."""
        return self.decompose(*args, **params)

    def hlo(self, b: Any, args: Sequence, outs: tuple[ShapedArray, ...], **params: Any) -> tuple:
        """Write the operation as StableHLO, or return NotImplemented to be decomposed."""
        return NotImplemented

    def reference(self, *arrays: Any, **params: Any) -> tuple:
        """Compute the results with NumPy, for tests."""
        self.missing("reference", "testing it")

    def get_bind_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with which a library that walks a program binds an equation."""
        return dict(params)

    def printed(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters as they are printed."""
        hidden = self.hidden
        return {
            key: value
            for key, value in params.items()
            if key not in hidden or (hidden[key] is not ... and value != hidden[key])
        }

    def phrase(self, results: Any, operands: Sequence, params: Mapping[str, Any]) -> Sequence:
        """Return the parts of an equation's text; results: None if nothing uses them."""
        self.missing("phrase", "printing it")

    def missing(self, rule: str, purpose: str) -> NoReturn:
        """Raise the one error for a rule that is not there."""
        where = type(self).__module__.replace(".", "/")
        raise NotImplementedError(
            f"{self.name} has no `{rule}` rule, which {purpose} needs; add it to class "
            f"{type(self).__name__} in {where}.py"
        )


class RuleTable:
    """The rules of a transformation that has no slot in `Primitive`."""

    def __init__(self, name: str) -> None:
        """name: what error messages call the transformation."""
        self.name = name
        self._rules: dict[Primitive, Callable] = {}

    def rule(self, prim: Primitive) -> Callable[[Callable], Callable]:
        """Return the decorator that registers the rule of `prim`."""

        def register(rule: Callable) -> Callable:
            """Enter the rule."""
            self._rules[prim] = rule
            return rule

        return register

    def __getitem__(self, prim: Primitive) -> Callable:
        """Return the rule of `prim`, or raise NotImplementedError."""
        if prim not in self._rules:
            raise NotImplementedError(f"{self.name} rule for '{prim}' not implemented")
        return self._rules[prim]

    def __contains__(self, prim: Primitive) -> bool:
        """Tell whether `prim` has a rule."""
        return prim in self._rules
