"""Functions of the libraries have JAX's parameters: names, order, kinds, defaults.

Defaults are compared by their text.  Where JAX says only `*args`, nothing is compared.
"""

from __future__ import annotations

import importlib
import inspect
import types
from typing import Any

import pytest

from tests.meta import names

pytestmark = pytest.mark.oracle

MODULES = """
image scipy.signal scipy.ndimage scipy.fft scipy.cluster.vq scipy.integrate scipy.interpolate
scipy.optimize scipy.spatial.transform scipy.sparse.linalg experimental.ode experimental.jet
lax lax.linalg numpy numpy.linalg numpy.fft nn nn.initializers ops random
scipy.special scipy.linalg scipy.stats tree
""".split()
# The abstract class of arrays, whose methods come from NumPy's protocol.
SKIPPED = {"numpy": {"ndarray"}}


def parameters(value: Any) -> list[tuple]:
    """Return what a call may give: names, kinds, and defaults as text."""
    found = []
    for parameter in inspect.signature(value).parameters.values():
        default = parameter.default
        if default is not inspect.Parameter.empty:
            default = _text(default)
        found.append((parameter.name, parameter.kind, default))
    return found


def _text(default: Any) -> str:
    """Return what tells defaults of both systems apart, and no address."""
    for name in ("__name__", "name"):
        if isinstance(getattr(default, name, None), str):
            return getattr(default, name)
    text = str(default)
    return "an object" if "object at 0x" in text else text


def says_nothing(value: Any) -> bool:
    """Tell whether a function takes anything, as far as it says."""
    first = next(iter(inspect.signature(value).parameters.values()), None)
    return first is not None and first.kind is inspect.Parameter.VAR_POSITIONAL


def callables(module: str) -> dict[str, Any]:
    """Return the public functions and classes of ours, with the methods of the classes."""
    ours = names.find_module(f"tapeless.{module}")
    found = {}
    for name in names.stored_names()[f"jax.{module}"]:
        value = getattr(ours, name, None)
        if (
            name in SKIPPED.get(module, ())
            or value is None
            or isinstance(value, types.ModuleType)
            or not callable(value)
        ):
            continue
        if not inspect.isclass(value) or hasattr(value, "_fields"):
            found[name] = value
        if inspect.isclass(value) and module.startswith("scipy"):
            public = [each for each in vars(value) if not each.startswith("_")]
            found |= {f"{name}.{each}": getattr(value, each) for each in public}
    return {name: value for name, value in found.items() if callable(value)}


@pytest.mark.parametrize("module", MODULES)
def test_parameters_are_jaxs(module):
    theirs = importlib.import_module(f"jax.{module}")
    wrong = {}
    for name, value in callables(module).items():
        expected: Any = theirs
        for part in name.split("."):
            expected = getattr(expected, part, None)
        if expected is None or says_nothing(expected):
            continue
        if parameters(value) != parameters(expected):
            wrong[name] = (parameters(value), parameters(expected))
    assert not wrong
