"""`stages`: the types of traced, lowered and compiled functions.  Names only."""

from tapeless.runtime.stages import ArgInfo, Compiled, Lowered, OutInfo, Traced

__all__ = ["ArgInfo", "Compiled", "Lowered", "OutInfo", "Traced"]
