"""`jax.image`: images at other sizes.  Names only."""

from tapeless.image.scaling import *
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.image", globals())
__getattr__ = missing_attribute("jax.image")
