"""`debug`: looking at values while compiled programs run.  Names only."""

from tapeless.control.callback import debug_callback as callback
from tapeless.control.callback import debug_print as print

__all__ = ["callback", "print"]
