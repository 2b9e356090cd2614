"""`jax.scipy.special`: special functions, elementwise.  Names only."""

from tapeless.scipy.special.bessel import *
from tapeless.scipy.special.errors import *
from tapeless.scipy.special.faddeeva import *
from tapeless.scipy.special.gammas import *
from tapeless.scipy.special.information import *
from tapeless.scipy.special.integrals import *
from tapeless.scipy.special.oscillating import *
from tapeless.scipy.special.owens import *
from tapeless.util.names import close_module

close_module("jax.scipy.special", globals())
