"""Programs of primitives, staged, lowered, compiled and run, for tests of the compiler's front.

`bind("add", x, y)` applies a primitive by its name; a program is a Python function that does so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.engine import compile_program
from tapeless.compiler.lower import lower_jaxpr
from tapeless.compiler.program import Program
from tapeless.control.scan import scan_p
from tapeless.core.aval import ShapedArray, typeof
from tapeless.core.jaxpr import Jaxpr
from tapeless.core.primitive import registry
from tapeless.kernel.ir import Block, If, Loop, Statement, Store, While
from tapeless.prims import (  # noqa: F401 - registers the primitives
    binary,
    compare,
    convert,
    create,
    cumulative,
    dot,
    dynamic_slice,
    exponential,
    join,
    reduce,
    select,
    slice,
    sort,
    special,
    structural,
    trig,
    unary,
)
from tapeless.transforms.stage import stage_flat

__all__ = [
    "F32",
    "aval",
    "bind",
    "broadcast",
    "exp",
    "lowered",
    "nests",
    "product",
    "run",
    "run_program",
    "scan",
    "staged",
    "statements",
    "total",
]

F32 = np.float32


def bind(name: str, *args: Any, **params: Any) -> Any:
    """Apply the primitive that is called `name`; return its first result."""
    return registry[name].bind(*args, **params)[0]


def broadcast(x: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    """Broadcast the axes of x to the axes `dims` of `shape`."""
    params = {"shape": shape, "broadcast_dimensions": dims, "sharding": None}
    return bind("broadcast_in_dim", x, **params)


def exp(x: Any) -> Any:
    """Return the exponential."""
    return bind("exp", x, accuracy=None)


def total(x: Any, axes: tuple[int, ...], name: str = "reduce_sum") -> Any:
    """Reduce some axes."""
    return bind(name, x, axes=axes, out_sharding=None)


def product(x: Any, y: Any) -> Any:
    """Multiply a matrix with a matrix or a vector."""
    return bind(
        "dot_general",
        x,
        y,
        dimension_numbers=(((1,), (0,)), ((), ())),
        precision=None,
        preferred_element_type=np.dtype(F32),
        out_sharding=None,
    )


def scan(
    body: Callable, consts: Sequence[Any], init: Sequence[Any], xs: Sequence[Any], length: int
) -> tuple:
    """Scan with `body(*consts, *carry, *slices)`."""
    slices = [typeof(x).update(shape=typeof(x).shape[1:]) for x in xs]
    jaxpr = stage_flat(body, [*map(typeof, (*consts, *init)), *slices])
    return scan_p.bind(
        *consts,
        *init,
        *xs,
        jaxpr=jaxpr,
        num_consts=len(consts),
        num_carry=len(init),
        length=length,
        reverse=False,
        unroll=1,
        _split_transpose=False,
    )


def aval(*shape: int, dtype: Any = F32) -> ShapedArray:
    """Return a type."""
    return ShapedArray(shape, dtype)


def staged(function: Callable, *args: Any) -> Jaxpr:
    """Stage a function that returns a sequence, for arguments that are arrays or types."""
    avals = [arg if isinstance(arg, ShapedArray) else typeof(arg) for arg in args]
    return stage_flat(function, avals)


def lowered(function: Callable, *args: Any, donated: Sequence[bool] = ()) -> Program:
    """Stage and lower a function."""
    return lower_jaxpr(staged(function, *args), donated=donated)


def run(function: Callable, *args: Any, donated: Sequence[bool] = ()) -> list[np.ndarray | None]:
    """Stage, lower, compile and run a function on arrays."""
    jaxpr = staged(function, *args)
    return run_program(lower_jaxpr(jaxpr, donated=donated), args, jaxpr.out_avals)


def run_program(
    program: Program, args: Sequence[Any], avals: Sequence[ShapedArray]
) -> list[np.ndarray | None]:
    """Compile a program and run it on copies of the arrays."""
    native = compile_program(program, 0)
    arrays = [np.array(arg, order="C") for arg in (*program.consts, *args)]
    arrays += [np.full(buffer.shape, 77, buffer.dtype) for buffer in program.outputs]
    native.run([array.ctypes.data for array in arrays])
    results: list[np.ndarray | None] = []
    for position, out in zip(program.results, avals, strict=True):
        if position < 0:
            results.append(None)
        else:
            results.append(arrays[position].reshape(-1).view(out.dtype).reshape(out.shape))
    return results


def statements(body: Block) -> list[Statement]:
    """Return all statements of a block, nested ones included."""
    found: list[Statement] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, Loop):
            found += statements(statement.body)
        elif isinstance(statement, While):
            found += statements((*statement.before, *statement.body))
        elif isinstance(statement, If):
            found += [inner for branch in statement.branches for inner in statements(branch)]
    return found


def nests(program: Program) -> list[tuple[tuple[int, ...], int]]:
    """Return, per outermost loop nest, the extents of its loops and the number of its stores."""
    found = []
    for statement in program.body:
        if not isinstance(statement, Loop):
            continue
        inner = statements((statement,))
        extents = tuple(s.extent for s in inner if isinstance(s, Loop))
        found.append((extents, sum(isinstance(s, Store) for s in inner)))
    return found


def noted_arguments(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[Any]:
    """Return the list that gets the second argument of each call of a module's function."""
    noted: list[Any] = []
    function = getattr(module, name)

    def noting(nodes: Any, argument: Any) -> Any:
        """Note it, and call the function."""
        noted.append(argument)
        return function(nodes, argument)

    monkeypatch.setattr(module, name, noting)
    return noted
