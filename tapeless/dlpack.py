"""`dlpack`: arrays from other libraries."""

from typing import Any

import numpy as np

from tapeless.dtypes import bfloat16
from tapeless.numpy.creation import from_dlpack

__all__ = ["from_dlpack", "is_supported_dtype"]


def is_supported_dtype(dtype: Any) -> bool:
    """Tell whether arrays of a dtype can be handed over to any library: numbers and bfloat16.

    >>> is_supported_dtype("bfloat16"), is_supported_dtype("int4")
    (True, False)
    """
    wanted = np.dtype(dtype)
    return wanted == bfloat16 or (wanted.isbuiltin == 1 and wanted.kind in "biufc")
