"""Names outside JAX's public modules that libraries need, as (module, name) to what stands for it.

What is in `TABLES` and `ELSEWHERE` is kept to what a library that runs here imports or calls; the
libraries stand beside the entries.  Values are `module:attribute`, or objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["ADDED", "ELSEWHERE", "REMOVED", "TABLES"]


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Accept and ignore: there is nothing to hide, wait for or register."""


def _identity(function: Callable, **kwargs: Any) -> Callable:
    """Return a function as it is."""
    return function


def _yes(*args: Any) -> bool:
    """Return True."""
    return True


# Attributes that modules have beside their public names.
ADDED: Mapping[str, tuple[str, ...]] = {
    "jax": ("__version__", "__version_info__"),
    "jax.example_libraries.stax": ("Conv", "Conv1DTranspose", "ConvTranspose"),
    # flax.nnx
    "jax.experimental.hijax": (
        "AbstractRef",
        "AbstractValue",
        "HiPrim",
        "HiType",
        "ShapedArray",
        "Zero",
        "aval_method",
        "aval_property",
        "instantiate_zeros",
        "register_hitype",
    ),
    "jax.experimental.pjit": ("pjit",),
    "jax.experimental.shard_map": ("shard_map",),
    # jaxopt
    "jax.scipy.sparse": ("linalg",),
    # SciPy and scikit-learn
    "jax.numpy": ("__array_api_version__", "__array_namespace_info__"),
    "jax.version": ("__version__", "__version_info__"),
}

# Attributes of public modules that stand in other modules of this package.
ELSEWHERE: Mapping[str, Mapping[str, object]] = {
    # tfp, and with it distrax, rlax and dynamax: they enter a class of their own.
    "jax.core": {"pytype_aval_mappings": "tapeless.core.aval:aval_of_type"},
}

_MIGRATION = "https://docs.jax.dev/en/latest/migrate_pmap.html#drop-in-replacements"
# Names that JAX has no more, and what it says of them.
REMOVED: Mapping[str, str] = {
    f"jax.{name}": f"jax.{name} is deprecated; use jax.device_put instead. See {_MIGRATION} for a "
    "drop-in replacement."
    for name in ("device_put_replicated", "device_put_sharded")
}

TABLES: Mapping[str, Mapping[str, object]] = {
    "jax._src": {},
    # chex patches a function of it where it exists.
    "jax._src.compiler": {},
    # blackjax
    "jax._src.flatten_util": {"ravel_pytree": "tapeless.flatten_util:ravel_pytree"},
    # equinox, flax, haiku, jaxtyping: they hide their own frames.
    "jax._src.traceback_util": {
        "api_boundary": _identity,
        "include_frame": _yes,
        "register_exclusion": "tapeless.util.frames:hide_file",
    },
    "jax._src.source_info_util": {"register_exclusion": "tapeless.util.frames:hide_file"},
    # numpyro
    "jax._src.core": {
        "ShapedArray": "tapeless.core.aval:ShapedArray",
        "Tracer": "tapeless.core.trace:Tracer",
        "trace_state_clean": "tapeless.core.trace:trace_state_clean",
    },
    # lineax
    "jax._src.ad_util": {"stop_gradient_p": "tapeless.prims.identity:stop_gradient_p"},
    # equinox
    "jax._src.dispatch": {"wait_for_tokens": _nothing},
    "jax._src.literals": {},
    # equinox, flax
    "jax._src.dtypes": {
        "DType": np.dtype,
        "ExtendedDType": "tapeless.dtypes:ExtendedDtype",
        "TypePromotionError": "tapeless.dtypes:TypePromotionError",
        "extended": "tapeless.dtypes:extended",
        "finfo": "tapeless.dtypes:finfo",
        "supports_inf": "tapeless.dtypes:supports_inf",
        "to_complex_dtype": "tapeless.dtypes:to_complex_dtype",
    },
    # flax.nnx
    "jax._src.checkify": {
        "Error": "tapeless.api.functional_errors:Error",
        "checkify": "tapeless.api.functional_errors:checkify",
        "JaxException": "tapeless.api.functional_errors:JaxRuntimeError",
        "user_checks": "tapeless.api.functional_errors:user_checks",
    },
    "jax._src.state": {},
    # flax.nnx, jaxlie
    "jax._src.tree_util": {"_registry": "tapeless.dropin.pytrees:registry"},
    "jax._src.state.types": {"AbstractRef": "tapeless.core.aval:AbstractRef"},
    "jax._src.xla_bridge": {"_backends": {}},
    "jaxlib": {"__version__": "0.12.0.1"},
    # efax, gpjax, jax_dataclasses
    "jaxlib._jax": {"PjitFunction": "tapeless.api.jit:JitFunction"},
    "jaxlib.xla_client": {"Device": "tapeless.runtime.topology:CpuDevice"},
}
