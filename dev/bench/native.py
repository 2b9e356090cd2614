"""Loops in C, beside which workloads are measured where the system has a C compiler.

A workload with `native=True` has a function of its name in `workloads/loops.c`. It gets the leaves
of the workload's arguments and writes those of its result; how many and how large they are is known
from the result of the workload itself.
"""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["compiler", "loop"]

SOURCE = Path(__file__).parent / "workloads" / "loops.c"
# Each operation rounds, as in the programs that are compared.
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")


def compiler() -> str | None:
    """Return the path of the system's C compiler, or None if there is none."""
    return shutil.which("cc")


def library() -> ctypes.CDLL:
    """Compile the loops and load them."""
    with tempfile.TemporaryDirectory(prefix="bench-c-") as folder:
        out = Path(folder) / "loops.so"
        subprocess.run([compiler(), *FLAGS, SOURCE, "-o", out, "-lm"], check=True)
        return ctypes.CDLL(str(out))


def pointers(arrays: list[np.ndarray]) -> ctypes.Array:
    """Return the addresses of some arrays."""
    return (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])


def loop(jax: Any, name: str, function: Callable, args: tuple) -> Callable:
    """Return the C loop of a workload as a function of the same arguments, which must not change.

    It returns the leaves of the result as NumPy arrays.
    """
    inputs = [np.array(jax.numpy.asarray(leaf)) for leaf in jax.tree.leaves(args)]
    outputs = [np.empty_like(leaf) for leaf in jax.tree.leaves(function(*args))]
    call = getattr(library(), name)
    call.restype = None
    addresses = (pointers(inputs), pointers(outputs))

    def run(*args: Any) -> list[np.ndarray]:
        """Run the loop."""
        call(*addresses)
        return outputs

    # The addresses hold only as long as the arrays do.
    run.arrays = (inputs, outputs)
    return run
