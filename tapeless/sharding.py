"""`sharding`: meshes, specs and shardings, on one device.  Names only."""

from tapeless.api.sharding import reshard
from tapeless.runtime.sharding import *
from tapeless.util.names import listed_names, missing_attribute

__dir__ = listed_names("jax.sharding", globals())
__getattr__ = missing_attribute("jax.sharding")
