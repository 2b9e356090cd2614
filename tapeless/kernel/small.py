"""Small arrays: which of them lanes should make, rather than a line for each element.

The elements of a small array are written out, so that they are registers. But when each is much
work, and the work is alike, as in

    score[j] = max of (before[i] + cost[i, j]) over i          sixteen tanh of sixteen numbers

a vector instruction does it for several elements at once, and there is a fraction of the text.
Work is a recipe (`cheap.py`), or a reduction; one that is written out reads several elements for
each. Elements that are told apart by comparing their index, as those of a concatenation, are not
alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.kernel.cheap import is_recipe
from tapeless.kernel.graph import walk
from tapeless.kernel.ir import Affine, Index, Load, Op, Reduce, Scalar

__all__ = ["FEWEST_LANES", "is_work_for_lanes", "rows_are_lanes"]

FEWEST_LANES = 4
FEWEST_ROWS = 8
_MANY_READS = 6
_MOST_NODES = 200  # of short rows that are written out
_COMPARISONS = frozenset("eq ne lt le gt ge".split())


def is_work_for_lanes(variables: Sequence[Index], element: Scalar) -> bool:
    """Tell whether lanes should make the elements, `element` being the one at `variables`."""
    own = frozenset(variables)
    work, n_reads = False, 0
    for node in walk((element,)):
        if own.isdisjoint(node.free):
            continue
        if isinstance(node, Reduce):
            if not isinstance(node.combine, str):
                return False
            work = True
        elif isinstance(node, Load):
            n_reads += 1
        elif isinstance(node, Op):
            if node.name in _COMPARISONS and any(map(_is_index, node.args)):
                return False
            work = work or is_recipe(node)
    return work or n_reads >= _MANY_READS


def rows_are_lanes(
    var: Index, n_rows: int, roots: Sequence[Scalar], copies: Sequence[Sequence[Scalar]]
) -> bool:
    """Tell whether short rows are better written out, so that lanes make many of them at once.

    var: the variable along a row; copies: the `roots` at each of its places.
    """
    if any(isinstance(node, Reduce) and var in node.free for node in walk(roots)):
        return True
    nodes = walk([root for copy in copies for root in copy])
    if n_rows < FEWEST_ROWS or len(nodes) > _MOST_NODES:
        return False
    loads = [node for node in nodes if isinstance(node, Load)]
    return all(isinstance(term, Index) for load in loads for term, _ in load.index.terms)


def _is_index(node: Scalar) -> bool:
    """Tell whether a scalar is an index, or one converted."""
    if isinstance(node, Op) and node.name == "convert":
        node = node.args[0]
    return isinstance(node, Index | Affine)
