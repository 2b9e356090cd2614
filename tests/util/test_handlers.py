"""Handlers of what leaves a function: called once, and the function is what it was otherwise."""

from __future__ import annotations

import inspect
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from tapeless.util.handlers import has_handler, with_handler


class Noted(list):
    """What exceptions a handler has seen."""

    def __call__(self) -> None:
        """Note the exception that is under way."""
        self.append(repr(sys.exception()))


def busy(x: int, *, step: int = 1) -> object:
    """Leave by each of the ways: a result, and exceptions from within blocks and without."""
    if x == 0:
        raise ValueError("zero")
    try:
        if x == 1:
            raise KeyError(1)
        if x == 2:
            raise TypeError("two")
    except KeyError:
        return "caught"
    finally:
        step += 1
    with open("/dev/null"):  # noqa: PTH123
        if x == 3:
            raise OSError("three")
    return [step // z for z in (x - 4,)]


def guarded(function: object) -> tuple[object, Noted]:
    """Return a copy of a function with a handler, and the handler."""
    noted = Noted()
    copy = type(function)(function.__code__, function.__globals__)
    copy.__kwdefaults__, copy.__annotations__ = function.__kwdefaults__, function.__annotations__
    with_handler(copy, noted)
    return copy, noted


@pytest.mark.parametrize(
    ("x", "error"),
    [(0, ValueError), (2, TypeError), (3, OSError), (4, ZeroDivisionError), ("", TypeError)],
)
def test_what_leaves_is_seen_once_and_goes_on(x: int, error: type[Exception]) -> None:
    function, noted = guarded(busy)
    with pytest.raises(error) as caught:
        function(x)
    assert noted == [repr(caught.value)]
    assert sys.exception() is None
    with pytest.raises(error) as plain:
        busy(x)
    entries = [traceback.extract_tb(e.value.__traceback__)[1:] for e in (caught, plain)]
    lines = [[(entry.name, entry.lineno) for entry in part] for part in entries]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("x", [1, 5, 6])
def test_what_is_caught_inside_is_not_seen(x: int) -> None:
    function, noted = guarded(busy)
    assert function(x) == busy(x)
    assert noted == []


def test_the_function_stays_what_it_is() -> None:
    function, noted = guarded(busy)
    assert inspect.signature(function) == inspect.signature(busy)
    assert inspect.getsource(function) == inspect.getsource(busy)
    assert has_handler(function.__code__, noted) and not has_handler(busy.__code__, noted)
    code = function.__code__
    with_handler(function, noted)
    assert function.__code__ is code


def test_cells_and_many_constants() -> None:
    cell = []
    noted = Noted()

    def closed(x: int) -> float:
        cell.append(x)
        return [cell, 1 / x][1]

    with_handler(closed, noted)
    assert closed(2) == 0.5
    with pytest.raises(ZeroDivisionError):
        closed(0)
    assert (cell, len(noted)) == ([2, 0], 1)
    body = "".join(f"    x += {i}.5\n" for i in range(300))
    namespace: dict = {}
    exec(f"def f(x):\n{body}    return 1 / (x - x)\n", namespace)
    with_handler(namespace["f"], noted)
    with pytest.raises(ZeroDivisionError):
        namespace["f"](1)
    assert len(noted) == 2


def test_a_handler_that_raises_replaces_the_exception() -> None:
    def handler() -> None:
        raise KeyError("instead")

    def fails() -> None:
        raise ValueError("first")

    with_handler(fails, handler)
    with pytest.raises(KeyError) as caught:
        fails()
    assert repr(caught.value.__context__) == "ValueError('first')"


def test_generators_are_left_alone() -> None:
    def rows() -> object:
        yield 1
        raise ValueError

    noted = Noted()
    with_handler(rows, noted)
    with pytest.raises(ValueError):
        list(rows())
    assert noted == []


def test_functions_made_again_share_their_code() -> None:
    def made() -> object:
        return lambda x: 1 / x

    noted, others = Noted(), Noted()
    first, second, third = made(), made(), made()
    with_handler(first, noted)
    with_handler(second, noted)
    with_handler(third, others)
    assert first.__code__ is second.__code__ is not third.__code__
    for function in (first, second, third):
        with pytest.raises(ZeroDivisionError):
            function(0)
    assert (len(noted), len(others)) == (2, 1)


UNKNOWN_VERSION = """
import sys
import numpy  # which looks at the version, too
version = sys.version_info
sys.version_info = type("Version", (tuple,), {"major": 3, "minor": 99})((3, 99, 0, "final", 0))
from tapeless.util import handlers
sys.version_info = version
assert handlers._before == b"" and handlers._own == []
import tapeless as jax, tapeless.numpy as jnp

def noted():
    raise AssertionError

def plain():
    return 1 / 0

code = plain.__code__
handlers.with_handler(plain, noted)
assert plain.__code__ is code and not handlers.has_handler(code, noted)

assert jax.jit(jax.vmap(jax.grad(lambda x: x**2)))(jnp.arange(3.0))[2] == 4.0
for call in (
    lambda: jnp.add(jnp.ones((2, 3)), jnp.ones(7)),
    lambda: jax.jit(lambda x: jax.vmap(jnp.linalg.inv)(x))(jnp.ones((2, 2, 3))),
):
    try:
        call()
    except ValueError as error:
        assert "shape" in str(error)
    else:
        raise AssertionError
assert float(jax.jit(jnp.sin)(0.0)) == 0.0
try:
    jax.jit(jax.grad(lambda x: 1.0 if x > 0 else x))(1.0)
except jax.errors.TracerBoolConversionError as error:
    assert "for jit" in str(error)
else:
    raise AssertionError

def fails():
    jnp.add(jnp.ones((2, 3)), jnp.ones(7))

fails()
"""


def test_under_a_version_that_is_not_known_functions_stay_as_they_are(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(UNKNOWN_VERSION)
    found = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    # What nobody catches is filtered all the same, by the hook of the interpreter.
    assert found.returncode == 1, found.stderr
    assert "ValueError: Incompatible shapes" in found.stderr, found.stderr
    assert "in add(argument 1: float32[2,3], argument 2: float32[7])" in found.stderr
    assert "/tapeless/" not in found.stderr.replace(str(tmp_path), "")
