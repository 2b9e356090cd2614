"""Foreign libraries: where their routines are, and that they run on one thread.

A wheel of SciPy brings an OpenBLAS of its own, whose routines are `scipy_dgemm_` and the like: a
file that is opened in two milliseconds, where the package `scipy` takes fifty to import.  Where
there is no such file, SciPy's modules that export BLAS and LAPACK are loaded from their files:
importing them by name would import all of `scipy.linalg`, which takes longer than most programs.

Compiled programs are parallel outside of library calls: the worker pool runs iterations, and each
of them may call BLAS.  A BLAS with threads of its own would compete with the pool for the same
cores; on a machine that others use too, its threads wait for each other in loops that do nothing.

SciPy's OpenBLAS is not NumPy's.  Its number of threads is set to one
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

__all__ = ["calm_blas", "routine_address"]

_MAPS = Path("/proc/self/maps")
_SETTERS = (
    "scipy_openblas_set_num_threads",
    "scipy_openblas_set_num_threads64_",
    "openblas_set_num_threads",
)


def routine_address(family: str, name: str) -> int:
    """Return where a routine of "blas" or "lapack" is.

    It takes pointers, as in Fortran, and has no result; integers have 32 bits.
    """
    routine = getattr(_shipped(), f"scipy_{name}_", None)
    if routine is not None:
        return ctypes.cast(routine, ctypes.c_void_p).value or 0
    return _exported(_module(family), name)


def _places() -> list[str]:
    """Return the directories of the package `scipy`, which is not imported."""
    package = importlib.util.find_spec("scipy")
    return list(package.submodule_search_locations or ()) if package is not None else []


@functools.cache
def _shipped() -> ctypes.CDLL | None:
    """Return the OpenBLAS that SciPy brings, or None if it uses another library."""
    for place in _places():
        for path in Path(place).parent.glob("scipy.libs/libscipy_openblas-*.so"):
            return ctypes.CDLL(str(path))
    return None


def _exported(module: types.ModuleType, name: str) -> int:
    """Return the function pointer that a Cython module exports."""
    capsule = module.__pyx_capi__.get(name)
    if capsule is None:
        raise LookupError(f"SciPy exports no routine called {name}; this is a bug in tapeless")
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.argtypes, get_name.restype = [ctypes.py_object], ctypes.c_char_p
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    get_pointer.restype = ctypes.c_void_p
    return get_pointer(capsule, get_name(capsule))


@functools.cache
def _module(family: str) -> types.ModuleType:
    """Return SciPy's module with the routines of "blas" or "lapack"."""
    name = f"cython_{family}"
    known = sys.modules.get(f"scipy.linalg.{name}")
    if known is not None:
        return known
    places = _places()
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
