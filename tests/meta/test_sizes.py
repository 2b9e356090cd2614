"""The code stays within its budgets, and the check notices when it does not."""

from pathlib import Path

import pytest

from dev import sizes

ROOT = Path(__file__).parents[2]

DOCUMENTED = '"""A file."""\n\n__all__ = ["f"]\n\n\ndef f():\n    """Do."""\n'
PRIMITIVE = (
    '"""A file."""\n\n__all__ = ["Primitive"]\n\n\nclass Primitive:\n    """A class."""\n\n'
    '    def jvp(self):\n        """A slot."""\n'
)
FILLED = (
    '"""A file."""\n\n__all__ = ["Sin"]\n\n\nclass Sin(Primitive):\n    """Sine."""\n\n'
    "    def jvp(self):\n        return 1\n"
)
DENSE = "__all__ = []\ndef f(a, b, c, d, e, f): return a + b + c + d + e + f\n"
SIGNATURE = "\n\n@overload\ndef f(x: int): ...\n"
GOOD = {
    "tapeless/core/primitive.py": PRIMITIVE,
    "tapeless/core/__init__.py": '"""Vocabulary."""\n',
    "tapeless/prims/unary.py": FILLED,
    "tapeless/api/jit.py": DOCUMENTED,
}


def make_repository(folder: Path, files: dict[str, str]) -> Path:
    """Write the given files below a folder, and return it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_the_repository_is_within_its_budgets():
    assert sizes.excesses(ROOT) == []


def test_a_small_repository_is_within_its_budgets(tmp_path):
    assert sizes.excesses(make_repository(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("tapeless/core/big.py", "__all__ = []\n" + "x = 1\n" * 2501, "2505 code lines"),
        ("tapeless/core/prose.py", "__all__ = []\n" + "# why\n" * 4000, "all lines"),
        ("tapeless/api/long.py", "__all__ = []\n" + "\n" * 700, "701 lines, 700 allowed"),
        ("tests/api/test_long.py", "\n" * 601, "601 lines, 600 allowed"),
        ("tapeless/nn/f.py", "__all__ = []\ndef f():\n" + "    x = 1\n" * 60, "f:2 has 61 lines"),
        ("tapeless/nn/dense.py", DENSE, "16.0 tokens a code line"),
        ("tapeless/api/bare.py", "__all__ = []\ndef f():\n    return 1\n", "no docstring on f:2"),
        ("tapeless/nn/open.py", "def f():\n    return 1\n", "no __all__"),
        ("dev/later.py", "x = 1  # TO" + "DO: tidy\n", "later.py:1: a to-do without an issue"),
    ],
)
def test_a_planted_excess_is_found(tmp_path, file, text, message):
    found = sizes.excesses(make_repository(tmp_path, GOOD | {file: text}))
    assert any(message in line for line in found), found


def test_a_facade_may_list_many_names_on_a_line(tmp_path):
    files = GOOD | {"tapeless/names.py": "from tapeless.a import b, c, d, e, f, g, h\n"}
    assert sizes.excesses(make_repository(tmp_path, files)) == []


def test_a_signature_needs_no_docstring(tmp_path):
    files = GOOD | {"tapeless/api/jit.py": DOCUMENTED + SIGNATURE}
    assert sizes.excesses(make_repository(tmp_path, files)) == []


def test_too_many_flags_are_found(tmp_path):
    names = "".join(f'    "TAPELESS_{letter}",\n' for letter in "ABCDEFGHIJKLMNOP")
    text = f'"""A file."""\n\n__all__ = []\nnames = (\n{names})\n'
    found = sizes.excesses(make_repository(tmp_path, GOOD | {"tapeless/config.py": text}))
    assert any("16 flags" in line for line in found), found


def test_a_todo_with_an_issue_number_is_fine(tmp_path):
    files = GOOD | {"dev/later.py": "x = 1  # TO" + "DO(#12): tidy\n"}
    assert sizes.excesses(make_repository(tmp_path, files)) == []


def test_every_python_counts_an_fstring_as_one_token():
    text = 'x = f"a{b + 1}c{f(2)}"\ny = f"{f\'{b}\'}" + c\n'
    assert sizes.count_tokens(text, set()) == (2, 3 + 5)


def test_docstrings_do_not_count_as_code():
    assert sizes.count_tokens('def f():\n    """A\n    b."""\n    return 1\n', {2, 3}) == (2, 7)
