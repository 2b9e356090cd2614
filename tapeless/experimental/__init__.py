"""`experimental`: what JAX keeps under that name.  Names only."""

from tapeless.control.callback import io_callback as io_callback
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.experimental", globals())
__getattr__ = missing_attribute("jax.experimental")
