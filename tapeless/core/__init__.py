"""The language in which every program of tapeless is written.

Read the files in this order; each needs only those before it.

aval        the type of an array: shape, dtype, weak type
effects     what an operation may do besides returning values
linear      placeholders: `Zero` (no tangent), `Linear` (wanted cotangent)
source      the user's line and scope names behind an operation
trace       the current trace; tracers; named axes
primitive   an operation and its rules
jaxpr       programs as data, and their builder
interpret   running a program under the current trace
check       the type checker that runs after every pass in tests
pprint      program text in JAX's format

The few names below are those of ``jax.core``.
"""

from typing import Any

from tapeless.core import pprint
from tapeless.core.aval import AbstractValue, ShapedArray
from tapeless.core.interpret import eval_jaxpr
from tapeless.core.jaxpr import Atom
from tapeless.core.trace import Trace, Tracer, Value, ensure_compile_time_eval, eval_context
from tapeless.util.names import close_module

__all__ = [
    "AbstractValue",
    "Atom",
    "ParamDict",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Value",
    "ensure_compile_time_eval",
    "eval_context",
    "eval_jaxpr",
    "max_dim",
    "min_dim",
    "pprint",
]

ParamDict = dict[str, Any]
max_dim = max
min_dim = min

close_module("jax.core", globals())
