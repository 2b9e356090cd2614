"""Modules that are imported when they are used."""

import subprocess
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


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The name of a package that defers one of its modules."""
    folder = tmp_path / "late_package"
    folder.mkdir()
    head = "from tapeless.util import lazy\nlazy.defer(__name__, 'part')\n"
    (folder / "__init__.py").write_text(head + "from late_package import part as part\n")
    (folder / "part.py").write_text("VALUE = 4\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "late_package"
    for name in ("late_package", "late_package.part"):
        sys.modules.pop(name, None)


def test_a_package_imports_what_it_defers_when_it_is_used(package):
    late = lazy.now(package)
    assert f"{package}.part" not in sys.modules
    assert late.part.VALUE == 4
    assert late.part is sys.modules[f"{package}.part"]


def test_what_few_programs_need_is_not_imported_with_the_package():
    families = "random", "nn", "ops", "image", "scipy", "numpy.linalg", "lax.linalg", "extend"
    late = "numpy.fft", "runtime.xla", "kernel.nodes", "prims.panels", "prims.convlower"
    names = [f"tapeless.{name}" for name in (*families, *late, "prims.sortloops")]
    names += ["scipy", "llvmlite", "logging", "hashlib", "traceback"]
    code = f"import sys, tapeless; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
