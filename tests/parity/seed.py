"""What the tests of the seed chapters' interface share: arrays, messages, and texts of programs."""

import numpy as np
import pytest

import tapeless as jax

__all__ = ["M", "V", "message", "text"]

V = np.array([1.0, 2.0, 3.0], np.float32)
M = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def message(error, function, *args, **kwargs):
    """Return the message of the error that a call raises."""
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    return str(caught.value)


def text(function, *args):
    """Return a program as text."""
    return jax.make_jaxpr(function)(*args).pretty_print(use_color=False)
