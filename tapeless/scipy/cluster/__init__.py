"""`jax.scipy.cluster`: vector quantisation.  Names only."""

from tapeless.scipy.cluster import vq as vq
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.scipy.cluster", globals())
__getattr__ = missing_attribute("jax.scipy.cluster")
