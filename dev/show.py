"""Print a program after each stage: `python dev/show.py MODULE:FUNCTION [--args X] [--at LIST]`.

X is Python for the arguments, with the names `jax`, `jnp` and `np`: `--args "jnp.ones(3), 2.0"`.
Without it the function is called with none, and returns a function and its arguments, as golden
programs do. LIST names stages with commas between; it is what TAPELESS_SHOW holds
(docs/architecture.md). The jaxpr is printed first in any case.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
STAGES = "jvp,split,transpose,batch,dce,simplify,fuse,buffers,kernels,llvm"


def main() -> None:
    """Compile the function with TAPELESS_SHOW set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("function", help="module:function")
    parser.add_argument("--args", metavar="X", help="the arguments, as Python")
    parser.add_argument("--at", default=STAGES, metavar="LIST", help=f"default: {STAGES}")
    options = parser.parse_args()
    # The switch is read when tapeless is imported, and what is compiled already shows nothing.
    os.environ |= {"TAPELESS_SHOW": options.at, "JAX_ENABLE_COMPILATION_CACHE": "0"}
    sys.path[:0] = [str(Path.cwd()), str(ROOT)]
    jax = importlib.import_module("tapeless")
    names = {"jax": jax, "jnp": importlib.import_module("tapeless.numpy")}
    names["np"] = importlib.import_module("numpy")
    module, _, name = options.function.partition(":")
    function = getattr(importlib.import_module(module), name)
    if options.args is None:
        function, arguments = function()
    else:
        arguments = eval(f"({options.args},)", names)
    print(jax.make_jaxpr(function)(*arguments))
    jax.jit(function).lower(*arguments).compile()


if __name__ == "__main__":
    main()
