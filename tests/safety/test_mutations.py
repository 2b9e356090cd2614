"""The list of promises is complete: every mutation applies, and is noticed by its test."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.safety.mutations import copied, survives
from tests.safety.promises import PROMISES, Mutation
from tests.safety.promises.mutation import ROOT

MUTATIONS = [mutation for mutations in PROMISES.values() for mutation in mutations]


@pytest.fixture(scope="module")
def copy() -> Generator[Path, None, None]:
    """Return a copy of the repository."""
    with copied() as path:
        yield path


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.promise)
def test_the_text_that_keeps_a_promise_is_there_once_and_its_test_exists(
    mutation: Mutation,
) -> None:
    assert mutation.applies()


def test_the_document_has_every_promise() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text()
    rows = [row.split(" | ")[0].removeprefix("| ") for row in text.splitlines()]
    assert [sentence for sentence in PROMISES if sentence not in rows] == []


@pytest.mark.slow
@pytest.mark.oracle
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.promise)
def test_a_promise_that_is_switched_off_fails_its_test(mutation: Mutation, copy: Path) -> None:
    assert survives(mutation, copy) is None


WORDS = "Splitting and joining by masks and counts."
SPLITS = "tests/util/test_seqs.py::test_positions"


def test_a_change_that_breaks_nothing_goes_unnoticed(copy: Path) -> None:
    harmless = Mutation("nothing", "tests/util/test_seqs.py", WORDS, "Sequences.", SPLITS)
    assert harmless.applies()
    assert survives(harmless, copy) == "pytest ended with 0"
    absent = Mutation("nothing", "tests/util/test_seqs.py", "Sequences." * 2, "", SPLITS)
    assert not absent.applies()
    assert survives(absent, copy) == "it does not apply any more"
