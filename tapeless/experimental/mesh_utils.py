"""`experimental.mesh_utils`: devices in a grid."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapeless.runtime.device import devices as all_devices
from tapeless.util.names import close_module

__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Return the devices in an array of this shape.

    >>> create_device_mesh((1, 1)).shape
    (1, 1)
    """
    found = list(all_devices() if devices is None else devices)
    if np.prod(mesh_shape) != len(found):
        raise ValueError(
            f"Number of devices {len(found)} must equal the product of mesh_shape {mesh_shape}"
        )
    return np.array(found, dtype=object).reshape(mesh_shape)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Return the devices in an array whose shape is the product of both shapes, axis by axis."""
    sizes = [a * b for a, b in zip(mesh_shape, dcn_mesh_shape, strict=True)]
    return create_device_mesh(sizes, devices)


close_module("jax.experimental.mesh_utils", globals())
