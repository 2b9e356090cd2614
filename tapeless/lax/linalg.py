"""`lax.linalg`: factorisations and solves of the matrices in the last two axes.  Names only."""

from tapeless.prims.linalg import *
from tapeless.util.names import close_module

close_module("jax.lax.linalg", globals())
