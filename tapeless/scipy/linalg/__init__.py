"""`jax.scipy.linalg`: SciPy's linear algebra.  Names only."""

from tapeless.scipy.linalg.factors import *
from tapeless.scipy.linalg.functions import *
from tapeless.scipy.linalg.matrices import *
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.scipy.linalg", globals())
__getattr__ = missing_attribute("jax.scipy.linalg")
