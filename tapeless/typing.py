"""`typing`: what functions of arrays take.  Names only."""

import numpy as np

from tapeless.core.any_array import AnyArray
from tapeless.dtypes import DTypeLike
from tapeless.util.names import listed_names, missing_attribute

__all__ = ["ArrayLike", "DTypeLike"]

ArrayLike = AnyArray | np.ndarray | np.bool_ | np.number | bool | int | float | complex

__dir__ = listed_names("jax.typing", globals())
__getattr__ = missing_attribute("jax.typing")
