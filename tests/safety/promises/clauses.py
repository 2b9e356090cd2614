"""The clauses of what is promised, each with its tests and its mutations; see `clauses.txt`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["CLAUSES", "Clause"]

TABLE = Path(__file__).with_name("clauses.txt")


@dataclass(frozen=True)
class Clause:
    """A clause, the tests named after it, and the names of mutations that switch it off."""

    words: str
    tests: list[str] = field(default_factory=list)
    mutations: list[str] = field(default_factory=list)


def _clauses() -> list[Clause]:
    """Read the table."""
    found: list[Clause] = []
    for line in TABLE.read_text().splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not line.startswith(" "):
            found.append(Clause(text))
        elif text.startswith("! "):
            found[-1].mutations.append(text.removeprefix("! "))
        else:
            found[-1].tests.append(text)
    return found


CLAUSES = _clauses()
