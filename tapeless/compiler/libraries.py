"""Foreign libraries: where their routines are, and that they run on one thread.

SciPy's modules that export BLAS and LAPACK are loaded from their files: importing them by name
would import all of `scipy.linalg` first, which takes longer than most programs.

Compiled programs are parallel outside of library calls: the worker pool runs iterations, and each
of them may call BLAS.  A BLAS with threads of its own would compete with the pool for the same
cores; on a machine that others use too, its threads wait for each other in loops that do nothing.

SciPy brings its own copy of OpenBLAS, which is not NumPy's.  Its number of threads is set to one
when a program first needs it, for the whole process: `scipy.linalg` is affected, NumPy is not.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path

__all__ = ["calm_blas", "exported_routines"]

_MAPS = Path("/proc/self/maps")
_SETTERS = (
    "scipy_openblas_set_num_threads",
    "scipy_openblas_set_num_threads64_",
    "openblas_set_num_threads",
)


@functools.cache
def exported_routines(family: str) -> types.ModuleType:
    """Return SciPy's module with the routines of "blas" or "lapack"."""
    name = f"cython_{family}"
    known = sys.modules.get(f"scipy.linalg.{name}")
    if known is not None:
        return known
    package = importlib.util.find_spec("scipy")
    places = package.submodule_search_locations if package is not None else None
    if not places:
        raise ModuleNotFoundError("this program needs BLAS or LAPACK, which SciPy provides")
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = Path(places[0], "linalg", name + suffix)
        spec = importlib.util.spec_from_file_location(f"scipy.linalg.{name}", path)
        if path.exists() and spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ModuleNotFoundError(f"SciPy in {places[0]} has no module linalg.{name}")


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
