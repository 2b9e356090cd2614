"""Wrong shapes in every function: the error names the function, and the shapes of its arguments.

Each public function is called with arrays that cannot fit, or cannot be what it wants.  Of what it
raises, the message and the note below it are looked at, as the caller who catches it sees them.
"""

from __future__ import annotations

import inspect
import operator
import re

import numpy as np
import pytest

import tapeless
import tapeless.numpy

MODULES = ("numpy", "numpy.linalg", "numpy.fft")
# They are given files, or functions, or change the state of the process; the second argument of
# nan_to_num is a flag.
LEFT_OUT = frozenset("save savez load fromfile printoptions set_printoptions nan_to_num".split())
A, B, C = np.ones((2, 3), "f"), np.ones((4, 5), "f"), np.ones((7,), "f")
CALLS = {
    "two": (A, B),
    "vector": (A, C),
    "three": (A, B, C),
    "integers": (A, np.ones((4, 5), int)),
    "axis": (A, 7),
    "one": (A,),
    "cube": (np.ones((2, 3, 4), "f"),),
}


def functions() -> list[str]:
    """Return the names of the public functions."""
    found = []
    for module in MODULES:
        namespace = operator.attrgetter(module)(tapeless)
        for name in sorted(dir(namespace)):
            value = getattr(namespace, name)
            ours = getattr(value, "__module__", "").startswith(("jax", "tapeless"))
            if ours and callable(value) and not inspect.isclass(value) and name[0] != "_":
                found.append(f"{module}.{name}")
    return [name for name in found if name.rpartition(".")[2] not in LEFT_OUT]


def told(error: Exception) -> str:
    """Return the message and the notes, without spaces."""
    return "\n".join((str(error), *getattr(error, "__notes__", ()))).replace(" ", "")


@pytest.mark.parametrize("function", functions())
def test_wrong_shapes_name_the_function_and_the_shapes(function: str) -> None:
    run = operator.attrgetter(function)(tapeless)
    name = getattr(run, "__name__", function.rpartition(".")[2])
    for args in CALLS.values():
        try:
            run(*args)
        except (ValueError, TypeError, IndexError) as error:
            text = told(error)
            if re.search(
                r"positionalargument|required|unexpectedkeyword|functionsareexpected", text
            ):
                continue  # no complaint about shapes
            assert name in text, text
            for x in args:
                shape = ",".join(map(str, np.shape(x)))
                assert not shape or f"[{shape}]" in text or f"({shape}" in text, (args, text)
        except Exception:  # noqa: BLE001 - other classes are no complaints about shapes
            continue
