"""`jax.numpy`: NumPy's functions on immutable arrays, for every transformation.  Names only."""

from tapeless.util import lazy

lazy.defer(__name__, "fft", "linalg")

from numpy import (  # noqa: F401, I001
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
from numpy.exceptions import ComplexWarning as ComplexWarning

from tapeless.core.any_array import AnyArray as ndarray
from tapeless.numpy import fft as fft, linalg as linalg
from tapeless.numpy.arithmetic import *
from tapeless.numpy.array_api import (
    ArrayNamespaceInfo as __array_namespace_info__,
    __array_api_version__ as __array_api_version__,
)
from tapeless.numpy.choice import *
from tapeless.numpy.common import *
from tapeless.numpy.creation import *
from tapeless.numpy.cumulative import *
from tapeless.numpy.diagonals import *
from tapeless.numpy.floats import *
from tapeless.numpy.joining import *
from tapeless.numpy.methods import *
from tapeless.numpy.products import *
from tapeless.numpy.reductions import *
from tapeless.numpy.rounding import *
from tapeless.numpy.scalar_types import *
from tapeless.numpy.shaping import *
from tapeless.numpy.sorting import *
from tapeless.numpy.taking import *
from tapeless.numpy.ufunc_class import *
from tapeless.numpy.ufuncs import *
from tapeless.numpy.vectorization import *
from tapeless.util.names import close_module

# Names that not every program needs: the rest of what their modules hold is not read before.
lazy.defer_names(
    "tapeless.numpy.comparing",
    "tapeless.numpy.contraction",
    "tapeless.numpy.correlation",
    "tapeless.numpy.divisors",
    "tapeless.numpy.editing",
    "tapeless.numpy.grids",
    "tapeless.numpy.histograms",
    "tapeless.numpy.mapping",
    "tapeless.numpy.nan_reductions",
    "tapeless.numpy.padding",
    "tapeless.numpy.polynomials",
    "tapeless.numpy.quantiles",
    "tapeless.numpy.sets",
    "tapeless.numpy.special_functions",
    "tapeless.numpy.windows",
)

from tapeless.numpy.comparing import (  # noqa: I001
    allclose as allclose,
    array_equal as array_equal,
    array_equiv as array_equiv,
    can_cast as can_cast,
    finfo as finfo,
    iinfo as iinfo,
    isclose as isclose,
    iscomplex as iscomplex,
    iscomplexobj as iscomplexobj,
    isdtype as isdtype,
    isreal as isreal,
    isrealobj as isrealobj,
    isscalar as isscalar,
    issubdtype as issubdtype,
    iterable as iterable,
    promote_types as promote_types,
    result_type as result_type,
)
from tapeless.numpy.contraction import einsum as einsum, einsum_path as einsum_path
from tapeless.numpy.correlation import (
    convolve as convolve,
    corrcoef as corrcoef,
    correlate as correlate,
    cov as cov,
)
from tapeless.numpy.divisors import gcd as gcd, lcm as lcm
from tapeless.numpy.editing import (
    delete as delete,
    insert as insert,
    resize as resize,
    trim_zeros as trim_zeros,
)
from tapeless.numpy.grids import (
    c_ as c_,
    fromfunction as fromfunction,
    index_exp as index_exp,
    indices as indices,
    meshgrid as meshgrid,
    mgrid as mgrid,
    ogrid as ogrid,
    r_ as r_,
    s_ as s_,
)
from tapeless.numpy.histograms import (
    bincount as bincount,
    histogram as histogram,
    histogram2d as histogram2d,
    histogram_bin_edges as histogram_bin_edges,
    histogramdd as histogramdd,
)
from tapeless.numpy.mapping import (
    apply_along_axis as apply_along_axis,
    apply_over_axes as apply_over_axes,
    packbits as packbits,
    unpackbits as unpackbits,
)
from tapeless.numpy.nan_reductions import (
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nanmax as nanmax,
    nanmean as nanmean,
    nanmin as nanmin,
    nanprod as nanprod,
    nanstd as nanstd,
    nansum as nansum,
    nanvar as nanvar,
)
from tapeless.numpy.padding import pad as pad
from tapeless.numpy.polynomials import (
    poly as poly,
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyfit as polyfit,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    polyval as polyval,
    roots as roots,
)
from tapeless.numpy.quantiles import (
    median as median,
    minmax as minmax,
    nanmedian as nanmedian,
    nanpercentile as nanpercentile,
    nanquantile as nanquantile,
    percentile as percentile,
    quantile as quantile,
)
from tapeless.numpy.sets import (
    intersect1d as intersect1d,
    isin as isin,
    setdiff1d as setdiff1d,
    setxor1d as setxor1d,
    union1d as union1d,
    unique as unique,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from tapeless.numpy.special_functions import (
    hypot as hypot,
    i0 as i0,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    sinc as sinc,
)
from tapeless.numpy.windows import (
    bartlett as bartlett,
    blackman as blackman,
    hamming as hamming,
    hanning as hanning,
    kaiser as kaiser,
)

close_module("jax.numpy", globals())
