"""`experimental.pjit`: an older name of `jit`.  Names only."""

from tapeless.api.jit import jit as pjit

__all__ = ["pjit"]
