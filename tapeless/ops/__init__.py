"""`ops`: reductions over segments.  Names only."""

from tapeless.ops.segment import *
from tapeless.util.names import close_module

close_module("jax.ops", globals())
