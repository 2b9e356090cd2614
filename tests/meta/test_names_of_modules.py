"""No file of a library is called as a public function of its package.

Importing `tapeless.numpy.shape` would put the module where users expect the function: an import of
the submodule rebinds the attribute of the package.  Public modules have the names that they have;
and a facade may bind the name of a file that it loads by that same statement.
"""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import tapeless

PACKAGE = Path(tapeless.__file__).parent
LIBRARIES = ("numpy", "random", "nn", "ops", "tree", "scipy")
ALLOWED = {"numpy": {"linalg", "fft"}, "scipy": {"linalg", "fft"}, "tree": {"flatten"}}


def dotted(folder: Path) -> str:
    """Return the name under which a folder is imported."""
    return ".".join(["tapeless", *folder.relative_to(PACKAGE).parts])


def submodules(folder: Path) -> set[str]:
    """Return the names of the modules in a folder."""
    return {info.name for info in pkgutil.iter_modules([str(folder)])}


def facade_names(text: str) -> set[str]:
    """Return the names that a facade binds by `from module import`, without those of modules."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = importlib.import_module(node.module)
        for alias in node.names:
            if alias.name == "*":
                names.update(module.__all__)
            elif not inspect.ismodule(getattr(module, alias.name)):
                names.add(alias.asname or alias.name)
    return names


def facades() -> list[Path]:
    """Return the folders whose `__init__` binds names."""
    paths = sorted(PACKAGE.rglob("__init__.py"))
    return [path.parent for path in paths if facade_names(path.read_text())]


@pytest.mark.parametrize("folder", facades(), ids=dotted)
def test_functions_stay_functions_when_all_modules_are_read(folder):
    package = importlib.import_module(dotted(folder))
    for name in submodules(folder):
        importlib.import_module(f"{dotted(folder)}.{name}")
    names = facade_names((folder / "__init__.py").read_text())
    names = [name for name in names if hasattr(package, name)]  # the tools of facades leave them
    assert not [name for name in names if inspect.ismodule(getattr(package, name))]


@pytest.mark.parametrize("library", [name for name in LIBRARIES if (PACKAGE / name).is_dir()])
def test_no_module_takes_the_name_of_a_function(library):
    for path in (PACKAGE / library).rglob("__init__.py"):
        allowed = ALLOWED.get(path.parent.name, set())
        assert not submodules(path.parent) & facade_names(path.read_text()) - allowed


def test_facades_and_their_names_are_found():
    assert {"numpy", "random", "nn", "ops", "tree"} <= {folder.name for folder in facades()}
    assert facade_names("from tapeless.numpy.creation import *") >= {"zeros", "arange"}
    text = "from tapeless import numpy\nfrom tapeless.tree.maps import tree_map as map"
    assert facade_names(text) == {"map"}
