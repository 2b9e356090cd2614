"""The loop language: what a primitive's `lower` rule produces and the emitter consumes.

A program is a block of *statements* over *buffers*; the right-hand sides are *scalars*, pure
expressions evaluated at one point of the enclosing loops.  Everything is data: fusion has already
happened when a statement is made, because a consumer pulls the scalars of its producers into its
own expression.

Scalars form a DAG and are compared by identity; the builder interns them, so that an expression
that is pulled twice at the same indices is one node and is computed once.  A scalar is placed by
the emitter in the outermost loop that binds all the loop variables it depends on: invariants are
hoisted by construction, and a row-wise chain such as softmax (a maximum, a sum that needs it, a
quotient that needs both) comes out as one loop over rows without a pass that looks for it.

Buffers are contiguous, row-major and of static shape.  A rank-0 buffer, and a small one that is
only indexed by constants, lives in registers.  Indices are 64-bit and affine where possible
(`Affine`), which is what lets the emitter see strides and use vector loads.

Complex numbers do not exist here: the builder carries them as pairs of real scalars, and a complex
buffer of shape S is a real buffer of shape S + (2,).  Booleans are stored as one byte, 0 or 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tapeless.util.records import record

__all__ = [
    "Affine",
    "Alloc",
    "Block",
    "Buffer",
    "Call",
    "Const",
    "If",
    "Index",
    "Load",
    "Loop",
    "Op",
    "Reduce",
    "Scalar",
    "Statement",
    "Store",
    "While",
    "ends_in_fault",
]


@record(eq=False)
class Buffer:
    """Memory for `shape` elements of the real dtype `dtype`; compared by identity.

    space: "input" (a parameter that is read), "output" (a parameter that is written first),
    "temp" (inside the arena; the buffer plan gives it an offset) or "local" (a stack slot that
    the optimiser turns into registers; at most a few dozen elements, or rank 0).
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    space: str
    name: str = ""

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def n_bytes(self) -> int:
        """Its size in memory; four-bit numbers take a byte each."""
        return self.size * self.dtype.itemsize


class Scalar:
    """A pure expression with one value per point of the enclosing loops.

    `dtype` is its NumPy dtype; `free` the set of `Index` variables that it depends on.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        # Fields of the subclasses, which are frozen: declared, not made.
        @property
        def dtype(self) -> np.dtype:
            """The NumPy dtype."""

        @property
        def free(self) -> frozenset[Index]:
            """The variables of the loops around that it depends on."""


@record(eq=False)
class Index(Scalar):
    """The variable of one `Loop` or `Reduce`: an int64 that runs from 0 to extent - 1."""

    name: str
    dtype = np.dtype(np.int64)

    @property
    def free(self) -> frozenset[Index]:
        """The variable itself."""
        return frozenset((self,))


@record(eq=False)
class Const(Scalar):
    """A literal: a Python bool, int or float, exact in `dtype`."""

    value: bool | int | float
    dtype: np.dtype
    free = frozenset()


@record(eq=False)
class Affine(Scalar):
    """An int64 index, `const + sum(coefficient * scalar)`; the terms are int64 scalars.

    Terms are loop variables wherever the index is affine in them; an opaque term (a loaded index,
    a quotient or remainder) is allowed and makes the stride along its variables unknown.
    """

    terms: tuple[tuple[Scalar, int], ...]
    const: int
    free: frozenset[Index]
    dtype = np.dtype(np.int64)

    def stride(self, var: Index) -> int | None:
        """Return the step of the index when `var` grows by one, or None when it is not constant."""
        step = 0
        for term, coefficient in self.terms:
            if term is var:
                step += coefficient
            elif var in term.free:
                return None
        return step


@record(eq=False)
class Op(Scalar):
    """An operation on scalars.  Operands and result have the dtypes that the table below says.

    same dtype in and out   add sub mul div rem neg abs sign min max fma(a, b, c)
                            floor ceil trunc round_even sqrt exp exp2 expm1 log log1p log2
                            sin cos tan tanh sinh cosh asin acos atan asinh acosh atanh
                            atan2 pow logistic rsqrt cbrt erf erfc erf_inv lgamma digamma
                            nextafter copysign
    integers and bool       and or xor not shift_left shift_right_logical
                            shift_right_arithmetic popcount clz mulhi
    bool results            eq ne lt le gt ge (same dtype operands) is_finite
    select                  (bool, a, b) -> a where the condition is true, else b
    rare                    the same; a is wanted seldom and is computed only if some lane wants it
    convert                 x -> the op's dtype, as JAX converts (float to int saturates, NaN to 0)
    bitcast                 x -> the op's dtype, of the same width

    `min` and `max` propagate NaN.  Integer `div` and `rem` truncate and are total: x // 0 is -1,
    x % 0 is x, and INT_MIN // -1 is INT_MIN; shifts past the width give 0 (or the sign).
    """

    name: str
    args: tuple[Scalar, ...]
    dtype: np.dtype
    free: frozenset[Index]


@record(eq=False)
class Load(Scalar):
    """The element of `buffer` at the flat `index`.

    `guard`, if any, is a bool scalar: where it is false memory is not touched and the value is 0.
    `after` names the statement count at which the load was made; the builder uses it to keep loads
    of buffers that are later overwritten from being moved past the write.
    """

    buffer: Buffer
    index: Affine
    dtype: np.dtype
    free: frozenset[Index]
    guard: Scalar | None = None
    after: int = 0


@record(eq=False)
class Reduce(Scalar):
    """The fold of `element` over `var` = 0 .. extent - 1, starting at `init`.

    combine is one of "add", "mul", "min", "max", "and", "or", "xor", applied to each of the
    `elements`, which have one dtype; or a function of two tuples of scalars (accumulators,
    new values) that gives the new accumulators: then it is applied in index order.
    A `Reduce` has as many results as elements; `which` picks one, and the nodes of one reduction
    share `group`.  Sums may be reassociated (fixed order: never dependent on the thread count).
    `free` excludes `var`.
    """

    var: Index
    extent: int
    elements: tuple[Scalar, ...]
    inits: tuple[Scalar, ...]
    combine: object
    which: int
    group: object
    dtype: np.dtype
    free: frozenset[Index]


class Statement:
    """Something that writes memory or has an effect; statements of a block run in order."""

    __slots__ = ()


Block = tuple[Statement, ...]


@record(eq=False)
class Store(Statement):
    """Write `value` to `buffer` at the flat `index`; where `guard` is false, do nothing.

    accumulate: None to overwrite, or "add", "mul", "min", "max", "and", "or": combine with what
    is there.
    """

    buffer: Buffer
    index: Affine
    value: Scalar
    guard: Scalar | None = None
    accumulate: str | None = None


@record(eq=False)
class Loop(Statement):
    """Run `body` for `var` = 0 .. extent - 1 (downwards when `reverse`).

    independent: the iterations touch disjoint memory, or write equal values, and may run in any
    order, as vector lanes or in parallel.  extent: a Python int, or an int64 scalar.
    """

    var: Index
    extent: int | Scalar
    body: Block
    independent: bool = True
    reverse: bool = False


@record(eq=False)
class If(Statement):
    """Run `branches[which]`; `which` is an int32 scalar that the builder has clamped."""

    which: Scalar
    branches: tuple[Block, ...]


@record(eq=False)
class While(Statement):
    """Run `before`, stop when `condition` (a bool scalar loaded after it) is false, else `body`."""

    before: Block
    condition: Scalar
    body: Block


@record(eq=False)
class Alloc(Statement):
    """Mark where a temporary's life starts, for buffers whose life the plan cannot infer."""

    buffer: Buffer


@record(eq=False)
class Call(Statement):
    """Call a foreign routine: `symbol` is resolved by the engine (BLAS, LAPACK, own C ABI, host).

    args: buffers (passed as pointers, optionally displaced: a pair (buffer, Affine)) and int64,
    int32 or floating scalars, in the order of the routine.  `reads` and `writes` are the buffers
    touched.
    """

    symbol: str
    args: tuple[Buffer | tuple[Buffer, Affine] | Scalar, ...]
    reads: tuple[Buffer, ...]
    writes: tuple[Buffer, ...]

    @property
    def is_fault(self) -> bool:
        """Whether the routine always fails: what a check calls that does not hold."""
        return self.symbol.startswith("fault:")


def ends_in_fault(block: Block) -> bool:
    """Tell whether a block fails: what a check runs that does not hold, and so hardly ever."""
    return bool(block) and isinstance(block[-1], Call) and block[-1].is_fault
