"""`distributed`: there is one process, so that starting and stopping it changes nothing."""

from tapeless.runtime.processes import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
