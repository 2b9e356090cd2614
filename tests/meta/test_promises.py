"""Each clause of what is promised has tests that are there, and mutations that switch it off."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.safety.promises import CLAUSES, PROMISES
from tests.safety.promises.mutation import ROOT

NAMES = Counter(mutation.promise for mutations in PROMISES.values() for mutation in mutations)
DOCUMENT = ROOT / "docs" / "reliability.md"


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.words)
def test_each_clause_has_tests_and_mutations_that_are_there(clause) -> None:
    assert clause.tests
    assert clause.mutations
    assert [name for name in clause.mutations if NAMES[name] != 1] == []
    for test in clause.tests:
        path, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()


def test_no_clause_stands_twice() -> None:
    assert [words for words, n in Counter(c.words for c in CLAUSES).items() if n > 1] == []


def test_the_document_reports_of_the_fuzzer() -> None:
    text = DOCUMENT.read_text()
    fuzzer = text[text.index("## Fuzzer") :]
    for kind in ("calls", "programs", "modules", "exports", "cache", "hours"):
        assert re.search(rf"^\| {kind} \| [\d,.]+ \| [\d,.]+ \|", fuzzer, re.MULTILINE), kind
    assert "| finding | cause | state |" in fuzzer


@pytest.mark.slow
@pytest.mark.oracle
@pytest.mark.timeout(600)
def test_the_tests_of_all_clauses_are_collected(tmp_path: Path) -> None:
    tests = sorted({test for clause in CLAUSES for test in clause.tests})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "", *tests], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
