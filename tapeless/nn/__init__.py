"""`nn`: functions that neural networks are made of.  Names only."""

from tapeless.nn import initializers as initializers
from tapeless.nn.activations import *
from tapeless.nn.attention import *
from tapeless.nn.normalization import *
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.nn", globals())
__getattr__ = missing_attribute("jax.nn")
