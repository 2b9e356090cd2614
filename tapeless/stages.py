"""`stages`: the types of traced, lowered and compiled functions.  Names only."""

from typing import Any

from tapeless.runtime.stages import ArgInfo, Compiled, Lowered, OutInfo, Traced, Wrapped
from tapeless.util.names import close_module

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "OutInfo", "Traced", "Wrapped"]

CompilerOptions = dict[str, Any]

close_module("jax.stages", globals())
