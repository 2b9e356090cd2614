"""`experimental.multihost_utils`: what processes say to each other; there is one.  Names only."""

from tapeless.runtime.processes import (
    assert_equal,
    broadcast_one_to_all,
    global_array_to_host_local_array,
    host_local_array_to_global_array,
    live_devices,
    process_allgather,
    reached_preemption_sync_point,
    sync_global_devices,
)
from tapeless.util.names import close_module

close_module("jax.experimental.multihost_utils", globals())
