"""What an operation may do besides returning values.

An `Effect` is a frozen value that answers three questions: must its occurrences keep their order,
may it happen for rows of a batch that are elsewhere, may it run again when a checkpoint recomputes.
Primitives state their effects from their parameters; equations and jaxprs carry the union;
dead-code elimination keeps equations with effects; fusion and caching treat them as fences.
Programs run in program order, so no tokens are needed to keep ordered effects in order.
"""

from __future__ import annotations

from tapeless.util.records import record

__all__ = [
    "CALLBACK",
    "CHECK",
    "DEBUG",
    "NO_EFFECTS",
    "ORDERED_CALLBACK",
    "ORDERED_DEBUG",
    "PROGRESS",
    "STATE",
    "Effect",
    "Effects",
]


@record
class Effect:
    """One kind of effect; `name` is what messages and printed programs call it."""

    name: str
    ordered: bool
    batchable: bool
    replayable: bool

    def __str__(self) -> str:
        """Return the name."""
        return self.name


Effects = frozenset[Effect]
NO_EFFECTS: Effects = frozenset()
DEBUG = Effect("Debug", ordered=False, batchable=True, replayable=True)
ORDERED_DEBUG = Effect("OrderedDebug", ordered=True, batchable=True, replayable=True)
CHECK = Effect("Check", ordered=False, batchable=True, replayable=True)
STATE = Effect("State", ordered=False, batchable=True, replayable=True)
PROGRESS = Effect("Progress", ordered=False, batchable=True, replayable=True)
CALLBACK = Effect("IO", ordered=False, batchable=False, replayable=False)
ORDERED_CALLBACK = Effect("OrderedIO", ordered=True, batchable=False, replayable=False)
