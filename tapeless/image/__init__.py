"""`jax.image`: images at other sizes.  Names only."""

from tapeless.image.scaling import *
from tapeless.util.names import close_module

close_module("jax.image", globals())
