"""The approximate top k of accelerators, which is exact here.

approx_max_k: (m, n) -> values (m, k), indices (m, k), largest first
"""

from __future__ import annotations

from tapeless.core.trace import Value
from tapeless.prims.common import shape_of
from tapeless.prims.rules import canonical_axis
from tapeless.prims.sort import top_k
from tapeless.prims.unary import neg

__all__ = ["approx_max_k", "approx_min_k"]


def approx_max_k(
    operand: Value,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Value, Value]:
    """Return the k largest elements along an axis and their positions; the recall is 1.

    operand: (m, n) -> (m, k), int32 (m, k).
    """
    _check_recall(recall_target)
    axis = canonical_axis(reduction_dimension, len(shape_of(operand)))
    return top_k(operand, k, axis=axis)


def approx_min_k(
    operand: Value,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Value, Value]:
    """Return the k least elements along an axis and their positions; the recall is 1.

    operand: (m, n), floating-point -> (m, k), int32 (m, k).
    """
    _check_recall(recall_target)
    axis = canonical_axis(reduction_dimension, len(shape_of(operand)))
    values, places = top_k(neg(operand), k, axis=axis)
    return neg(values), places


def _check_recall(recall: float) -> None:
    """Raise ValueError for a recall that is no probability."""
    if not 0 < recall <= 1:
        raise ValueError(f"recall_target must be in (0, 1], got {recall}")
