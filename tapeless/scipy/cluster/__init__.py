"""`jax.scipy.cluster`: vector quantisation.  Names only."""

from tapeless.scipy.cluster import vq as vq
from tapeless.util.names import close_module

close_module("jax.scipy.cluster", globals())
