"""`jax.scipy.linalg`: SciPy's linear algebra.  Names only."""

from tapeless.scipy.linalg.factors import *
from tapeless.scipy.linalg.functions import *
from tapeless.scipy.linalg.matrices import *
from tapeless.util.names import close_module

close_module("jax.scipy.linalg", globals())
