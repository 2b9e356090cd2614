"""One process: what programs for many say to the others (``jax.distributed``, multihost utilities).

Each function does what JAX's does where the number of processes is 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapeless.runtime.array import as_array
from tapeless.tree.flatten import tree_leaves
from tapeless.tree.maps import tree_map

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "initialize",
    "is_initialized",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "shutdown",
    "sync_global_devices",
]


class _State:
    """Whether `initialize` was called."""

    initialized = False


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: Any = None,
    **options: Any,
) -> None:
    """Accept a group of one process; refuse a larger one.

    >>> jax.distributed.initialize(num_processes=2)
    Traceback (most recent call last):
        ...
    RuntimeError: jax.distributed.initialize was asked for 2 processes; there is one
    """
    if num_processes not in (None, 1):
        raise RuntimeError(
            f"jax.distributed.initialize was asked for {num_processes} processes; there is one"
        )
    if _State.initialized:
        raise RuntimeError("distributed.initialize should only be called once.")
    _State.initialized = True


def is_initialized() -> bool:
    """Tell whether `initialize` was called.

    >>> jax.distributed.is_initialized()
    False
    """
    return _State.initialized


def shutdown() -> None:
    """Leave the group.

    >>> jax.distributed.initialize()
    >>> jax.distributed.shutdown()
    >>> jax.distributed.is_initialized()
    False
    """
    _State.initialized = False


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Return the leaves of all processes: stacked, or with `tiled` joined along their first axis.

    >>> process_allgather(np.arange(2)), process_allgather(np.arange(2), tiled=True)
    (array([[0, 1]]), array([0, 1]))
    """

    def gathered(x: Any) -> np.ndarray:
        """Return one leaf as a NumPy array."""
        value = np.asarray(x)
        return value if tiled else value[None]

    return tree_map(gathered, in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Return the tree of the first process, as NumPy arrays."""
    return tree_map(np.asarray, in_tree)


def sync_global_devices(name: str) -> None:
    """Wait for the other processes: there are none."""


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same tree: they do."""
    for leaf in tree_leaves(in_tree):
        as_array(leaf)


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return the arrays that the parts of all processes make: as they are."""
    return tree_map(as_array, local_inputs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return the parts of this process: as they are."""
    return tree_map(as_array, global_inputs)


def reached_preemption_sync_point(step_id: int) -> bool:
    """Tell whether the processes must save now: nobody ends them."""
    return False


def live_devices(devices: Any) -> Any:
    """Return which devices still work: all."""
    return list(devices)
