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
"""

from tapeless.core import pprint

__all__ = ["pprint"]
