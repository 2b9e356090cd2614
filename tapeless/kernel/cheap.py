"""Which operations are a few instructions, and which are recipes of many.

What is in neither table here, such as exp or pow, is a recipe: worth storing rather than computing
twice, worth a branch, and slow unless it runs on vector lanes.
"""

from __future__ import annotations

from tapeless.kernel.ir import Op

__all__ = ["ARITHMETIC", "is_recipe"]

ARITHMETIC = frozenset(
    "add sub mul div rem neg abs sign min max fma floor ceil trunc round_even sqrt copysign".split()
)
_MOVES = frozenset(
    "and or xor not shift_left shift_right_logical shift_right_arithmetic popcount clz mulhi "
    "eq ne lt le gt ge is_finite select rare convert bitcast".split()
)


def is_recipe(op: Op) -> bool:
    """Tell whether an operation is a recipe of many instructions."""
    return op.name not in ARITHMETIC and op.name not in _MOVES
