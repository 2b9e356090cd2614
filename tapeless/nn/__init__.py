"""`nn`: functions that neural networks are made of.  Names only.

What draws numbers or attends is imported when it is first used: few programs need it.
"""

from tapeless.nn.activations import *
from tapeless.nn.normalization import *
from tapeless.util import lazy
from tapeless.util.names import close_module

lazy.defer(__name__, "initializers")
lazy.defer_names("tapeless.nn.attention", "tapeless.nn.block_scales")

from tapeless.nn import initializers as initializers  # noqa: I001
from tapeless.nn.attention import dot_product_attention as dot_product_attention
from tapeless.nn.block_scales import (
    get_scaled_dot_general_config as get_scaled_dot_general_config,
    scaled_dot_general as scaled_dot_general,
    scaled_matmul as scaled_matmul,
)

close_module("jax.nn", globals())
