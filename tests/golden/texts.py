"""Where the kept texts are, and what they are the texts of."""

from pathlib import Path
from typing import Any

import tapeless.lax  # noqa: F401 - programs use it as an attribute
from tests.golden.nested import PROGRAMS
from tests.golden.programs import HLO_PROGRAMS

__all__ = ["KINDS", "current", "jaxpr_text", "kept"]

FOLDER = Path(__file__).parent
# The kinds of text, each with a folder, and the programs that have one.
KINDS = {"jaxprs": list(PROGRAMS), "stablehlo": HLO_PROGRAMS}


def jaxpr_text(jax: Any, name: str) -> str:
    """Return the jaxpr of a program as the module `jax` prints it."""
    function, args = PROGRAMS[name](jax)
    return f"{jax.make_jaxpr(function)(*args)}\n"


def stablehlo_text(jax: Any, name: str) -> str:
    """Return the StableHLO of a program as the module `jax` writes it."""
    function, args = PROGRAMS[name](jax)
    return jax.jit(function).lower(*args).as_text()


def current(jax: Any, kind: str, name: str) -> str:
    """Return the text of today."""
    return {"jaxprs": jaxpr_text, "stablehlo": stablehlo_text}[kind](jax, name)


def kept(kind: str, name: str) -> Path:
    """Return the file of the text that is kept."""
    return FOLDER / kind / f"{name}.txt"
