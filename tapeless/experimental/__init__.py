"""`experimental`: callbacks with effects.  Names only."""

from tapeless.control.callback import io_callback

__all__ = ["io_callback"]
