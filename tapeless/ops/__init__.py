"""`ops`: reductions over segments.  Names only."""

from tapeless.ops.segment import *
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.ops", globals())
__getattr__ = missing_attribute("jax.ops")
