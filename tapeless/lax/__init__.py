"""`lax`: the operations themselves, with strict types, and structured control flow.  Names only.

`with_sharding_constraint` needs arrays and devices, which stand above: `api/sharding.py` adds it.
"""

from tapeless.util import lazy

lazy.defer(__name__, "linalg")

from collections.abc import Callable
from typing import Any

from tapeless.control.cond import cond_p
from tapeless.control.loops import *
from tapeless.control.scan import scan_p
from tapeless.control.while_loop import while_p
from tapeless.lax import linalg as linalg
from tapeless.prims.accuracy import *
from tapeless.prims.argextremes import *
from tapeless.prims.binary import *
from tapeless.prims.bits import *
from tapeless.prims.bitwise import *
from tapeless.prims.compare import *
from tapeless.prims.convert import *
from tapeless.prims.create import *
from tapeless.prims.cumulative import *
from tapeless.prims.dot import *
from tapeless.prims.dynamic_slice import *
from tapeless.prims.exponential import *
from tapeless.prims.gather import *
from tapeless.prims.identity import *
from tapeless.prims.indexing import *
from tapeless.prims.join import *
from tapeless.prims.named_axes import *
from tapeless.prims.parts import *
from tapeless.prims.precision import *
from tapeless.prims.reduce import *
from tapeless.prims.scatter import *
from tapeless.prims.select import *
from tapeless.prims.slice import *
from tapeless.prims.sort import *
from tapeless.prims.structural import *
from tapeless.prims.topk import *
from tapeless.prims.trig import *
from tapeless.prims.unary import *
from tapeless.util.names import close_module

# Names that not every program needs: the rest of what their modules hold is not read before.
lazy.defer_names(
    "tapeless.control.associative_scan",
    "tapeless.control.branches",
    "tapeless.control.composite",
    "tapeless.control.igamma",
    "tapeless.control.incomplete_beta",
    "tapeless.control.incomplete_gamma",
    "tapeless.control.linear_solve",
    "tapeless.control.reducers",
    "tapeless.control.root",
    "tapeless.prims.approx",
    "tapeless.prims.barrier",
    "tapeless.prims.bessel",
    "tapeless.prims.collective",
    "tapeless.prims.conv",
    "tapeless.prims.convforms",
    "tapeless.prims.convlayout",
    "tapeless.prims.convpatches",
    "tapeless.prims.fft",
    "tapeless.prims.inspection",
    "tapeless.prims.order",
    "tapeless.prims.ragged",
    "tapeless.prims.rng",
    "tapeless.prims.special",
    "tapeless.prims.taking",
    "tapeless.prims.window",
)

from tapeless.control.associative_scan import associative_scan as associative_scan  # noqa: I001
from tapeless.control.branches import (
    cond as cond,
    platform_dependent as platform_dependent,
    switch as switch,
)
from tapeless.control.composite import composite as composite, composite_p as composite_p
from tapeless.control.igamma import (
    igamma as igamma,
    igamma_grad_a as igamma_grad_a,
    igamma_grad_a_p as igamma_grad_a_p,
    igamma_p as igamma_p,
    igammac as igammac,
    igammac_p as igammac_p,
)
from tapeless.control.incomplete_beta import (
    betainc as betainc,
    regularized_incomplete_beta_p as regularized_incomplete_beta_p,
)
from tapeless.control.incomplete_gamma import random_gamma_grad as random_gamma_grad
from tapeless.control.linear_solve import (
    custom_linear_solve as custom_linear_solve,
    linear_solve_p as linear_solve_p,
)
from tapeless.control.reducers import (
    reduce as reduce,
    reduce_p as reduce_p,
    reduce_window as reduce_window,
    reduce_window_p as reduce_window_p,
    scatter_apply as scatter_apply,
)
from tapeless.control.root import custom_root as custom_root
from tapeless.prims.approx import (
    approx_max_k as approx_max_k,
    approx_min_k as approx_min_k,
    approx_top_k_p as approx_top_k_p,
)
from tapeless.prims.barrier import (
    optimization_barrier as optimization_barrier,
    optimization_barrier_p as optimization_barrier_p,
    stop_gradient as stop_gradient,
)
from tapeless.prims.bessel import (
    bessel_i0e as bessel_i0e,
    bessel_i0e_p as bessel_i0e_p,
    bessel_i1e as bessel_i1e,
    bessel_i1e_p as bessel_i1e_p,
)
from tapeless.prims.collective import (
    all_gather as all_gather,
    all_gather_p as all_gather_p,
    all_to_all as all_to_all,
    all_to_all_p as all_to_all_p,
    pbroadcast as pbroadcast,
    pbroadcast_p as pbroadcast_p,
    pcast as pcast,
    ppermute as ppermute,
    ppermute_p as ppermute_p,
    pshuffle as pshuffle,
    psum_scatter as psum_scatter,
    pswapaxes as pswapaxes,
    reduce_scatter_p as reduce_scatter_p,
)
from tapeless.prims.conv import (
    conv_general_dilated as conv_general_dilated,
    conv_general_dilated_p as conv_general_dilated_p,
    conv_general_shape_tuple as conv_general_shape_tuple,
)
from tapeless.prims.convforms import (
    conv as conv,
    conv_shape_tuple as conv_shape_tuple,
    conv_transpose as conv_transpose,
    conv_transpose_shape_tuple as conv_transpose_shape_tuple,
    conv_with_general_padding as conv_with_general_padding,
)
from tapeless.prims.convlayout import (
    ConvDimensionNumbers as ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers as conv_dimension_numbers,
    conv_general_permutations as conv_general_permutations,
    merge_into as merge_into,
    merge_within as merge_within,
    spatial as spatial,
    split_off as split_off,
    swapped as swapped,
)
from tapeless.prims.convpatches import (
    conv_general_dilated_local as conv_general_dilated_local,
    conv_general_dilated_patches as conv_general_dilated_patches,
)
from tapeless.prims.fft import FftType as FftType, fft as fft, fft_p as fft_p
from tapeless.prims.inspection import (
    after_all as after_all,
    create_token as create_token,
    dce_sink as dce_sink,
    dtype as dtype,
    shape_as_value as shape_as_value,
    stage as stage,
    stage_p as stage_p,
)
from tapeless.prims.order import eq_to_p as eq_to_p, le_to_p as le_to_p, lt_to_p as lt_to_p
from tapeless.prims.ragged import ragged_dot as ragged_dot
from tapeless.prims.rng import (
    RandomAlgorithm as RandomAlgorithm,
    rng_bit_generator as rng_bit_generator,
    rng_bit_generator_p as rng_bit_generator_p,
)
from tapeless.prims.special import (
    digamma as digamma,
    digamma_p as digamma_p,
    erf as erf,
    erf_inv as erf_inv,
    erf_inv_p as erf_inv_p,
    erf_p as erf_p,
    erfc as erfc,
    erfc_p as erfc_p,
    lgamma as lgamma,
    lgamma_p as lgamma_p,
    polygamma as polygamma,
    polygamma_p as polygamma_p,
    polynomial as polynomial,
    polynomial_p as polynomial_p,
    zeta as zeta,
    zeta_p as zeta_p,
)
from tapeless.prims.taking import index_take as index_take
from tapeless.prims.window import (
    MOST_WRITTEN_OUT as MOST_WRITTEN_OUT,
    Windows as Windows,
    batched_window as batched_window,
    fold_window as fold_window,
    padtype_to_pads as padtype_to_pads,
    reduce_window_max as reduce_window_max,
    reduce_window_max_p as reduce_window_max_p,
    reduce_window_min as reduce_window_min,
    reduce_window_min_p as reduce_window_min_p,
    reduce_window_shape_tuple as reduce_window_shape_tuple,
    reduce_window_sum as reduce_window_sum,
    reduce_window_sum_p as reduce_window_sum_p,
    select_and_gather_add_p as select_and_gather_add_p,
    select_and_scatter_add_p as select_and_scatter_add_p,
    transposed_padding as transposed_padding,
    window_attributes as window_attributes,
    window_params as window_params,
)

with_sharding_constraint: Callable[[Any, Any], Any]

close_module("jax.lax", globals())
