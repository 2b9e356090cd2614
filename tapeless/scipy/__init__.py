"""`jax.scipy`: what SciPy has, for arrays and every transformation.  Names only.

Each module is imported when it is first used: few programs need more than one.
"""

from tapeless.util import lazy

lazy.defer(
    __name__, "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize",
    "signal", "sparse", "spatial", "special", "stats",
)  # fmt: skip

from tapeless.scipy import cluster as cluster
from tapeless.scipy import fft as fft
from tapeless.scipy import integrate as integrate
from tapeless.scipy import interpolate as interpolate
from tapeless.scipy import linalg as linalg
from tapeless.scipy import ndimage as ndimage
from tapeless.scipy import optimize as optimize
from tapeless.scipy import signal as signal
from tapeless.scipy import sparse as sparse
from tapeless.scipy import spatial as spatial
from tapeless.scipy import special as special
from tapeless.scipy import stats as stats
from tapeless.util.names import close_module

close_module("jax.scipy", globals())
