"""Scripts that import jax print the same numbers on this package and on JAX."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "drop_in").glob("*.py"))
ROOT = Path(__file__).parents[2]


def printed(*command: str) -> list[str]:
    """Run Python and return the words that it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *command], capture_output=True, text=True, cwd=ROOT,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


def numbers(words: list[str]) -> list[float]:
    """Return the words that are numbers."""
    return [float(word) for word in words if word[0] in "-.0123456789"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_runs(script):
    found = numbers(printed("-m", "tapeless", str(script)))
    assert len(found) >= 4
    assert np.isfinite(found).all()


@pytest.mark.oracle
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_prints_what_it_prints_on_jax(script):
    assert importlib.util.find_spec("jax") is not None
    found, expected = numbers(printed("-m", "tapeless", str(script))), numbers(printed(str(script)))
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)
