"""`python -m tapeless`: run a script or a module as if JAX were installed.

As under `python`, the program is the module `__main__`, and stays it when it has ended: threads and
functions that are registered with `atexit` find its classes there.
"""

from __future__ import annotations

import builtins
import gc
import importlib.util
import io
import os
import pkgutil
import sys
import types
from importlib.machinery import ModuleSpec, PathFinder, SourcelessFileLoader

from tapeless.dropin.finder import install_as_jax

__all__ = ["main"]

USAGE = """\
usage: python -m tapeless script.py [arguments]
       python -m tapeless -m module [arguments]

Runs a program that imports jax, on tapeless."""


def main(arguments: list[str]) -> int:
    """Run the program that the arguments name; return the exit code of a wrong call."""
    if arguments[:1] in ([], ["-h"], ["--help"]):
        print(USAGE)
        return 0 if arguments else 2
    install_as_jax()
    # What is loaded now lives as long as the process: the collector need not look at it again.
    gc.freeze()
    if arguments[0] == "-m":
        return _run_module(arguments[1:])
    return _run_script(arguments)


def _run_module(arguments: list[str]) -> int:
    """Run a module, which is found as `import` finds it; of a package, its `__main__`."""
    if not arguments:
        print(USAGE, file=sys.stderr)
        return 2
    sys.argv, sys.path[0] = arguments, os.getcwd()
    name = arguments[0]
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    if spec is None:
        return _refuse(f"No module named {name!r}", 1)
    arguments[0] = str(spec.origin)
    return _execute(_code(spec), spec, spec.parent)


def _run_script(arguments: list[str]) -> int:
    """Run a file, or the `__main__` of a directory or of an archive."""
    path = os.path.abspath(arguments[0])
    if not os.path.exists(path):
        return _refuse(f"can't open file {arguments[0]!r}", 2)
    sys.argv = arguments
    if pkgutil.get_importer(path) is None:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
        try:
            code = _compiled(path)
        except SyntaxError as error:  # as `python` shows it: nothing has run yet
            sys.excepthook(SyntaxError, error.with_traceback(None), None)
            return 1
        return _execute(code, None, None, path)
    sys.path[0] = path
    spec = PathFinder.find_spec("__main__", [path])
    if spec is None:
        return _refuse(f"can't find '__main__' module in {arguments[0]!r}", 1)
    return _execute(_code(spec), spec, "")


def _refuse(reason: str, code: int) -> int:
    """Say why nothing runs; return the exit code."""
    print(f"python -m tapeless: {reason}", file=sys.stderr)
    return code


def _compiled(path: str) -> types.CodeType:
    """Return the code of a file, source or compiled."""
    if path.endswith(".pyc"):
        return _code(ModuleSpec("__main__", SourcelessFileLoader("__main__", path)))
    with io.open_code(path) as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


def _code(spec: ModuleSpec) -> types.CodeType:
    """Return the code of a module that was found."""
    get_code = getattr(spec.loader, "get_code", None)
    found = get_code and get_code(spec.name)
    if found is None:
        raise ImportError(f"No code object available for {spec.name}", name=spec.name)
    return found


def _execute(
    code: types.CodeType, spec: ModuleSpec | None, package: str | None, path: str | None = None
) -> int:
    """Execute the code of a program as the module `__main__`."""
    module = types.ModuleType("__main__")
    vars(module).update(
        __builtins__=builtins,
        __file__=path or (spec and spec.origin),
        __loader__=spec and spec.loader,
        __package__=package,
        __spec__=spec,
    )
    sys.modules["__main__"] = module
    exec(code, vars(module))
    return 0
