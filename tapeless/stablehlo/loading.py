"""`load`: a StableHLO module, whoever wrote it, as a function of this package.

    text --parse--> Module --stage--> program --> Loaded, which binds the program as one `jit`

The function takes and returns flat lists of arrays, as the module does.  It is an ordinary function
otherwise: it can be compiled into others, differentiated, and mapped.
"""

from __future__ import annotations

from typing import Any

from tapeless import dtypes
from tapeless.control.jit import jit_p
from tapeless.core.aval import ShapedArray, is_value, typeof
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.trace import Value
from tapeless.prims.convert import convert_element_type
from tapeless.stablehlo.parser import parse
from tapeless.stablehlo.programs import entry_of, program_of
from tapeless.stablehlo.syntax import Module

__all__ = ["Loaded", "load"]


class Loaded:
    """A StableHLO module as a function.

    module: its text, read.  jaxpr: its program.  name: of the function that is called.
    """

    def __init__(self, module: Module) -> None:
        """Stage the function that the module is called by."""
        entry = entry_of(module)
        self.module = module
        self.name: str = entry.name
        self.jaxpr: Jaxpr = program_of(module, entry)
        self.__name__ = module.name or entry.name

    @property
    def in_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the arguments."""
        return tuple(self.jaxpr.in_avals)

    @property
    def out_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the results."""
        return tuple(self.jaxpr.out_avals)

    def __call__(self, *args: Any) -> Any:
        """Return the results for arrays of the module's types: one value, a tuple, or None."""
        outs = jit_p.bind(*self._checked(args), name=self.__name__, jaxpr=self.jaxpr, inline=False)
        if not outs:
            return None
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _checked(self, args: tuple) -> list[Value]:
        """Return the arguments; a Python scalar has the dtype that is wanted."""
        if len(args) != len(self.in_avals):
            raise TypeError(
                f"{self.__name__} takes {len(self.in_avals)} arrays, got {len(args)}. Pass one "
                "array for each argument of the module's function."
            )
        values = []
        for number, (arg, aval) in enumerate(zip(args, self.in_avals, strict=True)):
            if not is_value(arg):
                raise TypeError(f"argument {number} of {self.__name__} is no array: {type(arg)}")
            found = typeof(arg)
            if found.weak_type and found.shape == aval.shape:
                arg = convert_element_type(arg, aval.dtype)
            elif (found.shape, found.dtype) != (aval.shape, aval.dtype):
                known = dtypes.canonicalize_dtype(aval.dtype) == aval.dtype
                hint = "" if known else " Arrays of 64 bits need `jax.enable_x64(True)`."
                raise TypeError(
                    f"argument {number} of {self.__name__} must be {aval.str_short(True)}, got "
                    f"{found.str_short(True)}. Convert it; the module is for these types "
                    f"only.{hint}"
                )
            values.append(arg)
        return values

    def __repr__(self) -> str:
        """Print name and types."""
        ins = ", ".join(aval.str_short(True) for aval in self.in_avals)
        outs = ", ".join(aval.str_short(True) for aval in self.out_avals)
        return f"<StableHLO module {self.__name__}: ({ins}) -> ({outs})>"


def load(text: str) -> Loaded:
    """Return the function of a StableHLO module, given as text.

    The module may come from this package, from JAX, or from any tool that prints StableHLO; both
    forms of MLIR's text are read.  The function is called with the arrays of `@main`; it returns
    one array, or a tuple.  Loops that count to a known number can be differentiated in reverse,
    others forward only.

    Raises ValueError, with line and column, for a text that is no module or whose types do not fit;
    NotImplementedError for an operation that is not known, extents that are left open, callbacks.

    >>> import tapeless as jax
    >>> text = jax.jit(lambda x: x * x + 1.0).lower(2.0).as_text()
    >>> f = jax.stablehlo.load(text)
    >>> f(3.0), jax.grad(f)(3.0)
    (Array(10., dtype=float32), Array(6., dtype=float32, weak_type=True))
    """
    return Loaded(parse(text))
