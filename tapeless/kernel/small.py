"""Small arrays: which of them lanes should make, rather than a line for each element.

The elements of a small array are written out, so that they are registers. But when each is much
work, and the work is alike, as in

    score[j] = max of (before[i] + cost[i, j]) over i          sixteen tanh of sixteen numbers

a vector instruction does it for several elements at once, and there is a fraction of the text.
Work is a recipe (`cheap.py`), or a reduction that is not written out. Elements that are told apart
by comparing their index, as those of a concatenation, are not alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.kernel.cheap import is_recipe
from tapeless.kernel.graph import walk
from tapeless.kernel.ir import Affine, Index, Op, Reduce, Scalar

__all__ = ["FEWEST_LANES", "is_work_for_lanes"]

FEWEST_LANES = 4
_COMPARISONS = frozenset("eq ne lt le gt ge".split())


def is_work_for_lanes(variables: Sequence[Index], element: Scalar) -> bool:
    """Tell whether lanes should make the elements, `element` being the one at `variables`."""
    own = frozenset(variables)
    work = False
    for node in walk((element,)):
        if own.isdisjoint(node.free):
            continue
        if isinstance(node, Reduce):
            if not isinstance(node.combine, str):
                return False
            work = True
        elif isinstance(node, Op):
            if node.name in _COMPARISONS and any(map(_is_index, node.args)):
                return False
            work = work or is_recipe(node)
    return work


def _is_index(node: Scalar) -> bool:
    """Tell whether a scalar is an index, or one converted."""
    if isinstance(node, Op) and node.name == "convert":
        node = node.args[0]
    return isinstance(node, Index | Affine)
