"""Random numbers: pure functions of keys, with the bits of JAX's threefry generator."""

from tapeless.random.keys import *
from tapeless.random.basic import *
