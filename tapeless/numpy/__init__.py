"""`jax.numpy`: NumPy's functions on immutable arrays, for every transformation.  Names only."""

from tapeless.numpy.common import *
from tapeless.numpy.methods import *
