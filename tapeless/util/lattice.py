"""Finite orders given by their arrows: upper sets and least upper bounds.

An order is written down as a mapping from each node to the nodes directly above it. From that,
``upper_sets`` computes once, for each node, the set of all nodes that are it or above it. A *least
upper bound* of some nodes is a common upper bound that is below every other one; with the upper
sets at hand, it is the node whose own upper set is the intersection of theirs. Not all nodes need
have one.

>>> sets = upper_sets({"cat": ("pet",), "dog": ("pet",), "pet": ("animal",), "stone": ()})
>>> least_upper_bound(("cat", "dog"), sets)
'pet'
>>> print(least_upper_bound(("cat", "stone"), sets))
None
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

__all__ = ["least_upper_bound", "upper_sets"]

Node = TypeVar("Node", bound=Hashable)


def upper_sets(
    arrows: Mapping[Node, Collection[Node]],
) -> dict[Node, frozenset[Node]]:
    """Return, for each node, the set of the nodes that are it or above it."""
    sets: dict[Node, frozenset[Node]] = {}

    def visit(node: Node) -> frozenset[Node]:
        """Return the upper set of one node, after those above it."""
        if node in sets:
            return sets[node]
        above = {node}
        for next_node in arrows.get(node, ()):
            above |= visit(next_node)
        sets[node] = frozenset(above)
        return sets[node]

    for node in arrows:
        visit(node)
    return sets


def least_upper_bound(
    nodes: Collection[Node],
    sets: Mapping[Node, frozenset[Node]],
) -> Node | None:
    """Return the least node above all of ``nodes`` (at least one), or None if there is none."""
    common = frozenset.intersection(*(sets[node] for node in nodes))
    for node in common:
        if sets[node] == common:
            return node
    return None
