"""`jax.numpy.linalg`: NumPy's linear algebra on matrices in the last two axes.  Names only."""

from tapeless.numpy.linalg.determinants import *
from tapeless.numpy.linalg.factorizations import *
from tapeless.numpy.linalg.norms import *
from tapeless.numpy.linalg.products import *
from tapeless.numpy.linalg.solves import *
from tapeless.util.names import close_module

close_module("jax.numpy.linalg", globals())
