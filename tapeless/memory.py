"""`memory`: the kinds of memory; here all are the host's."""

import enum

__all__ = ["Space"]


class Space(enum.Enum):
    """Where an array may be."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()
