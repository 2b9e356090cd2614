"""`stablehlo`: programs in the text format that compilers of array programs share."""

from tapeless.stablehlo.loading import Loaded, load

__all__ = ["Loaded", "load"]
