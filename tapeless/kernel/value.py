"""Kernel values: arrays as `lower` rules see them.

A kernel value is *virtual* (a function from an index to the element) or *stored* (a buffer).
Rules do not care: `v.at(i, j)` gives the element. A virtual value remembers the elements that
were pulled since memory last changed, so that consumers which pull it at one index share one
expression.

A stored value may be *pending*: it belongs to a loop nest that is still open, so that its
neighbours can join the nest. Pulled at the nest's own index it gives the expression that is being
stored, which never goes through memory; any other index closes the nest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapeless.core.aval import ShapedArray
from tapeless.kernel.ir import Affine, Buffer, Index, Scalar, Store
from tapeless.kernel.parts import Element, parts_of

__all__ = ["IndexLike", "KernelValue", "Nest", "Pull"]

IndexLike = int | Scalar
Pull = Callable[[tuple[IndexLike, ...]], Element]


class Nest:
    """A loop nest that is still open: stores of several values over one iteration space.

    index: a loop variable per axis; the constant 0 for an axis of extent 1; alarms: what looks,
    after the nest, at flags that it raises.
    """

    __slots__ = ("alarms", "elements", "index", "shape", "stores", "variables")

    def __init__(self, shape: tuple[int, ...], index: tuple[IndexLike, ...]) -> None:
        """Start with nothing to store."""
        self.shape = shape
        self.index = index
        self.variables: tuple[Index, ...] = tuple(i for i in index if isinstance(i, Index))
        self.stores: list[Store] = []
        self.alarms: list[Any] = []
        self.elements: dict[Buffer, Element] = {}

    def add(self, buffer: Buffer, element: Element, positions: Sequence[Affine]) -> None:
        """Store `element`; `positions` are the places of its parts."""
        for index, part in zip(positions, parts_of(element), strict=True):
            self.stores.append(Store(buffer, index, part))
        self.elements[buffer] = element


class KernelValue:
    """An array in a kernel.

    aval: its type; buffer: where it is stored, None while it is virtual; shape, dtype: from aval;
    sources: the values that a virtual one may read.
    """

    __slots__ = ("_epoch", "_pull", "_seen", "aval", "buffer", "builder", "sources")

    def __init__(
        self,
        builder: Any,
        aval: ShapedArray,
        pull: Pull | None = None,
        buffer: Buffer | None = None,
    ) -> None:
        """Either `pull` or `buffer` is given."""
        self.builder = builder
        self.aval = aval
        self.buffer = buffer
        self._pull: Pull = _refuse if pull is None else pull
        self._seen: dict[tuple[IndexLike, ...], Element] = {}
        self._epoch = -1
        self.sources: Sequence[KernelValue] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, without the axis of the parts."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.aval.dtype

    @property
    def memory(self) -> Buffer:
        """The buffer, of a value that is stored."""
        if self.buffer is None:
            raise ValueError(f"{self} is wanted in memory, and is virtual; a bug in tapeless")
        return self.buffer

    @property
    def is_stored(self) -> bool:
        """Whether it has a buffer."""
        return self.buffer is not None

    def __repr__(self) -> str:
        """Return the type and where it is."""
        where = "virtual" if self.buffer is None else self.buffer.name or self.buffer.space
        return f"KernelValue({self.aval.str_short(True)}, {where})"

    def at(self, *index: IndexLike) -> Element:
        """Return the element at `index`: one int64 scalar or integer per axis."""
        if len(index) != len(self.aval.shape):
            raise TypeError(
                f"a value of shape {self.aval.shape} was pulled at {len(index)} indices; "
                "this is a bug in tapeless"
            )
        if self.buffer is not None:
            return self.builder.read(self, index)
        if self._epoch != self.builder.epoch:
            self._seen = {}
            self._epoch = self.builder.epoch
        found = self._seen.get(index)
        if found is None:
            found = self._pull(index)
            self._seen[index] = found
        return found

    def store_in(self, buffer: Buffer) -> None:
        """Become stored in `buffer`, which holds, or will hold, the elements."""
        self.buffer = buffer
        self._pull = _refuse
        self._seen = {}

    def redirect(self, pull: Pull) -> None:
        """Find the elements of a virtual value elsewhere."""
        self._pull = pull
        self._seen = {}

    def overwritten(self) -> None:
        """Forget the memory, which belongs to another value from now on."""
        self.buffer = None
        self._pull = _refuse
        self.sources = ()


def _refuse(index: tuple[IndexLike, ...]) -> Element:
    """Give no element: the memory was reused, or never filled."""
    raise ValueError("a value is read after its memory was reused; a bug in tapeless")
