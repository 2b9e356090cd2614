"""`stages`: the types of traced, lowered and compiled functions.  Names only."""

from tapeless.runtime.stages import ArgInfo, Compiled, Lowered, OutInfo, Traced, Wrapped
from tapeless.util.names import close_module

__all__ = ["ArgInfo", "Compiled", "Lowered", "OutInfo", "Traced", "Wrapped"]

close_module("jax.stages", globals())
