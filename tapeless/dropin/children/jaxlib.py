"""What a process finds that has inherited the path of modules but not the import hook.

See `jax.py`, beside this file.
"""

import sys

import tapeless
from tapeless.util import lazy

__all__ = []

if __name__ == "jaxlib":  # and not while tools import all files of this package
    del sys.modules["jaxlib"]
    tapeless.install_as_jax()
    # The import that runs this file takes what stands under its name in the end.
    lazy.now("jaxlib")
