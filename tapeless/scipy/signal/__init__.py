"""`jax.scipy.signal`: convolutions, trends and spectra.  Names only."""

from tapeless.scipy.signal.convolutions import *
from tapeless.scipy.signal.inversion import *
from tapeless.scipy.signal.spectra import *
from tapeless.scipy.signal.trends import *
from tapeless.util.names import close_module

close_module("jax.scipy.signal", globals())
