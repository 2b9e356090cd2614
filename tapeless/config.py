"""The switches: what a user may turn, who reads each of them, and JAX's names for them.

A *flag* is one row of the table below and has one of three standings. *Effective* flags name the
module that reads them. *Accepted* flags are JAX's, are validated and remembered, and change
nothing; they are grouped by the reason. *Refused* settings would change the meaning of a program in
a way that this system does not offer, so asking for them raises. Unknown names raise, as in JAX.

A value is looked up in two places: an override of this thread (context managers, such as ``with
enable_x64(True):``) and the process-wide setting (``config.update``, or an environment variable at
import). Both live in one ``threading.local`` object: overrides are its instance attributes,
settings are attributes of its class. So Python's own attribute lookup is the whole mechanism, and
reading a flag is one attribute get.

Programs are cached; what staging may read must be part of their key. ``trace_context()`` returns
that part as one interned object, compared and hashed by identity. It is rebuilt only after an
update or an override, so the price of asking on every call is two attribute gets.

Users know this module as the object ``jax.config``: ``config.update(name, value)`` and
``config.jax_enable_x64`` are module attributes, so that there is one ``tapeless.config`` and not a
module and an object of the same name.

Invariant: settings change in ``update`` only, overrides in ``_Override`` only; both drop the
remembered trace contexts.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from typing import ParamSpec, TypeVar

from tapeless.util.records import record

__all__ = [
    "Flag", "Option", "TraceContext", "allow_f16_reductions", "array_garbage_collection_guard",
    "check_tracer_leaks", "checking_leaks", "current", "debug_infs", "debug_key_reuse",
    "debug_nans", "default_device", "default_matmul_precision", "default_prng_impl", "disable_jit",
    "enable_checks", "enable_custom_prng", "enable_x64", "explain_cache_misses", "flags",
    "legacy_prng_key", "log_compiles", "no_execution", "no_tracing", "numpy_dtype_promotion",
    "numpy_rank_promotion", "out_of_bounds", "parse_flags_with_absl", "read",
    "remove_size_one_mesh_axis_from_type", "softmax_custom_jvp", "stale_captures", "thread_guard",
    "threefry_partitionable", "trace_context", "transfer_guard",
    "transfer_guard_device_to_device", "transfer_guard_device_to_host",
    "transfer_guard_host_to_device", "update", "x64_mode",
]  # fmt: skip


P = ParamSpec("P")
R = TypeVar("R")


class _Unset:
    """The type of the marker for "no value given"."""

    def __repr__(self) -> str:
        """Print as a word, since it shows up in signatures."""
        return "<no value>"


_UNSET = _Unset()

_PRECISIONS = (
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16",
    "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9",
    "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip
_PRNGS = ("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32")
_BOUNDS = ("fill", "raise", "check")  # the last: a program that will be checked is being traced
_CHANGES = ("ignore", "warn", "raise")
_STAGES = ("stage", "jvp", "split", "transpose", "batch", "dce")  # see core/forms.py
_STAGES += ("simplify", "fuse", "buffers", "kernels", "llvm", "asm")
_GUARDS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
_FILTERS = ("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto")


@record
class Flag:
    """One switch: its name, its default, the values it takes, and who reads it.

    ``kind`` is "bool", "int", "float", "str" or "choice". ``choices`` belongs to the last; a
    default of None (or ``optional``) means that None is a value too. ``readers`` is prose for
    humans: the module that acts on the flag, or the reason why nothing does. ``staged`` flags may
    be read while a function is traced, so they are part of the trace context. ``refused`` tells
    the values that cannot be honoured.
    """

    name: str
    default: object
    readers: str
    kind: str = "bool"
    choices: tuple[str, ...] = ()
    staged: bool = False
    effective: bool = True
    refused: Callable[[object], bool] | None = None

    @property
    def optional(self) -> bool:
        """Whether None is among the values."""
        return self.default is None

    def check(self, value: object) -> object:
        """Return ``value`` as the flag stores it, or raise in JAX's words."""
        if self.kind == "bool":
            return bool(value) if not self.optional or value is not None else None
        if value is None and self.kind != "choice":
            return None
        value = _CHECKS[self.kind](self, value)
        if self.refused is not None and self.refused(value):
            raise NotImplementedError(f"{self.name}={value!r} is not supported: {self.readers}.")
        return value


def _check_choice(flag: Flag, value: object) -> object:
    """Accept one of the flag's words."""
    if value is None and flag.optional:
        return None
    allowed = f"{'None or in' if flag.optional else 'in'} {list(flag.choices)}"
    if value not in flag.choices:
        raise ValueError(f"new enum value must be {allowed}, got {value} of type {type(value)}.")
    return str(value)


def _check_text(flag: Flag, value: object) -> object:
    """Accept a string."""
    if not isinstance(value, str):
        found = f"got {value} of type {type(value)}."
        raise TypeError(f"new string config value must be None or of type str, {found}")
    return value


def _check_words(flag: Flag, value: object) -> object:
    """Accept some of the flag's words, with commas between them."""
    for word in filter(None, str(_check_text(flag, value)).split(",")):
        if word not in flag.choices:
            raise ValueError(f"words must be in {list(flag.choices)}, got {word!r}")
    return value


def _check_int(flag: Flag, value: object) -> object:
    """Accept an integer."""
    if not isinstance(value, int):
        found = f"got {value} of type {type(value)}"
        raise ValueError(f"new int config value must be None or of type int, {found}")
    return value


def _check_float(flag: Flag, value: object) -> object:
    """Accept a number."""
    if not isinstance(value, (int, float)):
        found = f"got {value} of type {type(value)}"
        raise ValueError(f"new float config value must be None or of type float, {found}")
    return float(value)


def _check_device(flag: Flag, value: object) -> object:
    """Accept a device object or a platform's name."""
    if isinstance(value, str) and value.isalpha() or hasattr(value, "platform"):
        return value
    raise ValueError(
        "jax.default_device must be passed either a Device object (e.g. `jax.devices('cpu')[0]`) "
        f"or a platform name string like 'cpu' or 'gpu', got: {value!r}"
    )


def _check_nothing(flag: Flag, value: object) -> object:
    """Accept anything: the flag has no effect and no default to tell its kind."""
    return value


_CHECKS: Mapping[str, Callable[[Flag, object], object]] = {
    "choice": _check_choice,
    "str": _check_text,
    "words": _check_words,
    "int": _check_int,
    "float": _check_float,
    "device": _check_device,
    "any": _check_nothing,
}


# ---------------------------------------------------------------------------------------------
# The table.


def _foreign_platform(value: object) -> bool:
    """Whether a platform list names no platform that exists here."""
    names = str(value).split(",")
    return not any(name.strip() in ("", "cpu") for name in names)


_EFFECTIVE = (
    Flag("jax_enable_x64", False, "dtypes", staged=True),
    Flag("jax_explicit_x64_dtypes", "warn", "dtypes", "choice", ("warn", "error", "allow"), True),
    Flag("jax_numpy_dtype_promotion", "standard", "dtypes", "choice", ("standard", "strict"), True),
    Flag("jax_numpy_rank_promotion", "allow", "numpy", "choice", ("allow", "warn", "raise"), True),
    Flag("jax_default_matmul_precision", None, "prims.dot", "choice", _PRECISIONS, True),
    Flag("jax_default_prng_impl", "threefry2x32", "random.keys", "choice", _PRNGS, True),
    Flag("jax_threefry_partitionable", True, "random.bits", staged=True),
    Flag("jax_enable_custom_prng", False, "random.keys", staged=True),
    Flag("jax_legacy_prng_key", "allow", "random.keys", "choice", ("allow", "warn", "error")),
    Flag("jax_random_seed_offset", 0, "random.keys", "int", staged=True),
    Flag("jax_high_dynamic_range_gumbel", False, "random.continuous", staged=True),
    Flag("jax_debug_key_reuse", False, "runtime.key_reuse", staged=True),
    Flag("jax_softmax_custom_jvp", False, "nn.activations", staged=True),
    Flag("jax_debug_nans", False, "runtime.checked", staged=True),
    Flag("jax_debug_infs", False, "runtime.checked", staged=True),
    Flag("jax_disable_jit", False, "api.jit", staged=True),
    Flag("jax_no_tracing", False, "transforms.stage"),
    Flag("jax_no_execution", False, "runtime.eager"),
    Flag("jax_enable_checks", False, "core.check"),
    Flag("jax_check_tracer_leaks", False, "transforms.stage"),
    Flag("jax_log_compiles", False, "runtime.cache"),
    Flag("jax_explain_cache_misses", False, "runtime.cache"),
    Flag("jax_traceback_filtering", "auto", "util.frames", "choice", _FILTERS),
    Flag("jax_pprint_use_color", True, "core.pprint"),
    Flag("jax_experimental_unsafe_xla_runtime_errors", False, "prims.check", staged=True),
    Flag("jax_default_device", None, "runtime.device", "device", staged=True),
    Flag("jax_transfer_guard", None, "runtime.array", "choice", _GUARDS),
    Flag("jax_transfer_guard_host_to_device", None, "runtime.array", "choice", _GUARDS),
    Flag("jax_transfer_guard_device_to_device", None, "runtime.array", "choice", _GUARDS),
    Flag("jax_transfer_guard_device_to_host", None, "runtime.array", "choice", _GUARDS),
    Flag("jax_compilation_cache_dir", None, "compiler.engine", "str"),
    Flag("jax_enable_compilation_cache", True, "compiler.engine"),
    Flag("jax_captured_constants_warn_bytes", 2000000000, "runtime.stages", "int"),
    Flag("jax_embedded_constants_max_bytes", 32, "compiler.stablehlo", "int"),
    Flag("jax_num_cpu_devices", -1, "runtime.topology", "int"),
    # Our own. Their environment variables have no JAX prefix: TAPELESS_SHOW and so on.
    Flag("tapeless_num_threads", None, "util.processors", "int"),
    Flag("tapeless_cache_dir", None, "compiler.engine", "str"),
    Flag("tapeless_show", "", "every pass", "words", _STAGES),
    Flag("tapeless_backend", "native", "runtime.eager", "choice", ("native", "xla"), True),
    Flag("tapeless_out_of_bounds", "fill", "prims.indexing", "choice", _BOUNDS, True),
    Flag("tapeless_check_shifts", False, "runtime.checked", staged=True),
    Flag("tapeless_check_divisions", False, "runtime.checked", staged=True),
    Flag("tapeless_check_switches", False, "control.branches", staged=True),
    Flag("tapeless_check_segments", False, "ops.segment", staged=True),
    Flag("tapeless_stale_captures", "ignore", "api.jit", "choice", _CHANGES, True),
)

_REFUSED = (
    Flag("jax_platforms", None, "the only platform is cpu", "str", refused=_foreign_platform),
    Flag("jax_platform_name", "", "the only platform is cpu", "str", refused=_foreign_platform),
    Flag("jax_xla_backend", "", "the only platform is cpu", "str", refused=_foreign_platform),
)  # fmt: skip

# Names that JAX has and that change nothing here, by reason. The kind follows from the default.
_ACCEPTED: Mapping[str, Mapping[str, object]] = {
    "it tunes or debugs XLA, which is not used": {
        "jax_bcoo_cusparse_lowering": False,
        "jax_compiler_detailed_logging_min_ops": 10,
        "jax_compiler_enable_remat_pass": True,
        "jax_cpu_enable_async_dispatch": True,
        "jax_disable_most_optimizations": False,
        "jax_dump_ir_modes": "stablehlo",
        "jax_dump_ir_to": "",
        "jax_enable_pgle": False,
        "jax_hlo_source_file_canonicalization_regex": None,
        "jax_include_debug_info_in_dumps": True,
        "jax_include_full_tracebacks_in_locations": True,
        "jax_memory_fitting_level": "O2",
        "jax_optimization_level": "UNKNOWN",
        "jax_pgle_aggregation_percentile": 90,
        "jax_pgle_profiling_runs": 3,
        "jax_pjrt_client_create_options": None,
        "jax_ragged_dot_use_ragged_dot_instruction": True,
        "jax_send_traceback_to_runtime": "off",
        "jax_serialization_version": 0,
        "jax_traceback_in_locations_limit": 100,
        "jax_use_cpp_shard_args": False,
        "jax_use_hlo_logistic_lowering": None,
        "jax_use_shardy_partitioner": True,
        "jax_xla_profile_version": 0,
    },
    "it belongs to an accelerator or its kernel language": {
        "jax_allow_f16_reductions": True,
        "jax_backend_target": "",
        "jax_cuda_visible_devices": "all",
        "jax_mock_gpu_topology": "",
        "jax_mosaic_allow_hlo": False,
        "jax_mosaic_unzip_debug_locations": True,
        "jax_oneapi_visible_devices": "all",
        "jax_pallas_auto_assign_collective_ids": "no",
        "jax_pallas_auto_assign_collective_ids_limit": 25,
        "jax_pallas_enable_debug_checks": False,
        "jax_pallas_poison_buffers": False,
        "jax_pallas_verbose_errors": False,
        "jax_rocm_visible_devices": "all",
        "jax_threefry_gpu_kernel_lowering": False,
        "jax_use_emit_pipeline_primitive": False,
        "jax_use_magma": "auto",
        "mock_num_gpu_processes": 0,
    },
    "it belongs to programs on several devices or hosts": {
        "check_vma": False,
        "jax_auto_pcast": True,
        "jax_check_proxy_envs": True,
        "jax_cpu_collectives_implementation": "gloo",
        "jax_cpu_get_global_topology_timeout_minutes": 5,
        "jax_cpu_get_local_topology_timeout_minutes": 2,
        "jax_cross_host_transfer_socket_address": "",
        "jax_cross_host_transfer_timeout_seconds": None,
        "jax_cross_host_transfer_transfer_size": None,
        "jax_cross_host_transport_addresses": "",
        "jax_disable_vmap_shmap_error": False,
        "jax_disallow_mesh_context_manager": False,
        "jax_distributed_debug": False,
        "jax_distributed_verify_secure_credentials": False,
        "jax_enable_preemption_service": True,
        "jax_enable_recoverability": False,
        "jax_force_dcn_cross_host_transfers": False,
        "jax_mtls_ca_file": None,
        "jax_mtls_cert_file": None,
        "jax_mtls_key_file": None,
        "jax_mtls_peer_uri_prefix": None,
        "jax_raise_on_ppermute_sort_diff": True,
        "jax_remove_size_one_mesh_axis_from_type": False,
        "jax_share_binary_between_hosts": False,
        "jax_share_binary_between_hosts_timeout_ms": 1200000,
        "jax_sort_devices_by_process_index": True,
    },
    "it chooses between two implementations of which only one exists here": {
        "eager_constant_folding": False,
        "jax2tf_associative_scan_reductions": False,
        "jax2tf_default_native_serialization": True,
        "jax_accurate_erf_inv": False,
        "jax_custom_jvp3": False,
        "jax_custom_vjp3": False,
        "jax_remat3": False,
        "jax_remat_barrier_no_cotangents": False,
        "jax_scan3": False,
        "jax_use_direct_linearize": True,
        "jax_use_rgv3": True,
        "jax_use_simplified_jaxpr_constants": False,
    },
    "the disk cache here has one layout and its own bounds": {
        "jax_compilation_cache_check_contents": False,
        "jax_compilation_cache_expect_pgle": False,
        "jax_compilation_cache_include_metadata_in_key": False,
        "jax_compilation_cache_max_size": -1,
        "jax_persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
        "jax_persistent_cache_min_compile_time_secs": 1.0,
        "jax_persistent_cache_min_entry_size_bytes": 0,
        "jax_raise_persistent_cache_errors": False,
        "jax_remove_custom_partitioning_ptr_from_cache_key": False,
    },
    "exported programs have one calling convention here": {
        "jax_export_calling_convention_version": 10,
        "jax_export_deserialize_expired_versions": False,
        "jax_export_ignore_forward_compatibility": False,
    },
    "it adds detail to reports that are complete, or checks that are always on, here": {
        "jax_array_garbage_collection_guard": None,
        "jax_captured_constants_report_frames": 0,
        "jax_check_static_indices": False,
        "jax_debug_leaked_clients_on_clear_backends": False,
        "jax_debug_log_modules": "",
        "jax_disable_bwd_checks": False,
        "jax_error_checking_behavior_divide": "ignore",
        "jax_error_checking_behavior_nan": "ignore",
        "jax_error_checking_behavior_oob": "ignore",
        "jax_log_checkpoint_residuals": False,
        "jax_logging_level": "NOTSET",
        "jax_mutable_array_checks": True,
        "jax_source_url_schema": None,
        "jax_thread_guard": False,
        "jax_tracer_error_num_traceback_frames": 5,
    },
}


def _kind_of(default: object) -> str:
    """Return the kind of value that a default stands for."""
    kinds: dict[type, str] = {bool: "bool", int: "int", float: "float"}
    return kinds.get(type(default), "any" if default is None else "str")


def _accepted_flags() -> Iterator[Flag]:
    """Yield a flag for each name that changes nothing."""
    for reason, names in _ACCEPTED.items():
        for name, default in names.items():
            yield Flag(name, default, reason, _kind_of(default), effective=False)


flags: Mapping[str, Flag] = {
    flag.name: flag for flag in (*_EFFECTIVE, *_REFUSED, *_accepted_flags())
}

_STAGED = tuple(name for name, flag in flags.items() if flag.staged)

# Setting the general transfer guard sets the three particular ones too.
_GUARDED = tuple(name for name in flags if name.startswith("jax_transfer_guard_"))
_IMPLIED: Mapping[str, tuple[str, ...]] = {"jax_transfer_guard": _GUARDED}


# ---------------------------------------------------------------------------------------------
# Values.


class TraceContext:
    """The settings that staging may read, interned: equal settings are the same object."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[object, ...]) -> None:
        """Hold the values of the staged flags, in the order of the table."""
        self.values = values

    def as_dict(self) -> dict[str, object]:
        """Return the settings by name, to explain why two contexts differ."""
        return dict(zip(_STAGED, self.values, strict=True))

    def __repr__(self) -> str:
        """Show only what differs from the defaults."""
        named = self.as_dict().items()
        changed = [f"{name}={value!r}" for name, value in named if value != flags[name].default]
        return f"TraceContext({', '.join(changed)})"


class _Values(threading.local):
    """The flags' values: settings on the class, overrides of this thread on the instance.

    ``stamped`` remembers the thread's trace context and the epoch that it belongs to.
    """

    epoch: object = object()
    stamped: tuple[object, TraceContext | None] = (None, None)

    # Declared for type checkers; the values are put there by ``_load_settings``.
    jax_enable_x64: bool
    jax_explicit_x64_dtypes: str
    jax_numpy_dtype_promotion: str
    jax_numpy_rank_promotion: str


current = _Values()

_contexts: dict[tuple[object, ...], TraceContext] = {}


def trace_context() -> TraceContext:
    """Return the settings that staging may read, as one object hashed by identity."""
    stamp, context = current.stamped
    if context is not None and stamp is _Values.epoch:
        return context
    return _renew_context()


def _renew_context() -> TraceContext:
    """Read the staged flags again and remember the result for this thread."""
    epoch = _Values.epoch
    values = tuple(getattr(current, name) for name in _STAGED)
    context = _contexts.setdefault(values, TraceContext(values))
    current.stamped = (epoch, context)
    return context


def x64_mode() -> bool:
    """Whether 64-bit types are in use."""
    return current.jax_enable_x64


def update(name: str, value: object) -> None:
    """Set a flag for the whole process.

    >>> update("jax_enable_x64", False)
    """
    flag = flags.get(name)
    if flag is None:
        raise AttributeError(f"Unrecognized config option: {name}")
    value = flag.check(value)
    for target in (name, *_IMPLIED.get(name, ())):
        setattr(_Values, target, value)
    _Values.epoch = object()


def read(name: str) -> object:
    """Return a flag's value: this thread's override, or else the process-wide setting."""
    if name not in flags:
        raise AttributeError(f"Unrecognized config option: {name}")
    return getattr(current, name)


def _truth(name: str, text: str) -> bool:
    """Return the truth value that an environment variable spells."""
    word = text.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return True
    if word in ("n", "no", "f", "false", "off", "0"):
        return False
    raise ValueError(f"invalid truth value {text!r} for environment {name!r}")


def _parse(flag: Flag, text: str) -> object:
    """Return the value that a text (of the environment, or the command line) spells."""
    if flag.kind == "bool":
        return _truth(flag.name.upper(), text)
    convert = {"int": int, "float": float}.get(flag.kind, str)
    try:
        return flag.check(convert(text))
    except ValueError as error:
        raise ValueError(f'Invalid value "{text}" for JAX flag {flag.name}: {error}') from None


def _load_settings(environment: Mapping[str, str]) -> None:
    """Set each flag to its default, or to what its environment variable says."""
    for flag in flags.values():
        setattr(_Values, flag.name, flag.default)
    for flag in flags.values():
        text = environment.get(flag.name.upper())
        if text is not None and (text or flag.kind == "str"):
            update(flag.name, _parse(flag, text))


_load_settings(os.environ)


def parse_flags_with_absl() -> None:
    """Set flags from command line arguments of the form ``--jax_name=value``.

    JAX hands the work to absl; here only the known flags are read, and all else is left alone.
    """
    for argument in sys.argv[1:]:
        name, equals, text = argument.lstrip("-").partition("=")
        if argument.startswith("--") and name in flags:
            update(name, _parse(flags[name], text if equals else "true"))


# ---------------------------------------------------------------------------------------------
# Overrides of one thread.


class _Override:
    """A context manager, or decorator, that gives a flag another value in this thread."""

    __slots__ = ("_names", "_saved", "_value")

    def __init__(self, names: tuple[str, ...], value: object) -> None:
        """Keep a checked value for the flags to be overridden."""
        self._names = names
        self._value = value
        self._saved: list[dict[str, object]] = []

    def __enter__(self) -> None:
        """Put the value in place, remembering this thread's earlier overrides."""
        here = current.__dict__
        self._saved.append({name: here.get(name, _UNSET) for name in self._names})
        for name in self._names:
            here[name] = self._value
        here.pop("stamped", None)

    def __exit__(self, *exception: object) -> None:
        """Restore what was there."""
        here = current.__dict__
        for name, value in self._saved.pop().items():
            if value is _UNSET:
                here.pop(name, None)
            else:
                here[name] = value
        here.pop("stamped", None)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Run ``function`` under the override, with a manager of its own in each call."""

        @functools.wraps(function)
        def overridden(*args: P.args, **kwargs: P.kwargs) -> R:
            with _Override(self._names, self._value):
                return function(*args, **kwargs)

        return overridden


class Option:
    """A flag as users meet it at the top of the package: call it to get a context manager.

    >>> with enable_x64(True):
    ...     print(x64_mode())
    True
    """

    __slots__ = ("_argument", "_flag")

    def __init__(self, name: str, argument: object = _UNSET) -> None:
        """Wrap the flag ``name``; ``argument`` is the value when the user gives none."""
        self._flag = flags[name]
        self._argument = True if self._flag.kind == "bool" else argument

    @property
    def name(self) -> str:
        """The flag's name."""
        return self._flag.name

    @property
    def value(self) -> object:
        """The flag's value in this thread."""
        return getattr(current, self._flag.name)

    @property
    def __doc__(self) -> str:  # pyrefly: ignore[bad-override]  # an option has a text of its own
        """Name the flag and its reader."""
        role = "read by" if self._flag.effective else "without effect:"
        return f"Context manager for the flag `{self.name}` ({role} {self._flag.readers})."

    def __call__(self, new_val: object = _UNSET) -> _Override:
        """Return a context manager (or decorator) under which the flag is ``new_val``."""
        if new_val is _UNSET:
            new_val = self._argument
        if new_val is _UNSET:
            raise TypeError(
                f"Context manager for {self.name.removeprefix('jax_')} config option requires an "
                "argument representing the new value for the config option."
            )
        names = (self.name, *_IMPLIED.get(self.name, ()))
        return _Override(names, self._flag.check(new_val))

    def __bool__(self) -> bool:
        """Refuse: an option is not its value."""
        raise TypeError(
            "bool() not supported for instances of type 'Option' "
            "(did you mean to use 'Option.value' instead?)"
        )


def disable_jit(disable: bool = True) -> _Override:
    """Run functions under ``jit`` (and the bodies of loops) operation by operation.

    >>> with disable_jit():
    ...     print(current.jax_disable_jit)
    True
    """
    return _Override(("jax_disable_jit",), bool(disable))


allow_f16_reductions = Option("jax_allow_f16_reductions")
array_garbage_collection_guard = Option("jax_array_garbage_collection_guard")
check_tracer_leaks = Option("jax_check_tracer_leaks")
checking_leaks = functools.partial(check_tracer_leaks, True)
debug_infs = Option("jax_debug_infs")
debug_key_reuse = Option("jax_debug_key_reuse")
debug_nans = Option("jax_debug_nans")
default_device = Option("jax_default_device")
default_matmul_precision = Option("jax_default_matmul_precision")
default_prng_impl = Option("jax_default_prng_impl")
enable_checks = Option("jax_enable_checks")
enable_custom_prng = Option("jax_enable_custom_prng")
enable_x64 = Option("jax_enable_x64")
explain_cache_misses = Option("jax_explain_cache_misses")
legacy_prng_key = Option("jax_legacy_prng_key")
log_compiles = Option("jax_log_compiles")
no_execution = Option("jax_no_execution")
no_tracing = Option("jax_no_tracing")
numpy_dtype_promotion = Option("jax_numpy_dtype_promotion")
numpy_rank_promotion = Option("jax_numpy_rank_promotion")
out_of_bounds = Option("tapeless_out_of_bounds")
remove_size_one_mesh_axis_from_type = Option("jax_remove_size_one_mesh_axis_from_type")
softmax_custom_jvp = Option("jax_softmax_custom_jvp")
stale_captures = Option("tapeless_stale_captures")
thread_guard = Option("jax_thread_guard")
threefry_partitionable = Option("jax_threefry_partitionable")
transfer_guard = Option("jax_transfer_guard")
transfer_guard_device_to_device = Option("jax_transfer_guard_device_to_device")
transfer_guard_device_to_host = Option("jax_transfer_guard_device_to_host")
transfer_guard_host_to_device = Option("jax_transfer_guard_host_to_device")


# ---------------------------------------------------------------------------------------------
# The module as the object ``jax.config``.


def __getattr__(name: str) -> object:
    """Return a flag's value, or JAX's other attributes of the configuration object."""
    if name in flags:
        return getattr(current, name)
    if name == "x64_enabled":
        return current.jax_enable_x64
    if name == "values":
        return {flag: getattr(current, flag) for flag in flags}
    raise AttributeError(f"'Config' object has no attribute {name!r}")


class _ConfigModule(types.ModuleType):
    """The module's own type, which refuses assignment to flags."""

    def __setattr__(self, name: str, value: object) -> None:
        """Let nobody believe that assignment changes a flag."""
        if name in flags:
            raise AttributeError(f"flag {name!r} is set by config.update({name!r}, {value!r})")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _ConfigModule
