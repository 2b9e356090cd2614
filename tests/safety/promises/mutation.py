"""A mutation: a small change of a file that switches off what keeps a promise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Mutation"]

ROOT = Path(__file__).parent.parent.parent.parent


@dataclass(frozen=True)
class Mutation:
    """What is promised, the text of a file that keeps it, what to put there, and who notices.

    file: within the repository.  test: the name of a test, or of a file of tests.
    """

    promise: str
    file: str
    before: str
    after: str
    test: str

    def applies(self) -> bool:
        """Tell whether the text is there once, and the test, too."""
        path, _, name = self.test.partition("::")
        written = (ROOT / path).read_text()
        there = not name or f"def {name.partition('[')[0]}(" in written
        return there and (ROOT / self.file).read_text().count(self.before) == 1
