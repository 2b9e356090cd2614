"""Random numbers: pure functions of keys, with the bits of JAX's threefry generator."""

from tapeless.random.basic import *
from tapeless.random.choosing import *
from tapeless.random.continuous import *
from tapeless.random.counting import *
from tapeless.random.gamma_samples import *
from tapeless.random.gammas import *
from tapeless.random.keys import *
from tapeless.random.vectors import *
from tapeless.util.names import close_module

close_module("jax.random", globals())
