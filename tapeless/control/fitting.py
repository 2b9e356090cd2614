"""Whether programs fit the operations that hold them, and arguments fit a program.

A loop, a branch or a call trusts the types of its program: it is compiled to read and write arrays
of these types, wherever they are.  What is traced fits.  But a program can be put together by hand,
or evaluated with arguments of other types than it was traced with (`eval_jaxpr`, `jaxpr_as_fun`):
then code of one type would read memory of another, beyond its end.

So each program is looked at when it is compiled, which is once, and arguments where they meet one.
Shapes and dtypes count; weakness does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapeless.core.aval import typeof
from tapeless.core.jaxpr import Jaxpr, subjaxprs

__all__ = ["check_arguments", "check_programs"]


def check_programs(jaxpr: Jaxpr) -> None:
    """Raise TypeError unless all programs within fit the operations that hold them."""
    todo, seen = [jaxpr], {jaxpr}
    while todo:
        for eqn in todo.pop().eqns:
            within = list(subjaxprs(eqn.params))
            if not within:
                continue
            todo += [program for program in within if program not in seen]
            seen.update(within)
            avals, outs = ([atom.aval for atom in atoms] for atoms in (eqn.invars, eqn.outvars))
            for program, inputs, results in eqn.primitive.programs(avals, outs, **eqn.params):
                name = eqn.primitive.name
                _compare(inputs, program.in_avals, f"the operands of {name}")
                _compare(results, program.out_avals, f"the results of {name}")


def check_arguments(jaxpr: Jaxpr, args: Sequence[Any]) -> None:
    """Raise TypeError unless the arguments are of the types that the program takes.

    >>> from tapeless import make_jaxpr, numpy as jnp
    >>> check_arguments(make_jaxpr(jnp.sin)(jnp.ones(3)), [jnp.ones(2)])
    Traceback (most recent call last):
    TypeError: the arguments are of the types (float32[2]), but the program takes (float32[3])...
    """
    _compare([typeof(arg) for arg in args], jaxpr.in_avals, "the arguments")


def _compare(got: Sequence[Any], want: Sequence[Any], what: str) -> None:
    """Compare shapes and dtypes."""
    if len(got) == len(want) and all(map(_alike, got, want)):
        return
    ours, theirs = (", ".join(map(str, avals[:8])) for avals in (got, want))
    raise TypeError(
        f"{what} are of the types ({ours}), but the program takes ({theirs}). It was put together "
        f"by hand, or is evaluated with others than it was traced with. Trace it for these types"
    )


def _alike(a: Any, b: Any) -> bool:
    """Tell whether two types have the same shape and dtype; references are not compared."""
    if a is b or not (hasattr(a, "dtype") and hasattr(b, "dtype")):
        return True
    return a.shape == b.shape and a.dtype == b.dtype
