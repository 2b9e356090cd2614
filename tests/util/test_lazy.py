"""Modules that are imported when they are used."""

import sys

import pytest

from tapeless.util import lazy


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that nobody has imported."""
    (tmp_path / "late_module.py").write_text("VALUE = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "late_module"
    sys.modules.pop("late_module", None)


def test_nothing_is_imported_before_the_first_use(module):
    late = lazy.load(module)
    assert repr(late) == "<module 'late_module', imported when used>"
    assert module not in sys.modules
    assert late.VALUE == 3
    assert module in sys.modules


def test_attributes_are_kept(module):
    late = lazy.load(module)
    assert "VALUE" not in vars(late)
    assert late.VALUE == vars(late)["VALUE"] == 3


def test_submodules_and_missing_names():
    assert lazy.load("os.path").sep == "/"
    with pytest.raises(AttributeError, match="module 'math' has no attribute 'nothing'"):
        _ = lazy.load("math").nothing
    with pytest.raises(ModuleNotFoundError):
        _ = lazy.load("no_such_module").anything


def test_dir_lists_the_module_proper():
    assert "sqrt" in dir(lazy.load("math"))
