"""`jax.scipy.signal`: convolutions, trends and spectra.  Names only."""

from tapeless.scipy.signal.convolutions import *
from tapeless.scipy.signal.inversion import *
from tapeless.scipy.signal.spectra import *
from tapeless.scipy.signal.trends import *
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.scipy.signal", globals())
__getattr__ = missing_attribute("jax.scipy.signal")
