"""`jax.experimental.layout`: how arrays lie in memory.  Names only."""

from tapeless.runtime.layout import Format, Layout
from tapeless.util.names import close_module

__all__ = ["Format", "Layout"]

close_module("jax.experimental.layout", globals())
