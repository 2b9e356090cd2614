"""What runs here: versions for reports of faults, and the arrays that are alive."""

from __future__ import annotations

import gc
import os
import platform
import sys

import numpy as np

from tapeless.runtime.array import Array
from tapeless.util.versions import __tapeless_version__, __version__

__all__ = ["live_arrays", "print_environment_info"]


def print_environment_info(return_string: bool = False) -> str | None:
    """Print versions and the machine, or return that text.

    >>> print_environment_info(return_string=True).splitlines()[0]
    'jax:    0.12.0.1, by tapeless 0.1.0'
    """
    text = "\n".join([
        f"jax:    {__version__}, by tapeless {__tapeless_version__}",
        f"numpy:  {np.__version__}",
        f"python: {sys.version}",
        f"device info: cpu-1, 1 local devices, {os.cpu_count()} cores",
        "process_count: 1",
        f"platform: {platform.uname()}",
    ])  # fmt: skip
    if return_string:
        return text
    print(text)
    return None


def live_arrays(platform: str | None = None) -> list[Array]:
    """Return the arrays that are alive and not deleted.

    >>> x = jnp.arange(3)
    >>> any(array is x for array in jax.live_arrays())
    True
    """
    found = [x for x in gc.get_objects() if type(x) is Array]
    return [array for array in found if not array.is_deleted()]
