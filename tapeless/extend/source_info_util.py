"""`jax.extend.source_info_util`: which frames are the user's.  Names only."""

from tapeless.util.frames import hide_file as register_exclusion
from tapeless.util.names import close_module

__all__ = ["register_exclusion"]

close_module("jax.extend.source_info_util", globals())
