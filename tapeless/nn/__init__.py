"""`nn`: functions that neural networks are made of.  Names only."""

from tapeless.nn import initializers as initializers
from tapeless.nn.activations import *
from tapeless.nn.attention import *
from tapeless.nn.block_scales import *
from tapeless.nn.normalization import *
from tapeless.util.names import close_module

close_module("jax.nn", globals())
