"""TAPELESS_SHOW: every stage that can be asked for shows its form, under the program's name."""

from __future__ import annotations

import itertools
import re
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
    if stage not in ("buffers", "llvm", "asm"):  # this program has no temporaries
        assert "test_forms.py:" in text, "nothing says which line of the user's it comes from"


def test_loops_and_memory_have_the_lines_that_they_come_from(capsys):
    def f(x):
        y = jnp.sin(x)
        z = jnp.cumsum(y) * next(numbers)
        return z[::-1] + z.sum()

    before = config.read("tapeless_show")
    config.update("tapeless_show", "fuse,buffers,kernels")
    try:
        jax.jit(f).lower(np.arange(3000, dtype=np.float32)).compile()
    finally:
        config.update("tapeless_show", before)
    text = capsys.readouterr().out
    first = f.__code__.co_firstlineno
    fuse, kernels, buffers = text[text.index("-- fuse of f") :].split("\n-- ")[:3]
    assert re.search(rf"store f32\[3000\]: .*  # sin .*test_forms.py:{first + 1}:", fuse)
    assert re.search(rf"=.*  # .*sin .*test_forms.py:{first + 1}:", kernels)
    held = r" t\d+: float32\[3000\], 12000 bytes"
    assert re.search(rf"{held}  # sin .*test_forms.py:{first + 1}:", buffers)


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
