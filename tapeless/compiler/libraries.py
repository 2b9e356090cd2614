"""Foreign libraries are told to run on one thread.

Compiled programs are parallel outside of library calls: the worker pool runs iterations, and each
of them may call BLAS.  A BLAS with threads of its own would compete with the pool for the same
cores; on a machine that others use too, its threads wait for each other in loops that do nothing.

SciPy brings its own copy of OpenBLAS, which is not NumPy's.  Its number of threads is set to one
when a program first needs it, for the whole process: `scipy.linalg` is affected, NumPy is not.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

__all__ = ["calm_blas"]

_MAPS = Path("/proc/self/maps")
_SETTERS = (
    "scipy_openblas_set_num_threads",
    "scipy_openblas_set_num_threads64_",
    "openblas_set_num_threads",
)


@functools.cache
def calm_blas() -> int:
    """Set SciPy's OpenBLAS, if it is loaded, to one thread; return how many libraries were set."""
    if not _MAPS.exists():
        return 0
    words = (line.split()[-1] for line in _MAPS.read_text().splitlines())
    paths = {word for word in words if "openblas" in word and "scipy" in word}
    return sum(map(_set_one_thread, sorted(paths)))


def _set_one_thread(path: str) -> bool:
    """Tell one library; return whether it has the function."""
    library = ctypes.CDLL(path)
    for name in _SETTERS:
        if hasattr(library, name):
            getattr(library, name)(1)
            return True
    return False
