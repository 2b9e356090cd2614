"""The programs that are measured, a file for each group."""

__all__ = []
