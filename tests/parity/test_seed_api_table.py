"""`seed_api.txt`: what the seed chapters require, each statement with the tests that assert it."""

import ast
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# How many statements the requirements have in each section.
STATEMENTS = {
    "1": 14, "1.1": 19, "1.2": 19, "1.3": 30, "1.4": 12, "2": 20, "3": 20, "4": 24, "5": 12, "6": 6,
    "7": 5, "8": 5, "9": 5, "10": 13, "11": 19, "12": 4, "13": 2, "14": 12,
    "15": 1,
}  # fmt: skip


def table() -> dict[str, list[tuple[str, list[str]]]]:
    """Return the statements of each section, with their tests."""
    sections: dict[str, list] = {}
    statements: list = []
    for line in (HERE / "seed_api.txt").read_text().splitlines():
        if line.startswith("["):
            statements = sections.setdefault(line[1:].split()[0], [])
        elif line and not line.startswith("#"):
            what, _, tests = line.partition(" | ")
            statements.append((what, [name.strip() for name in tests.split(",")]))
    return sections


def names_in(path: Path) -> set[str]:
    """Return the tests of a file: functions, and Class.method."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            found.update(
                f"{node.name}.{f.name}" for f in node.body if isinstance(f, ast.FunctionDef)
            )
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return {name for name in found if name.rpartition(".")[2].startswith("test_")}


def own_tests() -> Counter[str]:
    """Return the tests of the files beside this one, which the table names without a path."""
    files = [path for path in HERE.glob("test_seed_api*.py") if path.name != Path(__file__).name]
    return Counter(name for path in files for name in names_in(path))


def test_every_section_has_all_its_statements():
    assert {name: len(statements) for name, statements in table().items()} == STATEMENTS


@pytest.mark.parametrize("section", STATEMENTS)
def test_the_names_in_a_section_exist(section):
    own = own_tests()
    for what, tests in table()[section]:
        for test in tests:
            path, _, name = test.rpartition("::")
            there = name in names_in(ROOT / path) if path else own[name] == 1
            assert there, f"{what}: no test {test!r}"


def test_every_test_asserts_a_statement():
    named = {test for statements in table().values() for _, tests in statements for test in tests}
    assert own_tests().keys() <= named
