"""Jaxprs: programs as data, immutable and compared by identity.

    { lambda a:f32[3]; b:f32[3]. let c:f32[3] = mul a b in (c,) }

A `Jaxpr` has constant variables with their values attached, input variables, equations and outputs.
An equation applies a primitive to atoms (variables or literals) under parameters and binds new
variables.  Nothing is ever changed in place: a pass makes a new jaxpr, and what is derived from one
(its jvp, its batched form, its compiled program) is cached weakly on its identity.

The `Builder` is the one mutable thing.  It belongs to a staging trace, collects equations, and dies
when it has built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, final

import numpy as np

from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.effects import NO_EFFECTS, Effects
from tapeless.core.primitive import Primitive
from tapeless.core.source import Source
from tapeless.util.depth import deeply
from tapeless.util.records import record

__all__ = [
    "NO_DEBUG_INFO",
    "Atom",
    "Builder",
    "DebugInfo",
    "Eqn",
    "Jaxpr",
    "Literal",
    "Var",
    "is_literal_value",
    "jaxprs_in",
    "printers",
    "subjaxprs",
]

# How a `jaxpr` and an `eqn` are printed: `core/pprint.py`, which reads this file, fills it in.
printers: dict[str, Callable[..., str]] = {}


@final
class Var:
    """A variable; compared by identity, named only when printed."""

    __slots__ = ("__weakref__", "aval")

    def __init__(self, aval: ShapedArray) -> None:
        """aval: its type."""
        self.aval = aval

    def __repr__(self) -> str:
        """Return `Var:f32[3]`."""
        return f"Var:{self.aval.str_short(True)}"


_TYPED_BY_MODE = (int, float, complex, np.int64, np.uint64)


@final
class Literal:
    """A scalar constant in the place of a variable: `val` is a Python or NumPy scalar.

    wide: the 64-bit mode in which `val` as an operand has the type `aval`; None if it is both.
    """

    __slots__ = ("aval", "val", "wide")

    def __init__(self, val: Any, aval: ShapedArray) -> None:
        """val: the value, of the type `aval`."""
        self.val = val
        self.aval = aval
        in_both = not isinstance(val, _TYPED_BY_MODE) or isinstance(val, bool)
        limit = 8 if aval.dtype.kind == "c" else 4
        self.wide = None if in_both else aval.dtype.itemsize > limit

    def __repr__(self) -> str:
        """Return `2.0:f32[]`."""
        return f"{self.val}:{self.aval.str_short(True)}"


Atom = Var | Literal


@record
class DebugInfo:
    """Names for messages: the function, its arguments (one per input), and its results."""

    function: str = ""
    arguments: tuple[str, ...] | None = None
    results: tuple[str, ...] | None = None

    arg_names = property(lambda self: self.arguments, doc="`arguments`, by JAX's name.")
    func_name = property(lambda self: self.function, doc="`function`, by JAX's name.")
    result_paths = property(lambda self: self.results, doc="`results`, by JAX's name.")


NO_DEBUG_INFO = DebugInfo()


_NO_PARAMS: MappingProxyType[str, Any] = MappingProxyType({})


class Eqn:
    """One application of a primitive."""

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "source")
    primitive: Primitive
    invars: tuple[Atom, ...]
    outvars: tuple[Var, ...]
    params: MappingProxyType[str, Any]
    effects: Effects
    source: Source

    def __init__(
        self,
        primitive: Primitive,
        invars: Sequence[Atom],
        outvars: Sequence[Var],
        params: Mapping[str, Any],
        effects: Effects,
        source: Source,
    ) -> None:
        """Freeze the fields."""
        self.primitive = primitive
        self.invars = tuple(invars)
        self.outvars = tuple(outvars)
        if not params:
            self.params = _NO_PARAMS
        elif type(params) is MappingProxyType:
            self.params = params
        else:
            self.params = MappingProxyType(dict(params))
        self.effects = effects
        self.source = source

    @property
    def source_info(self) -> Source:
        """The source, by JAX's name."""
        return self.source

    def __repr__(self) -> str:
        """Return the text of the equation."""
        return printers["eqn"](self)

    def replace(self, **changes: Any) -> Eqn:
        """Return a copy with some fields replaced."""
        fields = {name: getattr(self, name) for name in self.__slots__} | changes
        return Eqn(**fields)


class Jaxpr:
    """A typed program.  `consts` are the values of `constvars`.

    `jaxpr` is the jaxpr itself, `in_avals` and `out_avals` the types of inputs and outputs.
    """

    __slots__ = (
        "__weakref__",
        "consts",
        "constvars",
        "debug",
        "effects",
        "eqns",
        "invars",
        "outvars",
    )

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[Eqn],
        consts: Sequence[Any] = (),
        debug: DebugInfo = NO_DEBUG_INFO,
    ) -> None:
        """Freeze the fields; the effects are those of the equations."""
        self.constvars = tuple(constvars)
        self.invars = tuple(invars)
        self.outvars = tuple(outvars)
        self.eqns = tuple(eqns)
        self.consts = tuple(consts)
        self.debug = debug
        effects = NO_EFFECTS
        for eqn in self.eqns:
            if eqn.effects:
                effects |= eqn.effects
        self.effects = effects

    @property
    def jaxpr(self) -> Jaxpr:
        """The jaxpr itself: there is no closed and open form."""
        return self

    @property
    def literals(self) -> tuple[Any, ...]:
        """The values of `constvars`, as `consts`."""
        return self.consts

    @property
    def debug_info(self) -> DebugInfo:
        """The names for messages, by JAX's name."""
        return self.debug

    @property
    def num_consts(self) -> int:
        """How many constants there are."""
        return len(self.consts)

    def with_consts(self, consts: Sequence[Any]) -> Jaxpr:
        """Return the program with other values of `constvars`."""
        if len(consts) != len(self.constvars):
            raise ValueError(f"{len(self.constvars)} constants are wanted, got {len(consts)}")
        return self.replace(consts=consts)

    @property
    def in_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the inputs."""
        return tuple(var.aval for var in self.invars)

    @property
    def out_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the outputs."""
        return tuple(atom.aval for atom in self.outvars)

    def replace(self, **changes: Any) -> Jaxpr:
        """Return a copy with some of the constructor's fields replaced; new inputs are nameless."""
        names = ("constvars", "invars", "outvars", "eqns", "consts", "debug")
        if "invars" in changes and "debug" not in changes:
            changes["debug"] = DebugInfo(self.debug.function)
        return Jaxpr(**({name: getattr(self, name) for name in names} | changes))

    def pretty_print(self, **options: Any) -> str:
        """Return the text; the options are those of `core.pprint.jaxpr_text` and `Settings`."""
        return deeply(printers["jaxpr"], self, **options)

    def __repr__(self) -> str:
        """Return the text of the program."""
        return deeply(printers["jaxpr"], self)

    def lift_consts(self) -> Jaxpr:
        """Return the jaxpr with its constants as leading inputs and no constants."""
        if not self.constvars:
            return self
        debug = DebugInfo(self.debug.function)
        return Jaxpr((), self.constvars + self.invars, self.outvars, self.eqns, (), debug)


def is_literal_value(x: Any) -> bool:
    """Tell whether a constant is printed in place: a Python or NumPy scalar of a plain dtype."""
    if isinstance(x, (bool, int, float, complex, np.generic)):
        return True
    return isinstance(x, np.ndarray) and x.shape == ()


def jaxprs_in(value: Any) -> list[Jaxpr]:
    """Return the jaxprs that a parameter holds: itself, or the elements of a sequence."""
    if isinstance(value, Jaxpr):
        return [value]
    if isinstance(value, (tuple, list)):
        return [item for item in value if isinstance(item, Jaxpr)]
    return []


def subjaxprs(params: Mapping[str, Any]) -> list[Jaxpr]:
    """Return the programs that an equation contains, in the order of its parameters."""
    return [jaxpr for value in params.values() for jaxpr in jaxprs_in(value)]


class Builder:
    """Collects the equations of a program that is being traced."""

    __slots__ = ("const_vars", "consts", "debug", "eqns", "invars")

    def __init__(self, debug: DebugInfo = NO_DEBUG_INFO) -> None:
        """debug: the names that the finished program carries."""
        self.debug = debug
        self.invars: list[Var] = []
        self.eqns: list[Eqn] = []
        self.consts: list[Any] = []
        self.const_vars: dict[int, Var] = {}

    def new_input(self, aval: ShapedArray) -> Var:
        """Add an input variable."""
        var = Var(aval)
        self.invars.append(var)
        return var

    def constant(self, x: Any) -> Atom:
        """Return the atom of a value from outside: a literal, or a constant variable.

        A value that is captured twice gets one variable; `consts` keeps it alive, so that its id
        stays its own.
        """
        if is_literal_value(x):
            return Literal(x if not isinstance(x, np.ndarray) else x[()], typeof(x))
        var = self.const_vars.get(id(x))
        if var is None:
            var = Var(typeof(x))
            self.const_vars[id(x)] = var
            self.consts.append(x)
        return var

    def emit(self, eqn: Eqn) -> None:
        """Append an equation."""
        self.eqns.append(eqn)

    def build(self, outs: Sequence[Atom]) -> Jaxpr:
        """Return the finished program, without the constants that nothing uses."""
        constants = list(zip(self.const_vars.values(), self.consts, strict=True))
        if constants:
            used = {atom for eqn in self.eqns for atom in eqn.invars}.union(outs)
            constants = [(var, value) for var, value in constants if var in used]
        constvars = tuple(var for var, _ in constants)
        consts = [value for _, value in constants]
        return Jaxpr(constvars, self.invars, outs, self.eqns, consts, self.debug)
