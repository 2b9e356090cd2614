"""What the Python array API asks of a namespace: its version, and what it can do.

Libraries that are written for any array package find this one by `x.__array_namespace__()`, and
what it can do by `jax.numpy.__array_namespace_info__()`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from tapeless import dtypes
from tapeless.runtime.device import devices
from tapeless.util import lazy

__all__ = ["ArrayNamespaceInfo", "__array_api_version__", "array_namespace", "present_as"]

__array_api_version__ = "2025.12"

_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]

_presented = {"name": __name__.rpartition(".")[0]}


def present_as(name: str) -> None:
    """Let arrays name the module `name` as their namespace: libraries tell packages by the name."""
    _presented["name"] = name


def array_namespace(self: Any, /, *, api_version: str | None = None) -> ModuleType:
    """Return the module `jax.numpy`; raise ValueError for another version of the array API.

    >>> import tapeless.numpy as jnp
    >>> jnp.arange(3).__array_namespace__() is jnp
    True
    """
    if api_version not in (None, __array_api_version__):
        raise ValueError(
            f"{api_version=} is not available; available versions are: {[__array_api_version__]}"
        )
    return lazy.now(_presented["name"])


class ArrayNamespaceInfo:
    """What this namespace can do, in the words of the array API.

    >>> import tapeless.numpy as jnp
    >>> jnp.__array_namespace_info__().dtypes(kind="complex floating")
    {'complex64': dtype('complex64')}
    """

    def capabilities(self) -> dict[str, Any]:
        """Return which optional features there are."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """Return None: arrays are where they were made."""

    def devices(self) -> tuple[Any, ...]:
        """Return the devices, and None for no choice."""
        return (None, *devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """Return the dtypes of Python numbers and of indices."""
        return {
            "real floating": dtypes.default_float_dtype(),
            "complex floating": dtypes.default_complex_dtype(),
            "integral": dtypes.default_int_dtype(),
            "indexing": dtypes.default_int_dtype(),
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype]:
        """Return the dtypes by name: all of them, or those of a kind, or of several."""
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        names = dict.fromkeys(name for each in kinds for name in _KINDS[each])
        found = {name: np.dtype(name) for name in names}
        return {
            name: dtype
            for name, dtype in found.items()
            if dtypes.canonicalize_dtype(dtype) == dtype
        }
