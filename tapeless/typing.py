"""`typing`: what functions of arrays take.  Names only."""

import numpy as np

from tapeless.core.trace import Tracer
from tapeless.dtypes import DTypeLike
from tapeless.runtime.array import Array
from tapeless.util.names import listed_names, missing_attribute

__all__ = ["ArrayLike", "DTypeLike"]

ArrayLike = Array | Tracer | np.ndarray | np.bool_ | np.number | bool | int | float | complex

__dir__ = listed_names("jax.typing", globals())
__getattr__ = missing_attribute("jax.typing")
