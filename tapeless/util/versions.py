"""Versions: of the JAX whose programs run here, and of this package."""

__all__ = ["__tapeless_version__", "__version__", "__version_info__"]

__version__ = "0.12.0.1"
__version_info__ = (0, 12, 0, 1)
__tapeless_version__ = "0.1.0"
