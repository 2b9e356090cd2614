"""`jax.numpy`: NumPy's functions on immutable arrays, for every transformation.  Names only."""

from tapeless.util import lazy

lazy.defer(__name__, "fft", "linalg")

from numpy import (  # noqa: F401
    array_repr as array_repr,
)
from numpy import (
    array_str as array_str,
)
from numpy import (
    character as character,
)
from numpy import (
    complexfloating as complexfloating,
)
from numpy import (
    dtype as dtype,
)
from numpy import (
    e as e,
)
from numpy import (
    euler_gamma as euler_gamma,
)
from numpy import (
    flexible as flexible,
)
from numpy import (
    floating as floating,
)
from numpy import (
    generic as generic,
)
from numpy import (
    get_printoptions as get_printoptions,
)
from numpy import (
    inexact as inexact,
)
from numpy import (
    inf as inf,
)
from numpy import (
    integer as integer,
)
from numpy import (
    nan as nan,
)
from numpy import (
    newaxis as newaxis,
)
from numpy import (
    number as number,
)
from numpy import (
    object_ as object_,
)
from numpy import (
    pi as pi,
)
from numpy import (
    printoptions as printoptions,
)
from numpy import (
    save as save,
)
from numpy import (
    savez as savez,
)
from numpy import (
    set_printoptions as set_printoptions,
)
from numpy import (
    signedinteger as signedinteger,
)
from numpy import (
    unsignedinteger as unsignedinteger,
)
from numpy.exceptions import ComplexWarning as ComplexWarning

from tapeless.core.any_array import AnyArray as ndarray
from tapeless.numpy import fft as fft
from tapeless.numpy import linalg as linalg
from tapeless.numpy.arithmetic import *
from tapeless.numpy.array_api import ArrayNamespaceInfo as __array_namespace_info__
from tapeless.numpy.array_api import __array_api_version__ as __array_api_version__
from tapeless.numpy.choice import *
from tapeless.numpy.common import *
from tapeless.numpy.comparing import *
from tapeless.numpy.contraction import *
from tapeless.numpy.correlation import *
from tapeless.numpy.creation import *
from tapeless.numpy.cumulative import *
from tapeless.numpy.diagonals import *
from tapeless.numpy.divisors import *
from tapeless.numpy.editing import *
from tapeless.numpy.floats import *
from tapeless.numpy.grids import *
from tapeless.numpy.histograms import *
from tapeless.numpy.joining import *
from tapeless.numpy.mapping import *
from tapeless.numpy.methods import *
from tapeless.numpy.nan_reductions import *
from tapeless.numpy.padding import *
from tapeless.numpy.polynomials import *
from tapeless.numpy.products import *
from tapeless.numpy.quantiles import *
from tapeless.numpy.reductions import *
from tapeless.numpy.rounding import *
from tapeless.numpy.scalar_types import *
from tapeless.numpy.sets import *
from tapeless.numpy.shaping import *
from tapeless.numpy.sorting import *
from tapeless.numpy.special_functions import *
from tapeless.numpy.taking import *
from tapeless.numpy.ufunc_class import *
from tapeless.numpy.ufuncs import *
from tapeless.numpy.vectorization import *
from tapeless.numpy.windows import *
from tapeless.util.names import close_module

close_module("jax.numpy", globals())
