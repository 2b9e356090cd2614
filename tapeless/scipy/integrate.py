"""`jax.scipy.integrate`: integrals of sampled functions.

`trapezoid` is that of `jax.numpy`.
"""

from tapeless.numpy.cumulative import trapezoid as trapezoid
from tapeless.util.names import listed_names, missing_attribute

__all__ = ["trapezoid"]

__dir__ = listed_names("jax.scipy.integrate", globals())
__getattr__ = missing_attribute("jax.scipy.integrate")
