"""`jax.scipy.spatial`: rotations.  Names only."""

from tapeless.scipy.spatial import transform as transform
from tapeless.util.names import close_module

close_module("jax.scipy.spatial", globals())
