"""A function's forward and backward pass as two functions, each compiled once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapeless.api.autodiff import vjp
from tapeless.api.jit import jit

__all__ = ["fwd_and_bwd"]


def fwd_and_bwd(
    fun: Callable, argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable, Callable]:
    """Return `fwd(*args) -> (value, residuals)` and `bwd(residuals, cotangent) -> gradients`.

    argnums: the positions of the arguments to differentiate by.  has_aux: `fun` returns a pair, of
    which `fwd` returns the second part third.  jitted: compile both.

    >>> from tapeless.prims.binary import mul
    >>> forward, backward = fwd_and_bwd(lambda x: mul(x, x), argnums=0)
    >>> value, residuals = forward(3.0)
    >>> float(value), float(backward(residuals, 1.0)[0])
    (9.0, 6.0)
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def fwd(*args: Any) -> tuple:
        """Return the value and what the backward pass needs."""
        places = [number % len(args) for number in numbers]

        def of_chosen(*chosen: Any) -> Any:
            """Call the function with the chosen arguments in their places."""
            full = list(args)
            for place, x in zip(places, chosen, strict=True):
                full[place] = x
            return fun(*full)

        return vjp(of_chosen, *[args[place] for place in places], has_aux=has_aux)

    def bwd(residuals: Callable, cotangent: Any) -> tuple:
        """Return a gradient for each chosen argument."""
        return residuals(cotangent)

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
