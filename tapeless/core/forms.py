"""What a program looks like after each stage, for those who ask: TAPELESS_SHOW=stage,jvp,...

    -- jvp of loss
    { lambda ; a:f32[3] b:f32[3]. let c:f32[3] = mul b 2.0:f32[]  # program.py:7:11 (loss) ...

A stage shows its result when it has one; a result that is remembered is not made again, so it is
shown once.  Programs carry the user's line behind each equation, loops and memory those of the
equations that they come from.

| stage | what is shown |
| --- | --- |
| stage | a traced function |
| jvp, split, transpose, batch, dce | a program derived from another |
| simplify, fuse, buffers, kernels | the compiler's: what it reads, stores, keeps, and its loops |
| llvm, asm | the text that is handed to LLVM, and the machine code that comes back |
"""

from __future__ import annotations

from collections.abc import Callable

from tapeless import config
from tapeless.core.jaxpr import Jaxpr

__all__ = ["is_asked", "program_form", "show"]


def is_asked(stage: str) -> bool:
    """Tell whether the user asked to see this stage."""
    asked = config.read("tapeless_show")
    return bool(asked) and stage in str(asked).split(",")


def show(stage: str, what: str, form: Callable[[], str]) -> None:
    """Print `form()` under a heading if the user asked to see this stage."""
    if is_asked(stage):
        print(f"-- {stage} of {what or 'a program'}\n{form()}")


def program_form(jaxpr: Jaxpr) -> Callable[[], str]:
    """Return what prints a program with the user's lines."""
    return lambda: jaxpr.pretty_print(source_info=True, use_color=False)
