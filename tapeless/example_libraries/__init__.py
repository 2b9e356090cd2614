"""Small libraries that show how others are built: optimizers, and layers as pairs of functions."""

__all__: list[str] = []
