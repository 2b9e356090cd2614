"""`debug`: looking at values while compiled programs run.  Names only."""

from tapeless.control.breakpoint import breakpoint as breakpoint
from tapeless.control.callback import debug_callback as callback
from tapeless.control.callback import debug_print as print
from tapeless.util.names import listed_names, missing_attribute

__all__ = ["breakpoint", "callback", "print"]

__dir__ = listed_names("jax.debug", globals())
__getattr__ = missing_attribute("jax.debug")
