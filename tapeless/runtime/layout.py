"""How arrays lie in memory.

Every array here is dense and in row-major order.  A `Layout` names an order of axes and a `Format`
pairs it with a sharding, so that programs which pass them on find the classes, and compiled
functions say what they take and return.
"""

from __future__ import annotations

from typing import Any

from tapeless.util.records import record

__all__ = ["Format", "Layout"]


@record
class Layout:
    """An order of axes, the slowest first; tiles and packed elements exist on accelerators only."""

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0


@record
class Format:
    """A layout and a sharding, each None where it is not decided.

    >>> Format().sharding is None
    True
    """

    layout: Any = None
    sharding: Any = None
