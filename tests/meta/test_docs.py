"""The examples in docstrings print what they say, and public functions have examples.

Every file of the package is a case.  An example sees the names of its file, and `jax`, `jnp`, `lax`
and `np`.
"""

import doctest
import importlib
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
