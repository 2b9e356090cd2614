"""Records of the operations that contain programs, or functions of the user.

A function of arrays that applies the operation obeys the laws as all others do.  Its reference is
NumPy's own loop or formula, since these operations have no reference rule.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.core.source import UNKNOWN_SOURCE
from tapeless.custom_derivatives import linear_call
from tapeless.experimental import io_callback
from tapeless.prims.check import NamedFault, check
from tests.support.harness import laws
from tests.support.records import Record, between, normal

REAL = ("float32", "float64")
WIDE = (*REAL, "complex64", "complex128")
NO_REVERSE = dict.fromkeys(
    ("transpose", "second", "mapped"), "it has no reverse mode, in JAX either"
)
PYTHON = dict.fromkeys(
    ("jvp", "transpose", "second"), "a function of Python's has no derivative, in JAX either"
)
NO_TEXT = {"hlo": "a text cannot call a function of this process"}
NO_TANGENT_RULE = dict.fromkeys(("jvp", "transpose"), "it has a backward rule only")
LENGTHS = {"empty": "the lengths of the operands go together"}
FAULT = NamedFault(UNKNOWN_SOURCE, "{} is too small", ArithmeticError)

positive = between(0.5, 2.0, 3)


def scan(c: Any, xs: Any) -> Any:
    """Run a recurrence over rows."""
    return lax.scan(lambda c, x: (c * x + 1, c - x), c, xs)


def scan_reference(c: np.ndarray, xs: np.ndarray) -> tuple:
    """Run it in Python."""
    rows = []
    for x in xs:
        rows.append(c - x)
        c = c * x + c.dtype.type(1)
    return c, np.stack(rows) if rows else xs[:0]


def ticking(c: Any, xs: Any) -> Any:
    """Run the recurrence under a progress bar."""
    body = jax.progress(lambda c, x: (c * x + 1, c - x), total=4, file=io.StringIO())
    return lax.scan(body, c, xs)


def squared_thrice(x: Any) -> Any:
    """Square until a counter says so."""
    return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * s[1] - 0.5), (0, x))[1]


def squared_thrice_reference(x: np.ndarray) -> np.ndarray:
    """Square three times."""
    for _ in range(3):
        x = x * x - x.dtype.type(0.5)
    return x


def branch(x: Any, y: Any) -> Any:
    """Take the first of two branches, which reads one operand only."""
    return lax.cond(jnp.sum(jnp.real(x)) >= 0, lambda x, y: x * x * y, lambda x, y: -x, x, y)


def choice(x: Any) -> Any:
    """Take the second of three branches, by a number that is computed."""
    index = (jnp.sum(jnp.real(x)) >= 0).astype("int32")
    return lax.switch(index, [jnp.sin, lambda x: x * x * x, jnp.cos], x)


def with_own_jvp(x: Any, y: Any) -> Any:
    """Multiply, with a forward rule."""
    f = jax.custom_jvp(lambda x, y: x * y * y)
    f.defjvp(lambda p, t: (f(*p), p[1] * p[1] * t[0] + 2 * p[0] * p[1] * t[1]))
    return f(x, y)


def with_own_vjp(x: Any, y: Any) -> Any:
    """Multiply, with a backward rule."""
    f = jax.custom_vjp(lambda x, y: x * y * y)
    f.defvjp(
        lambda x, y: (x * y * y, (x, y)),
        lambda xy, ct: (ct * xy[1] * xy[1], 2 * ct * xy[0] * xy[1]),
    )
    return f(x, y)


def with_own_batch(x: Any) -> Any:
    """Square, with a rule for maps."""
    f = jax.custom_batching.custom_vmap(lambda x: x * x)
    f.def_vmap(lambda size, batched, x: (x * x, True))
    return f(x)


def solved(a: Any, b: Any) -> Any:
    """Divide, as a linear system."""
    return lax.custom_linear_solve(
        lambda x: a * x, b, lambda matvec, b: b / a, lambda vecmat, b: b / a
    )


def both(a: Any, b: Any) -> Any:
    """Combine so that 0 is neutral: (1 + a) (1 + b) - 1."""
    return a + b + a * b


def windows_reference(x: np.ndarray) -> np.ndarray:
    """Combine neighbours."""
    return both(x[:-1], x[1:])


def beside(effect: Callable) -> Callable:
    """Return a function that squares beside an effect."""

    def square(x: Any) -> Any:
        """Square."""
        effect(x)
        return x * x

    return square


def shape(x: Any) -> jax.ShapeDtypeStruct:
    """Return the type of a value."""
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def square(x: np.ndarray) -> np.ndarray:
    """Square in NumPy."""
    return x * x


def cube(x: np.ndarray) -> np.ndarray:
    """Cube in NumPy."""
    return x * x * x


def times_square(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Multiply in NumPy."""
    return x * y * y


def linear(x: Any, s: Any) -> Any:
    """Multiply by a residual."""
    return linear_call(lambda s, x: x * s, lambda s, ct: ct * s, s, x)


RECORDS = [
    Record("scan", scan, (normal(3), normal(4, 3)), WIDE, LENGTHS, reference=scan_reference),
    Record("progress", ticking, (normal(3), normal(4, 3)), REAL, LENGTHS | NO_TEXT,
           reference=scan_reference),
    Record("while", squared_thrice, (between(-1, 1, 3),), REAL, NO_REVERSE,
           reference=squared_thrice_reference),
    Record("cond", branch, (positive, positive), WIDE, reference=lambda x, y: x * x * y),
    Record("switch", choice, (positive,), WIDE, reference=cube),
    Record("checkpoint", jax.checkpoint(lambda x: x * x * x), (normal(3),), WIDE, reference=cube),
    Record("custom_jvp", with_own_jvp, (normal(3), normal(3)), WIDE, reference=times_square),
    Record("custom_vjp", with_own_vjp, (normal(3), normal(3)), WIDE, NO_TANGENT_RULE,
           reference=times_square),
    Record("custom_vmap", with_own_batch, (normal(3),), WIDE, NO_REVERSE, reference=square),
    Record("custom_linear_solve", solved, (positive, normal(3)), REAL,
           reference=lambda a, b: b / a),
    Record("linear_call", linear, (normal(3), normal(3)), WIDE, differentiable=(0,),
           reference=np.multiply),
    Record("composite", lax.composite(lambda x: x * x * x, "my.cube"), (normal(3),), WIDE,
           reference=cube),
    Record("reduce", lambda x: lax.reduce(x, np.zeros((), x.dtype), both, (0,)), (positive,), REAL,
           reference=lambda x: np.asarray(np.prod(1 + x, 0) - 1, x.dtype)),
    Record("reduce_window",
           lambda x: lax.reduce_window(x, np.zeros((), x.dtype), both, (2,), (1,), "VALID"),
           (positive,), REAL, {**NO_REVERSE, "empty": "the window is fixed"},
           reference=windows_reference),
    Record("pure_callback",
           lambda x: jax.pure_callback(square, shape(x), x, vmap_method="sequential"),
           (normal(3),), WIDE, PYTHON | NO_TEXT, reference=square),
    Record("io_callback", lambda x: io_callback(square, shape(x), x), (normal(3),), WIDE,
           PYTHON | NO_TEXT, reference=square),
    Record("debug_callback", beside(lambda x: jax.debug.callback(lambda x: None, x)), (normal(3),),
           WIDE, NO_TEXT, reference=square),
    Record("debug_print", beside(lambda x: jax.debug.print("{}", x)), (normal(3),), WIDE, NO_TEXT,
           reference=square),
    Record("check", beside(lambda x: check(jnp.all(jnp.real(x) > -9), FAULT, x[:1])), (normal(3),),
           REAL, {"hlo": "a text cannot end a program"}, reference=square),
]  # fmt: skip
globals().update(laws(RECORDS))
