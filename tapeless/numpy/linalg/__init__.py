"""`jax.numpy.linalg`: NumPy's linear algebra on matrices in the last two axes.  Names only."""

from tapeless.numpy.linalg.determinants import *
from tapeless.numpy.linalg.factorizations import *
from tapeless.numpy.linalg.norms import *
from tapeless.numpy.linalg.products import *
from tapeless.numpy.linalg.solves import *
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.numpy.linalg", globals())
__getattr__ = missing_attribute("jax.numpy.linalg")
