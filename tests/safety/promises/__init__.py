"""What docs/reliability.md promises, sentence by sentence, each with mutations that break it."""

from __future__ import annotations

from tests.safety.promises import checking, debugging, errors, safety
from tests.safety.promises.clauses import CLAUSES
from tests.safety.promises.mutation import Mutation

__all__ = ["CLAUSES", "PROMISES", "Mutation"]

PROMISES: dict[str, tuple[Mutation, ...]] = {
    **errors.PROMISES,
    **debugging.PROMISES,
    **checking.PROMISES,
    **safety.PROMISES,
}
