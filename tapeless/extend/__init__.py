"""`jax.extend`: what libraries need that bring operations, or read programs, of their own."""

from tapeless.extend import core as core
from tapeless.extend import linear_util as linear_util
from tapeless.extend import source_info_util as source_info_util
from tapeless.util.names import close_module

__all__ = ["core", "linear_util", "source_info_util"]

close_module("jax.extend", globals())
