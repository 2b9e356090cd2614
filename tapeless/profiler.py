"""`profiler`: named stretches of time, written to a file.  Names only."""

from tapeless.util.names import listed_names, missing_attribute
from tapeless.util.spans import *

__dir__ = listed_names("jax.profiler", globals())
__getattr__ = missing_attribute("jax.profiler")
