"""`typing`: what functions of arrays take.  Names only."""

import numpy as np

from tapeless.core.any_array import AnyArray
from tapeless.dtypes import DTypeLike
from tapeless.util.names import close_module

__all__ = ["ArrayLike", "DTypeLike"]

ArrayLike = AnyArray | np.ndarray | np.bool_ | np.number | bool | int | float | complex

close_module("jax.typing", globals())
