"""Row sums and what follows them: one loop to reduce, one to transform.

    for i: y[i] = tanh(sum of w[i, r] * h[r] over r)

Here the lanes of the machine are best spent on r, whose loads are contiguous; but then each tanh is
computed alone. So the sums are stored first, and a second loop, whose lanes are i, transforms them:

    for i: s[i] = sum of w[i, r] * h[r] over r
    for i: y[i] = tanh(s[i])

This is worth it when a recipe (`cheap.py`) is applied per element to what reductions along
contiguous rows give. Reductions along columns leave the lanes to i from the start.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.kernel.cheap import is_recipe
from tapeless.kernel.graph import children, walk
from tapeless.kernel.ir import Index, Load, Op, Reduce, Scalar

__all__ = ["row_reductions"]


def row_reductions(variables: Sequence[Index], roots: Sequence[Scalar]) -> list[Reduce]:
    """Return the reductions to store first; none if one loop is as good."""
    whole = frozenset(variables)
    outside = walk(roots, _outside)
    often = [node for node in outside if whole <= node.free]
    if not any(isinstance(node, Op) and is_recipe(node) for node in often):
        return []
    found = [node for node in often if isinstance(node, Reduce)]
    return found if found and all(map(_is_along_rows, found)) else []


def _outside(node: Scalar) -> tuple[Scalar, ...]:
    """Return the operands that are evaluated once per element."""
    return () if isinstance(node, Reduce) else children(node)


def _is_along_rows(reduction: Reduce) -> bool:
    """Tell whether a reduction by name reads contiguous elements, and a fair number of them."""
    if not isinstance(reduction.combine, str) or reduction.extent < 8:
        return False
    steps = [
        node.index.stride(reduction.var)
        for node in walk(reduction.elements)
        if isinstance(node, Load)
    ]
    return 1 in steps and all(step in (0, 1) for step in steps)
