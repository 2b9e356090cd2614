"""`experimental.shard_map`: the older signature of `shard_map`."""

from collections.abc import Callable
from typing import Any

from tapeless.api import sharding

__all__ = ["shard_map"]


def shard_map(
    f: Callable, mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True
) -> Callable:
    """Return `f` mapped over the parts of its arguments: see `jax.shard_map`."""
    return sharding.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
