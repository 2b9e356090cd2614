"""The examples in docstrings print what they say, and public functions have examples.

Every file of the package is a case.  An example sees the names of its file, and `jax`, `jnp`, `lax`
and `np`.
"""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import tapeless as jax

ROOT = Path(__file__).parents[2]
GIVEN = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> list[str]:
    """Return the dotted names of the files with examples."""
    names = []
    for path in sorted((ROOT / "tapeless").rglob("*.py")):
        if ">>>" in path.read_text():
            dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            names.append(dotted.removesuffix(".__init__"))
    return names


@pytest.mark.parametrize("name", modules())
def test_examples_print_what_they_say(name):
    module = importlib.import_module(name)
    report = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    for case in doctest.DocTestFinder().find(module, name, extraglobs=GIVEN):
        runner.run(case, out=report.append)
    assert not report, "".join(report)


def documents() -> list[str]:
    """Return the names of the documents with examples."""
    return [path.name for path in sorted((ROOT / "docs").glob("*.md")) if ">>>" in path.read_text()]


@pytest.mark.parametrize("name", documents())
def test_documents_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = str(ROOT / "docs" / name)
    failed, tried = doctest.testfile(path, module_relative=False, optionflags=OPTIONS)
    assert tried
    assert not failed


def blocks(name: str) -> list[str]:
    """Return the Python code in a document."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name).read_text(), re.DOTALL)


def lines_of(text: str) -> str:
    """Return code without indentation and empty lines."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def test_operations_are_shown_as_they_are():
    files = ("tapeless/prims/unary.py", "tapeless/prims/structural.py", "tests/prims/test_unary.py")
    code = "\n".join(lines_of((ROOT / file).read_text()) for file in files)
    shown = blocks("adding-a-primitive.md")
    assert len(shown) == 4
    for block in shown:
        assert lines_of(block) in code, block


def test_the_transformation_that_is_shown_works():
    names: dict = {}
    for block in blocks("adding-a-transformation.md"):
        exec(block, names)
    count = names["count_multiplications"]
    x = jax.numpy.arange(3.0)
    out, number = count(lambda x: x * x * jax.numpy.sin(x), x)
    assert number == 2
    np.testing.assert_allclose(out, x * x * np.sin(x), rtol=1e-6)
    assert count(jax.jit(lambda x: x * x), x)[1] == 0


def test_every_document_is_in_the_contents():
    index = (ROOT / "docs" / "index.md").read_text()
    contents = (ROOT / "mkdocs.yml").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        assert path.name == "index.md" or f"({path.name})" in index
        assert f"- {path.name}\n" in contents


LIBRARIES = """
numpy numpy.fft numpy.linalg random nn ops tree tree_util image scipy.cluster.vq scipy.fft
scipy.integrate scipy.ndimage scipy.optimize scipy.signal scipy.sparse.linalg
""".split()
# Functions without an example, by the reason.
WITHOUT_EXAMPLE = {
    "read files or iterators": "fromfile fromiter load",
    "change settings or wait, and print nothing": "clear_caches",
    "to be written": ("checkpoint remat linear_transpose reshard smap"),
}


def is_documented_here(name: str, value: object) -> bool:
    """Tell whether a name is public, and its value comes with a docstring from the package."""
    home = getattr(value, "__module__", None) or ""
    return not name.startswith("_") and home.startswith("tapeless")


def public_functions() -> dict[str, object]:
    """Return the functions of the libraries and of the facade of facades, by name."""
    found = {}
    for name in LIBRARIES:
        module = importlib.import_module(f"tapeless.{name}")
        found |= {key: getattr(module, key) for key in dir(module)}
    found |= {
        name: value
        for name, value in vars(jax).items()
        if getattr(value, "__module__", "").startswith("tapeless.api")
    }
    return {
        name: value
        for name, value in found.items()
        if callable(value) and not inspect.isclass(value) and is_documented_here(name, value)
    }


def test_public_functions_have_examples():
    functions = public_functions()
    bare = {name for name, value in functions.items() if ">>>" not in (value.__doc__ or "")}
    assert len(functions) > 400
    assert bare == set(" ".join(WITHOUT_EXAMPLE.values()).split())
