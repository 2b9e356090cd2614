"""`jax.scipy.special`: special functions, elementwise.  Names only."""

from tapeless.scipy.special.bessel import *
from tapeless.scipy.special.errors import *
from tapeless.scipy.special.gammas import *
from tapeless.scipy.special.information import *
from tapeless.scipy.special.integrals import *
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.scipy.special", globals())
__getattr__ = missing_attribute("jax.scipy.special")
