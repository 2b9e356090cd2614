"""Situations in which a compiled function may or may not be traced again.

Each is a function of the module object `jax` that makes some calls and returns how often the Python
function ran.  `SITUATIONS` has them by name, with the number that JAX 0.12.0 gives, and the number
of programs that it compiles, those of eager operations included, with empty caches; fewer is
allowed.  A call that is not traced, or not compiled, is a hit of the one cache or the other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["SITUATIONS", "compilations"]


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable | None = None) -> None:
        """function: what it does; by default `2 x + 1`."""
        self.count = 0
        self._function = function or (lambda x: x * 2 + 1)
        self.__name__ = "counted"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Count and call."""
        self.count += 1
        return self._function(*args, **kwargs)


def same_type(jax: ModuleType) -> int:
    """Three calls with arrays of one type."""
    f = Counted()
    g = jax.jit(f)
    for value in (1.0, 2.0, 3.0):
        g(jax.numpy.full(3, value))
    return f.count


def shapes(jax: ModuleType) -> int:
    """Three shapes, each twice."""
    f = Counted()
    g = jax.jit(f)
    for n in (1, 2, 3, 1, 2, 3):
        g(jax.numpy.ones(n))
    return f.count


def dtypes(jax: ModuleType) -> int:
    """Floats and integers of one shape, each twice."""
    f = Counted()
    g = jax.jit(f)
    for dtype in ("float32", "int32", "float32", "int32"):
        g(jax.numpy.ones(3, dtype))
    return f.count


def weak_types(jax: ModuleType) -> int:
    """A Python float and a float32 array of rank 0."""
    f = Counted()
    g = jax.jit(f)
    for value in (1.0, jax.numpy.float32(1.0), 2.0, jax.numpy.float32(2.0)):
        g(value)
    return f.count


def numpy_or_array(jax: ModuleType) -> int:
    """A NumPy array and an Array of one type."""
    f = Counted()
    g = jax.jit(f)
    for value in (np.ones(3, "float32"), jax.numpy.ones(3), np.zeros(3, "float32")):
        g(value)
    return f.count


def python_kinds(jax: ModuleType) -> int:
    """An int, a float, a bool, and others of these kinds."""
    f = Counted()
    g = jax.jit(f)
    for value in (1, 1.0, True, 2, 2.0, False):
        g(value)
    return f.count


def jit_twice(jax: ModuleType) -> int:
    """Two jits of one function."""
    f = Counted()
    for _ in range(2):
        jax.jit(f)(jax.numpy.ones(3))
    return f.count


def new_lambdas(jax: ModuleType) -> int:
    """A new lambda for each call."""
    f = Counted()
    for _ in range(3):
        jax.jit(lambda x: f(x))(jax.numpy.ones(3))
    return f.count


def new_partials(jax: ModuleType) -> int:
    """A new partial of one function for each call."""
    f = Counted(lambda scale, x: scale * x)
    for _ in range(3):
        jax.jit(functools.partial(f, 2.0))(jax.numpy.ones(3))
    return f.count


def static_changes(jax: ModuleType) -> int:
    """A static argument with two values, each twice."""
    f = Counted(lambda x, n: x * n)
    g = jax.jit(f, static_argnums=1)
    for n in (1, 2, 1, 2):
        g(jax.numpy.ones(3), n)
    return f.count


def static_by_name(jax: ModuleType) -> int:
    """The same static value by position and by name."""
    f = Counted(lambda x, n=1: x * n)
    g = jax.jit(lambda x, n=1: f(x, n), static_argnames="n")
    for call in (lambda: g(jax.numpy.ones(3), n=2), lambda: g(jax.numpy.ones(3), 2)):
        call()
        call()
    return f.count


def keyword_order(jax: ModuleType) -> int:
    """Keyword arguments in two orders."""
    f = Counted(lambda **named: named["a"] + named["b"])
    g = jax.jit(f)
    x = jax.numpy.ones(3)
    g(a=x, b=x)
    g(b=x, a=x)
    return f.count


def dict_order(jax: ModuleType) -> int:
    """A dict with its keys in two orders."""
    f = Counted(lambda tree: tree["a"] + tree["b"])
    g = jax.jit(f)
    x = jax.numpy.ones(3)
    g({"a": x, "b": x})
    g({"b": x, "a": x})
    return f.count


def trees(jax: ModuleType) -> int:
    """A tuple and a list of the same arrays."""
    f = Counted(lambda pair: pair[0] + pair[1])
    g = jax.jit(f)
    x = jax.numpy.ones(3)
    for pair in ((x, x), [x, x], (x, x), [x, x]):
        g(pair)
    return f.count


def defaults(jax: ModuleType) -> int:
    """A default that is left out, and given."""
    f = Counted(lambda x, y=1.0: x + y)
    g = jax.jit(f)
    x = jax.numpy.ones(3)
    g(x)
    g(x, 1.0)
    g(x)
    return f.count


def wide_types(jax: ModuleType) -> int:
    """64-bit mode on, off, on again."""
    f = Counted()
    g = jax.jit(f)
    for flag in (True, False, True, False):
        with jax.enable_x64(flag):
            g(1.0)
    return f.count


def donated(jax: ModuleType) -> int:
    """A donated argument, twice."""
    f = Counted(lambda x: x + 1)
    g = jax.jit(f, donate_argnums=0)
    g(g(jax.numpy.ones(3)))
    return f.count


def nested(jax: ModuleType) -> int:
    """A compiled function used twice in another, which is called twice."""
    f = Counted()
    inner = jax.jit(f)
    outer = jax.jit(lambda x: inner(x) + inner(2 * x))
    for _ in range(2):
        outer(jax.numpy.ones(3))
    return f.count


def mapped(jax: ModuleType) -> int:
    """vmap of a compiled function, twice."""
    f = Counted()
    g = jax.jit(f)
    for _ in range(2):
        jax.vmap(g)(jax.numpy.ones((2, 3)))
    return f.count


def differentiated(jax: ModuleType) -> int:
    """grad of a compiled function, twice, and a call of it."""
    f = Counted(lambda x: (x * x).sum())
    g = jax.jit(f)
    for _ in range(2):
        jax.grad(g)(jax.numpy.ones(3))
    g(jax.numpy.ones(3))
    return f.count


def compiled_gradient(jax: ModuleType) -> int:
    """A compiled gradient, twice."""
    f = Counted(lambda x: (x * x).sum())
    g = jax.jit(jax.grad(f))
    for _ in range(2):
        g(jax.numpy.ones(3))
    return f.count


def scanned(jax: ModuleType) -> int:
    """A loop over a compiled function, twice."""
    f = Counted()
    g = jax.jit(f)
    for _ in range(2):
        jax.lax.scan(lambda c, _: (g(c), None), jax.numpy.ones(3), None, length=3)
    return f.count


def cleared(jax: ModuleType) -> int:
    """A call before and after the function's cache was cleared."""
    f = Counted()
    g = jax.jit(f)
    g(1.0)
    g.clear_cache()
    g(1.0)
    return f.count


def lowered(jax: ModuleType) -> int:
    """Lowered ahead of time, then called."""
    f = Counted()
    g = jax.jit(f)
    g.lower(jax.numpy.ones(3)).compile()
    g(jax.numpy.ones(3))
    return f.count


def compilations(jax: ModuleType, situation: Callable[[ModuleType], int]) -> int:
    """Return how many programs are compiled in a situation, from empty caches on."""
    found: list[str] = []

    def listen(event: str, duration: float, **details: Any) -> None:
        """Count what is compiled."""
        if event == "/jax/core/compile/backend_compile_duration":
            found.append(event)

    jax.clear_caches()
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        situation(jax)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    return len(found)


# How often JAX traces in each, and how many programs it compiles.
SITUATIONS = {
    "same_type": (same_type, 1, 3),
    "shapes": (shapes, 3, 7),
    "dtypes": (dtypes, 2, 6),
    "weak_types": (weak_types, 2, 3),
    "numpy_or_array": (numpy_or_array, 1, 3),
    "python_kinds": (python_kinds, 3, 3),
    "jit_twice": (jit_twice, 1, 3),
    "new_lambdas": (new_lambdas, 3, 5),
    "new_partials": (new_partials, 3, 5),
    "static_changes": (static_changes, 2, 4),
    "static_by_name": (static_by_name, 2, 4),
    "keyword_order": (keyword_order, 1, 3),
    "dict_order": (dict_order, 1, 3),
    "trees": (trees, 2, 4),
    "defaults": (defaults, 2, 4),
    "wide_types": (wide_types, 2, 2),
    "donated": (donated, 1, 3),
    "nested": (nested, 1, 3),
    "mapped": (mapped, 1, 3),
    "differentiated": (differentiated, 1, 5),
    "compiled_gradient": (compiled_gradient, 1, 3),
    "scanned": (scanned, 1, 4),
    "cleared": (cleared, 2, 2),
    "lowered": (lowered, 1, 3),
}
