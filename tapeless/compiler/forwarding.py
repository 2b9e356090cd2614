"""What a statement of a flat loop stores, those behind it take from its expression.

    w[3 i] = x[3 i] - c[3 i]              w[3 i] = x[3 i] - c[3 i]
    y[3 i] = 2 * w[3 i]         becomes   y[3 i] = 2 * (x[3 i] - c[3 i])

Expressions are computed once, so nothing is computed again: a register is used where memory was.
An expression means its value where it is used. So it stands for an element as long as neither the
element nor what the expression reads is overwritten. If nothing reads the element any more, its
store is dead (`prune.py`).
"""

from __future__ import annotations

from tapeless.kernel.graph import children, exchange, loads_in
from tapeless.kernel.ir import Affine, Block, Buffer, Scalar, Store
from tapeless.kernel.nodes import Nodes

__all__ = ["forwarded"]


def forwarded(nodes: Nodes, body: Block) -> Block:
    """Return stores that take from each other's expressions what they read of each other."""
    known: dict[tuple[Buffer, Affine], Scalar] = {}
    result = []
    for store in body:
        assert isinstance(store, Store), "the body of a flat loop consists of stores"
        store = _with_known(nodes, store, known)
        result.append(store)
        known = {key: value for key, value in known.items() if _stays(key, value, store)}
        if store.guard is not None:
            continue
        if store.accumulate is not None:
            continue
        reads = {load.buffer for load in loads_in((store.value,))}
        if store.buffer not in reads:
            key = (store.buffer, store.index)
            known[key] = store.value
    return tuple(result)


def _with_known(
    nodes: Nodes,
    store: Store,
    known: dict[tuple[Buffer, Affine], Scalar],
) -> Store:
    """Return a store whose loads are the known expressions."""
    roots: list[Scalar] = [store.index, store.value]
    if store.guard is not None:
        roots.append(store.guard)
    changes: dict[int, Scalar] = {}
    for load in loads_in(roots):
        key = (load.buffer, load.index)
        if load.guard is None and key in known:
            changes[id(load)] = known[key]
        elif load.after and not loads_in(children(load)):
            # A load is of the moment of its use, whenever it was asked for.
            changes[id(load)] = nodes.load(
                load.buffer,
                load.index,
                load.guard,
            )
    index, value, *guards = exchange(nodes, roots, changes)
    assert isinstance(index, Affine), "an index stays one"
    guard = guards[0] if guards else None
    return Store(
        store.buffer,
        index,
        value,
        guard,
        store.accumulate,
    )


def _stays(
    key: tuple[Buffer, Affine],
    value: Scalar,
    store: Store,
) -> bool:
    """Tell whether an expression still stands for an element after a store."""
    buffer, index = key
    for load in loads_in((value, index)):
        if load.buffer is store.buffer:
            return False
    if buffer is not store.buffer:
        return True
    if index.terms != store.index.terms:
        return False
    return index.const != store.index.const
