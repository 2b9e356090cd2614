"""Recipes of numbers that have nothing to do with each other, packed into lanes.

    a = 0.9 * a + 0.1 * sin(b);  b = 0.9 * b + 0.1 * sin(c);  c = ...

A loop that carries many scalars, or a small array written out, calls the same recipe again and
again in straight-line code. Those calls whose operands are known at the start of a run of stores
become calls for a register of them, which take about as long as one: the operands are put into
lanes, and the results taken out. The register is no wider than needed, since that is sooner filled.

Recipes that stand on others' results come later: calls are packed by how many recipes they stand
on. A call is packed only where it would be made in any case, and its bits are the same.

What surrounds the calls in a loop, the sums and products and the carry, goes into lanes as well:
that is left to the optimiser, which is asked for more than usual (`rewards_effort`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from tapeless.compiler.formats import format_of, typed
from tapeless.compiler.operations import is_operation
from tapeless.compiler.regions import Region, Value
from tapeless.compiler.values import Values, operands
from tapeless.kernel.ir import Block, Buffer, Op, Scalar, Store

__all__ = ["LONGEST_RUN", "leading_stores", "pack_recipes"]

LONGEST_RUN = 64  # stores that are looked at together
_FEWEST = 4  # calls that are worth moving their operands
_BY_ADDRESS = "slow:"

Recipe = Callable[[Region, Op, Sequence[str], int], str]


def leading_stores(block: Block) -> list[Store]:
    """Return the stores that a block begins with."""
    found: list[Store] = []
    for statement in block:
        if not isinstance(statement, Store):
            break
        found.append(statement)
    return found


def pack_recipes(
    values: Values,
    recipe: Recipe,
    region: Region,
    stores: Sequence[Store],
) -> bool:
    """Compute recipes that stores in a region without lanes need, several with each call.

    Returns whether there are such calls in a loop.
    """
    is_repeated = False
    groups: dict[tuple, list[Op]] = {}
    for node, depth in _early(values, region, stores).items():
        sources = tuple(arg.dtype for arg in node.args)
        home = values.home(region, node)
        key = (depth, node.name, node.dtype, sources, home)
        groups.setdefault(key, []).append(node)
    in_order = sorted(groups.items(), key=lambda item: item[0][0])
    for (*_, home), calls in in_order:
        width = home.function.module.target.vector_bytes // _widest(calls[0])
        for start in range(0, len(calls), width):
            packed = calls[start : start + width]
            if len(packed) >= _FEWEST:
                lanes = 1 << (len(packed) - 1).bit_length()
                _call(values, recipe, home, packed, lanes)
                is_repeated |= home.is_repeated
    return is_repeated


def _early(
    values: Values,
    region: Region,
    stores: Sequence[Store],
) -> dict[Op, int]:
    """Return the recipes that may be computed before all stores, and how many each stands on."""
    depths: dict[Scalar, int] = {}
    found: dict[Op, int] = {}
    written: set[Buffer] = set()
    for store in stores:
        if store.guard is None:
            stack: list[Scalar] = [store.value]
            while stack:
                node = stack[-1]
                reads = values.reads(node)
                if node in depths or values.find(region, node, reads) is not None:
                    depths.setdefault(node, 0)
                    stack.pop()
                    continue
                parts = operands(node)
                missing = [part for part in parts if part not in depths]
                if missing:
                    stack.extend(missing)
                    continue
                stack.pop()
                depth = max((depths[part] for part in parts), default=0)
                if _is_recipe(node) and written.isdisjoint(reads):
                    found[node] = depth
                    depth += 1
                depths[node] = depth
        written.add(store.buffer)
    return found


def _is_recipe(node: Scalar) -> TypeGuard[Op]:
    """Tell whether a node is a call of a function in the module."""
    if not isinstance(node, Op) or is_operation(node.name) or node.name == "rare":
        return False
    return not node.name.startswith(_BY_ADDRESS)


def _widest(call: Op) -> int:
    """Return the bytes of the widest register among a call's operands and result."""
    return max(format_of(scalar.dtype).size for scalar in (call, *call.args))


def _call(
    values: Values,
    recipe: Recipe,
    home: Region,
    calls: Sequence[Op],
    lanes: int,
) -> None:
    """Compute calls of one recipe at once; lanes that are left over repeat the first."""
    columns = zip(*(call.args for call in calls), strict=True)
    args = [_gathered(values, home, column, lanes) for column in columns]
    text = recipe(home, calls[0], args, lanes)
    register = format_of(calls[0].dtype).register
    for lane, call in enumerate(calls):
        picked = home.emit(f"extractelement {typed(register, lanes)} {text}, i64 {lane}")
        values.remember(home, call, values.reads(call), Value(picked, 1, register))


def _gathered(
    values: Values,
    home: Region,
    column: Sequence[Scalar],
    lanes: int,
) -> str:
    """Put numbers into lanes."""
    texts = [values.lanes(home, scalar, 1) for scalar in column]
    register = format_of(column[0].dtype).register
    kind, vector = typed(register, lanes), "poison"
    for lane in range(lanes):
        text = texts[lane] if lane < len(texts) else texts[0]
        vector = home.emit(f"insertelement {kind} {vector}, {register} {text}, i64 {lane}")
    return vector
