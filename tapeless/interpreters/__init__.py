"""`interpreters`: the transformations, for libraries that bring primitives of their own."""

from tapeless.interpreters import ad as ad
from tapeless.interpreters import batching as batching
from tapeless.interpreters import mlir as mlir
from tapeless.interpreters import partial_eval as partial_eval
from tapeless.interpreters import xla as xla

__all__ = ["ad", "batching", "mlir", "partial_eval", "xla"]
