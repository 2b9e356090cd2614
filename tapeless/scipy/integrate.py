"""`jax.scipy.integrate`: integrals of sampled functions.

`trapezoid` is that of `jax.numpy`.
"""

from tapeless.numpy.cumulative import trapezoid as trapezoid
from tapeless.util.names import close_module

__all__ = ["trapezoid"]

close_module("jax.scipy.integrate", globals())
