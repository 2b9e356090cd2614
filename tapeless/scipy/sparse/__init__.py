"""`jax.scipy.sparse`: iterative solvers.  Names only."""

from tapeless.scipy.sparse import linalg as linalg
