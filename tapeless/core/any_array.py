"""`AnyArray`, which users call `jax.Array`: the base class of arrays and of their tracers.

Its methods and operators are those of the array library, which stands floors above and fills them
in from one table (`core.trace.array_methods`).  So that type checkers and editors know them, the
stub beside this file, `any_array.pyi`, declares what the table holds.  A test compares the two.
"""

__all__ = ["AnyArray"]


class AnyArray:
    """What users call `jax.Array`: the base class of arrays and of the tracers that stand for them.

    Its instances have the methods and operators of arrays.
    """

    __slots__ = ()


AnyArray.__name__ = AnyArray.__qualname__ = "Array"
AnyArray.__module__ = "jax"
