"""What a process finds that has inherited the path of modules but not the import hook.

`multiprocessing` starts processes that import the main module again, and so `jax`.  Their
`sys.path` is that of the first process, where `install_as_jax` has entered this folder.
"""

import sys

import tapeless
from tapeless.util import lazy

__all__ = []

if __name__ == "jax":  # and not while tools import all files of this package
    del sys.modules["jax"]
    tapeless.install_as_jax()
    # The import that runs this file takes what stands under its name in the end.
    lazy.now("jax")
