"""tapeless: composable transformations of numerical Python programs, compiled for the CPU.

import tapeless as jax
"""

from tapeless import (  # noqa: I001
    custom_batching as custom_batching,
    checkpoint_policies as checkpoint_policies,
    config as config,
    debug as debug,
    dtypes as dtypes,
    errors as errors,
    lax as lax,
    nn as nn,
    numpy as numpy,
    ops as ops,
    random as random,
    stages as stages,
    tree as tree,
    tree_util as tree_util,
)
from tapeless.api.autodiff import grad, jvp, linear_transpose, linearize, value_and_grad, vjp
from tapeless.api.checkpoint import checkpoint, remat
from tapeless.api.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
from tapeless.api.inspect import eval_shape, make_jaxpr, named_call, named_scope
from tapeless.api.jacobian import hessian, jacfwd, jacobian, jacrev
from tapeless.api.jit import clear_caches, jit
from tapeless.api.vmap import vmap
from tapeless.config import (
    allow_f16_reductions,
    array_garbage_collection_guard,
    check_tracer_leaks,
    checking_leaks,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    legacy_prng_key,
    log_compiles,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    remove_size_one_mesh_axis_from_type,
    softmax_custom_jvp,
    thread_guard,
    threefry_partitionable,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)
from tapeless.core.aval import ShapeDtypeStruct, typeof
from tapeless.control.callback import pure_callback
from tapeless.runtime.array import Array
from tapeless.runtime.device import (
    block_until_ready,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from tapeless.runtime.eager import effects_barrier
from tapeless.util.names import missing_attribute

__getattr__ = missing_attribute("jax")
__version__ = "0.12.0.1"
