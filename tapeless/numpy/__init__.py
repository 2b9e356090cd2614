"""`jax.numpy`: NumPy's functions on immutable arrays, for every transformation.  Names only."""

from tapeless.numpy.common import *
from tapeless.numpy.scalar_types import *
from tapeless.numpy.choice import *
from tapeless.numpy.ufunc_class import *
from tapeless.numpy.arithmetic import *
from tapeless.numpy.ufuncs import *
from tapeless.numpy.rounding import *
from tapeless.numpy.floats import *
from tapeless.numpy.creation import *
from tapeless.numpy.shaping import *
from tapeless.numpy.joining import *
from tapeless.numpy.taking import *
from tapeless.numpy.diagonals import *
from tapeless.numpy.grids import *
from tapeless.numpy.comparing import *
from tapeless.numpy.editing import *
from tapeless.numpy.padding import *
from tapeless.numpy.reductions import *
from tapeless.numpy.vectorization import *
from tapeless.numpy.products import *
from tapeless.numpy.contraction import *
from tapeless.numpy.sorting import *
from tapeless.numpy.cumulative import *
from tapeless.numpy.quantiles import *
from tapeless.numpy.histograms import *
from tapeless.numpy.correlation import *
from tapeless.numpy.sets import *
from tapeless.numpy.mapping import *
from tapeless.numpy.windows import *
from tapeless.numpy.polynomials import *
from tapeless.numpy import fft as fft, linalg as linalg
from tapeless.numpy.methods import *
from numpy.exceptions import ComplexWarning as ComplexWarning
from numpy import (  # noqa: F401
    array_repr as array_repr,
    array_str as array_str,
    character as character,
    complexfloating as complexfloating,
    dtype as dtype,
    e as e,
    euler_gamma as euler_gamma,
    flexible as flexible,
    floating as floating,
    generic as generic,
    get_printoptions as get_printoptions,
    inexact as inexact,
    inf as inf,
    integer as integer,
    nan as nan,
    newaxis as newaxis,
    number as number,
    object_ as object_,
    pi as pi,
    printoptions as printoptions,
    save as save,
    savez as savez,
    set_printoptions as set_printoptions,
    signedinteger as signedinteger,
    unsignedinteger as unsignedinteger,
)
from tapeless.core.aval import AnyArray as ndarray
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.numpy", globals())
__getattr__ = missing_attribute("jax.numpy")
