"""`stages`: the types of traced, lowered and compiled functions.  Names only."""

from tapeless.runtime.stages import ArgInfo, Compiled, Lowered, OutInfo, Traced
from tapeless.util.names import listed_names, missing_attribute

__all__ = ["ArgInfo", "Compiled", "Lowered", "OutInfo", "Traced"]

__dir__ = listed_names("jax.stages", globals())
__getattr__ = missing_attribute("jax.stages")
