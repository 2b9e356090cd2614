"""Imports go down only, and the check notices when they do not."""

import sys
from pathlib import Path

import pytest

from dev import floors

ROOT = Path(__file__).parents[2]


def make_package(folder: Path, files: dict[str, str]) -> Path:
    """Write a package named tapeless with the given files, and return its folder."""
    for name, text in files.items():
        path = folder / "tapeless" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "tapeless"


GOOD = {
    "__init__.py": "from tapeless.api.jit import jit",
    "errors.py": "",
    "util/lazy.py": "import importlib\nload = importlib.import_module",
    "core/__init__.py": "",
    "core/aval.py": "from tapeless import errors",
    "core/trace.py": "import numpy\nfrom tapeless.core import aval\nimport tapeless.errors",
    "compiler/lower.py": "from tapeless.core.trace import Trace",
    "api/jit.py": "from tapeless.util import lazy\nlower = lazy.load('tapeless.compiler.lower')",
}


def test_the_package_has_no_fault():
    assert floors.faults(ROOT / "tapeless") == []


def test_a_house_in_order_has_no_fault(tmp_path):
    assert floors.faults(make_package(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("core/aval.py", "from tapeless.api import jit", "F1 imports tapeless.api.jit on F7"),
        ("core/aval.py", "import tapeless.api.jit as j", "F1 imports tapeless.api.jit on F7"),
        ("core/aval.py", "from tapeless import jit", "F1 imports tapeless on F9"),
        ("core/aval.py", "from tapeless.core import trace", "import cycle"),
        ("core/aval.py", "def f():\n    import numpy", "nested import"),
        ("core/aval.py", "from .trace import Trace", "relative import"),
        ("core/aval.py", "x = importlib.import_module('os')", "import_module"),
        ("core/aval.py", "lazy.load('tapeless.api.jit')", "F1 imports tapeless.api.jit on F7"),
        ("core/aval.py", "if TYPE_CHECKING:\n    from tapeless.api import jit", "nested import"),
        ("core/aval.py", "if TYPE_CHECKING:\n    from tapeless.api import jit", "F1 imports"),
        ("attic/junk.py", "", "stands on no floor"),
    ],
)
def test_a_planted_fault_is_found(tmp_path, file, text, message):
    found = floors.faults(make_package(tmp_path, GOOD | {file: text}))
    assert any(message in line and file.split("/")[0] in line for line in found), found


def test_main_fails_on_a_fault(tmp_path, monkeypatch, capsys):
    package = make_package(tmp_path, GOOD | {"errors.py": "from tapeless.core import aval"})
    monkeypatch.setattr(sys, "argv", ["floors.py", str(package)])
    assert floors.main() == 1
    assert "errors.py:1: F0 imports tapeless.core.aval on F1" in capsys.readouterr().out
