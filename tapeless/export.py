"""`export`: functions in files.  Names only."""

from tapeless.stablehlo.blobs import FORMAT_VERSION as maximum_supported_calling_convention_version
from tapeless.stablehlo.blobs import FORMAT_VERSION as minimum_supported_calling_convention_version
from tapeless.stablehlo.exporting import (
    DisabledSafetyCheck,
    Exported,
    SymbolicScope,
    default_export_platform,
    deserialize,
    export,
    is_symbolic_dim,
    symbolic_args_specs,
    symbolic_dim_bounds,
    symbolic_shape,
)
from tapeless.stablehlo.trees import (
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)
from tapeless.util.names import close_module

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_dim_bounds",
    "symbolic_shape",
]

close_module("jax.export", globals())
