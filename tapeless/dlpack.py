"""`dlpack`: arrays from other libraries."""

from typing import Any

import numpy as np

from tapeless.dtypes import bfloat16
from tapeless.numpy.creation import from_dlpack

__all__ = ["from_dlpack", "is_supported_dtype"]


def is_supported_dtype(dtype: Any) -> bool:
    """Tell whether arrays of a dtype can be handed over: plain numbers and bfloat16."""
    return np.dtype(dtype).kind in "biufc" or np.dtype(dtype) == bfloat16
