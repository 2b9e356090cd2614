"""tapeless: composable transformations of numerical Python programs, compiled for the CPU.

import tapeless as jax
"""

from tapeless.util import lazy

# Modules that not every program needs are loaded at first use.
lazy.defer(
    __name__,
    "api_util",
    "checkpoint_policies",
    "custom_batching",
    "custom_derivatives",
    "debug",
    "distributed",
    "dlpack",
    "experimental",
    "export",
    "image",
    "interpreters",
    "memory",
    "monitoring",
    "nn",
    "ops",
    "profiler",
    "random",
    "ref",
    "scipy",
    "sharding",
    "stablehlo",
    "stages",
    "tree_util",
    "typing",
    "version",
)

lazy.now("tapeless.numpy")  # most of what is imported below, without collecting garbage

from tapeless import (  # noqa: I001
    api_util as api_util,
    core as core,
    custom_batching as custom_batching,
    custom_derivatives as custom_derivatives,
    checkpoint_policies as checkpoint_policies,
    config as config,
    debug as debug,
    distributed as distributed,
    dlpack as dlpack,
    dtypes as dtypes,
    errors as errors,
    experimental as experimental,
    export as export,
    image as image,
    interpreters as interpreters,
    lax as lax,
    memory as memory,
    monitoring as monitoring,
    nn as nn,
    numpy as numpy,
    ops as ops,
    profiler as profiler,
    random as random,
    ref as ref,
    scipy as scipy,
    sharding as sharding,
    stablehlo as stablehlo,
    stages as stages,
    tree as tree,
    tree_util as tree_util,
    typing as typing,
    version as version,
)
from tapeless.api.autodiff import grad, jvp, linear_transpose, linearize, value_and_grad, vjp
from tapeless.api.checking import checks
from tapeless.api.jit import clear_caches, jit
from tapeless.api.sharding import pmap, reshard, shard_map, smap
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
from tapeless.core.any_array import AnyArray as Array
from tapeless.core.aval import ShapeDtypeStruct, typeof
from tapeless.core.ref import Ref
from tapeless.core.trace import ensure_compile_time_eval
from tapeless.dtypes import float0
from tapeless.numpy.references import empty_ref, free_ref, freeze, new_ref
from tapeless.runtime.device import (
    block_until_ready,
    copy_to_host_async,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)
from tapeless.runtime.device import process_count as host_count
from tapeless.runtime.device import process_index as host_id
from tapeless.runtime.device import process_indices as host_ids
from tapeless.runtime.eager import effects_barrier
from tapeless.runtime.shards import (
    Shard,
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from tapeless.runtime.meshes import (
    get_abstract_mesh,
    get_mesh,
    make_mesh,
    set_mesh,
    use_abstract_mesh,
)
from tapeless.runtime.sharding import NamedSharding
from tapeless.runtime.sharding import PartitionSpec as P
from tapeless.runtime.topology import CpuDevice as Device
from tapeless.util.frames import show_filtered
from tapeless.util.names import close_module
from tapeless.util.versions import __version__, __version_info__

# Single names of which the same holds.
lazy.defer_names(
    "tapeless.api.checkpoint",
    "tapeless.api.custom",
    "tapeless.api.fwd_and_bwd",
    "tapeless.api.inspection",
    "tapeless.api.jacobian",
    "tapeless.api.tracing",
    "tapeless.control.callback",
    "tapeless.control.progress",
    "tapeless.dropin.finder",
    "tapeless.runtime.environment",
    "tapeless.runtime.profiling",
)

from tapeless.api.checkpoint import checkpoint, remat
from tapeless.api.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
from tapeless.api.fwd_and_bwd import fwd_and_bwd
from tapeless.api.inspection import inspect
from tapeless.api.jacobian import hessian, jacfwd, jacobian, jacrev
from tapeless.api.tracing import eval_shape, make_jaxpr, named_call, named_scope
from tapeless.control.callback import pure_callback
from tapeless.control.progress import progress
from tapeless.dropin.finder import install_as_jax
from tapeless.runtime.environment import live_arrays, print_environment_info
from tapeless.runtime.profiling import profile

show_filtered()
del show_filtered

close_module(
    "jax", globals(), ("checks", "inspect", "install_as_jax", "profile", "progress", "stablehlo")
)
