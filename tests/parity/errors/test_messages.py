"""Mistakes raise the class that they raise in JAX, and messages say what JAX's say."""

from __future__ import annotations

import operator
import re
import types
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tapeless
from tests.parity.errors.cases import CASES

pytestmark = pytest.mark.oracle

HINT = re.compile(r"(--------------------)?\s*(See https://docs\.jax\.dev\S+|See help\(.*\)\.)\s*")
MOST_LINES = 15
LEAST_COMMON = 0.2  # of the words of JAX's message


def mistake(library: types.ModuleType, numpy: Any, text: str) -> Callable[[], Any]:
    """Return the function that makes the mistake."""
    names = {
        "np": np, "operator": operator, "kept": [], "jax": library, "jnp": numpy,
        "lax": library.lax, "random": library.random, "jit": library.jit, "grad": library.grad,
        "vmap": library.vmap,
    }  # fmt: skip
    return lambda: eval(compile(text, "program", "eval"), names)


def raised(run: Callable[[], Any]) -> Exception:
    """Return the exception that a mistake raises."""
    try:
        result = run()
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error
    raise AssertionError(f"nothing was raised; the result is {result!r}")


def words(error: Exception) -> set[str]:
    """Return the words of a message, without its hint and without numbers of objects."""
    text = HINT.sub("", str(error)).lower()
    return set(re.findall(r"[a-z_]{3,}", text))


def shapes(error: Exception) -> set[str]:
    """Return the shapes that a message mentions, but for that of the tracer."""
    text = re.sub(r"traced array with shape \S+", "", str(error))
    text = re.sub(r"\w+\d+\[(\d+)\]", r"(\1,)", text)
    return set(re.findall(r"\(\d+,(?: \d+,?)*\)|\w+\d+\[[\d,]*\]", text))


def family(error: Exception) -> list[str]:
    """Return the names of the classes of an error, up to Exception."""
    return [kind.__name__ for kind in type(error).__mro__[: type(error).__mro__.index(Exception)]]


@pytest.mark.parametrize("name", CASES)
def test_class_and_meaning_are_those_of_jax(name: str) -> None:
    theirs = raised(mistake(jax, jax.numpy, CASES[name]))
    ours = raised(mistake(tapeless, tapeless.numpy, CASES[name]))
    both = f"\n--- jax: {theirs!r}\n--- ours: {ours!r}"
    assert type(theirs).__name__ in [*family(ours), "Exception"], both
    assert shapes(theirs) <= shapes(ours), both
    common = words(theirs) & words(ours)
    assert len(common) >= LEAST_COMMON * len(words(theirs)), both


@pytest.mark.parametrize("name", CASES)
def test_messages_and_tracebacks_are_short_and_show_user_code_only(name: str) -> None:
    error = raised(mistake(tapeless, tapeless.numpy, CASES[name]))
    text = "\n".join((str(error), *getattr(error, "__notes__", ())))
    assert len(text.splitlines()) <= MOST_LINES, text
    tapeless.util.frames.filter_traceback(error)
    entry, files = error.__traceback__, set()
    while entry is not None:
        files.add(entry.tb_frame.f_code.co_filename)
        entry = entry.tb_next
    assert files <= {__file__, "program"}
