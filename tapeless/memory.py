"""`memory`: the kinds of memory; here all are the host's."""

import enum

__all__ = ["Space"]


class Space(enum.Enum):
    """Where an array may be.

    >>> [space.name for space in jax.memory.Space]
    ['Device', 'Host', 'Any']
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()
