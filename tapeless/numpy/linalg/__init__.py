"""`jax.numpy.linalg`: NumPy's linear algebra on matrices in the last two axes.  Names only."""

from tapeless.numpy.linalg.determinants import *
from tapeless.numpy.linalg.factorizations import *
from tapeless.numpy.linalg.norms import *
from tapeless.numpy.linalg.products import *
from tapeless.numpy.linalg.solves import *
