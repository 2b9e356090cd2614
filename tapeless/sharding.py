"""`sharding`: meshes, specs and shardings, on one device.  Names only."""

from tapeless.api.sharding import reshard
from tapeless.runtime.meshes import *
from tapeless.runtime.sharding import *
from tapeless.util.names import close_module

close_module("jax.sharding", globals())
