"""`jax.scipy.optimize`: minima of functions.  Names only."""

from tapeless.scipy.optimize.minimization import *
from tapeless.util.names import close_module

close_module("jax.scipy.optimize", globals())
