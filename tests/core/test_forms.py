"""TAPELESS_SHOW: every stage that can be asked for shows its form, under the program's name."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tapeless as jax
from tapeless import config
from tapeless import numpy as jnp

ROOT = Path(__file__).parents[2]
X = np.arange(3, dtype=np.float32)
numbers = itertools.count(2)  # programs that do the same are compiled once


def mapped_gradient():
    """Return a new function whose compilation goes through every stage."""
    number = next(numbers)

    def shown(x):
        inner = jax.jit(lambda y: (jnp.sin(y) * number, jnp.cos(y)))
        return inner(x)[0]

    return jax.jit(jax.vmap(jax.grad(shown)))


# By stage, a word of its form.
WORDS = {
    "stage": "in (",
    "jvp": "cos",
    "split": "mul",
    "transpose": "mul",
    "batch": "f32[3] = sin",
    "dce": "in (",
    "simplify": "cos",
    "fuse": "",
    "buffers": "arena",
    "kernels": "for i",
    "llvm": "define",
    "asm": ".text",
}


@pytest.mark.parametrize("stage", WORDS)
def test_a_stage_shows_its_form_and_no_other_does(stage, capsys):
    before = config.read("tapeless_show")
    config.update("tapeless_show", stage)
    try:
        mapped_gradient().lower(X).compile()
    finally:
        config.update("tapeless_show", before)
    text = capsys.readouterr().out
    headings = [line for line in text.splitlines() if line.startswith("-- ")]
    assert headings
    assert all(line.startswith(f"-- {stage} of ") for line in headings)
    assert WORDS[stage] in text
    if stage in ("stage", "jvp", "simplify"):
        assert "test_forms.py:" in text


def test_nothing_is_shown_unasked(capsys):
    mapped_gradient().lower(X).compile()
    assert capsys.readouterr().out == ""


def test_the_command_prints_the_stages_that_are_asked_for():
    command = [sys.executable, str(ROOT / "dev/show.py"), "tapeless.numpy:sin"]
    options = ["--args", "jnp.ones(3)", "--at", "kernels,asm"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    assert "-- kernels of sin" in done.stdout
    assert "-- asm of sin" in done.stdout
    assert done.stdout.startswith("{ lambda")
