"""What the fuzzer feeds besides calls: random programs, texts of modules, files.

Each input is an expression, so that it can be printed, run again, and sent to a child process:

    program(7, 'grad', 'float32', 3)    a random program of tests/laws, and what is done to it
    jaxpr(7)                            a random jaxpr (see `jaxprs.py`)
    module(7)                           a damaged StableHLO module, loaded, and called if it loads
    export(7)                           a damaged file of an exported function
    cached(7)                           a damaged file of the cache of compiled programs

The number is the seed of the input.  Loading a module or a file may raise ValueError,
NotImplementedError, or that there is not enough memory; every other error is a fault of ours.
"""

from __future__ import annotations

import functools
import random
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tapeless.compiler.objects import ObjectCache
from tapeless.stablehlo.blobs import read_blob, write_blob
from tests.laws.recipes import cook, drawn
from tests.safety.damage import CHANGES, damaged_bytes, damaged_json
from tests.safety.jaxprs import evaluated
from tests.stablehlo.corpus import cases

__all__ = ["Endless", "helpers", "other_inputs"]

# What is done to a program: (jax, function of two vectors, x, y) -> a tree of arrays.
Use = Callable[[ModuleType, Callable, Any, Any], Any]
REFUSALS = (ValueError, NotImplementedError, MemoryError, OverflowError)
WIDE = frozenset("int64 uint64 float64 complex128".split())
SECONDS = 5  # for a call of a module with a loop, which may be endless: it was damaged


class Endless(BaseException):
    """A loop of a damaged module has used up its time."""


def _total(jax: ModuleType, f: Callable) -> Callable:
    """Return the sum of a function's result."""
    return lambda *args: jax.numpy.sum(jax.numpy.real(f(*args)))


USES: dict[str, Use] = {
    "eval": lambda jax, f, x, y: f(x, y),
    "jit": lambda jax, f, x, y: jax.jit(f)(x, y),
    "jvp": lambda jax, f, x, y: jax.jvp(f, (x, y), (y, x)),
    "grad": lambda jax, f, x, y: jax.grad(_total(jax, f), (0, 1))(x, y),
    "jit_grad": lambda jax, f, x, y: jax.jit(jax.grad(_total(jax, f)))(x, y),
    "vmap": lambda jax, f, x, y: jax.vmap(f, (0, None))(jax.numpy.stack([x, y, x * y]), y),
    "vmap_grad": lambda jax, f, x, y: jax.vmap(jax.grad(_total(jax, f)), (None, 0))(
        x, jax.numpy.stack([y, x])
    ),
    "remat_grad": lambda jax, f, x, y: jax.grad(_total(jax, jax.checkpoint(f)))(x, y),
}
OURS = {
    "text": lambda jax, f, x, y: jax.stablehlo.load(jax.jit(f).lower(x, y).as_text())(x, y),
    "checked": lambda jax, f, x, y: jax.experimental.checkify.checkify(
        f, errors=jax.experimental.checkify.all_checks
    )(x, y)[1],
}  # fmt: skip
DTYPES = ("float32", "float32", "bfloat16", "complex64")


def _programs(rng: random.Random, oracle: bool) -> str:
    """Return a program's expression."""
    use = rng.choice([*USES, *(() if oracle else OURS)])
    dtype = rng.choice([dtype for dtype in DTYPES if not (oracle and dtype == "bfloat16")])
    return f"program({rng.randrange(2**31)}, {use!r}, {dtype!r}, {rng.choice((0, 1, 3, 3, 8))})"


KINDS: dict[str, Callable[[random.Random, bool], str]] = {
    "programs": _programs,
    "jaxprs": lambda rng, oracle: f"jaxpr({rng.randrange(2**31)})",
    "modules": lambda rng, oracle: f"module({rng.randrange(2**31)})",
    "exports": lambda rng, oracle: f"export({rng.randrange(2**31)})",
    "cache": lambda rng, oracle: f"cached({rng.randrange(2**31)})",
}


def other_inputs(kind: str, seed: int, oracle: bool) -> Iterator[str]:
    """Yield expressions of a kind without end."""
    rng = random.Random(seed)
    while True:
        yield KINDS[kind](rng, oracle)


def helpers(jax: ModuleType) -> dict[str, Callable]:
    """Return the functions that the expressions call, for one of the two systems."""

    def program(seed: int, use: str, dtype: str, size: int) -> Any:
        """Run a random program."""
        without = {"own_vjp"} if use == "jvp" else set()
        without |= {"loop"} if "grad" in use else set()
        recipe = drawn(random.Random(seed).choice, 2, frozenset(without))
        values = np.random.RandomState(seed).randn(2, size)
        x, y = (jax.numpy.asarray(value, dtype) for value in values)
        return (USES | OURS)[use](jax, cook(jax, recipe), x, y)

    found = {"program": program}
    if jax.__name__ == "tapeless":
        found |= {
            "jaxpr": functools.partial(evaluated, jax),
            "module": functools.partial(_module, jax),
            "export": functools.partial(_export, jax),
            "cached": functools.partial(_cached, jax),
        }
    return found


# Damage


def _module(jax: ModuleType, seed: int) -> None:
    """Load a damaged module, and call it if it loads."""
    rng = random.Random(seed)
    text = _text(jax, rng)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 4))):
        text = rng.choice(CHANGES)(rng, text)
    if rng.random() < 0.1:  # the rest is that of another module
        text = text[: len(text) // 2] + _text(jax, rng)[-len(text) // 2 :]
    _use(lambda: _loaded(jax, text), "while" in text)


def _loaded(jax: ModuleType, text: str) -> Any:
    """Return a loaded module; an error that does not name a line is a fault."""
    try:
        return jax.stablehlo.load(text)
    except REFUSALS as error:
        assert "line" in str(error) or "the module has" in str(error), repr(error)
        raise


def _export(jax: ModuleType, seed: int) -> None:
    """Read a damaged file of an exported function, and call it if it can be read."""
    rng = random.Random(seed)
    data = _exported(jax, rng.randrange(4))
    if rng.random() < 0.4:
        damaged = damaged_bytes(rng, data)
    else:
        blob = read_blob(data)
        header = damaged_json(rng, blob.header) if rng.random() < 0.7 else blob.header
        parts = [
            damaged_bytes(rng, part) if rng.random() < 0.3 else part
            for part in (blob.module, blob.derivative)
        ]
        damaged = bytes(write_blob(type(blob)(header, *parts)))

    def read() -> Callable:
        """Return a function of arrays of the types that the file names."""
        found = jax.export.deserialize(damaged)
        return _Called(found.in_avals, lambda *args: _both_ways(found, args))

    _use(read, False)


class _Called:
    """A function with the types of its arguments."""

    def __init__(self, in_avals: tuple, function: Callable) -> None:
        """Keep both."""
        self.in_avals = in_avals
        self._function = function

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return self._function(*args)


def _both_ways(found: Any, args: tuple) -> None:
    """Call an exported function and its derivative."""
    tree = found.in_tree
    given, named = tree.unflatten(args)
    found.call(*given, **named)
    if found.has_vjp():
        found.vjp()


def _cached(jax: ModuleType, seed: int) -> None:
    """Read a damaged file of the cache of compiled programs: it must be a miss."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        cache = ObjectCache()
        cache._directory = Path(folder)
        key = f"{rng.getrandbits(256):064x}"
        code = rng.randbytes(rng.choice((0, 1, 40, 3000)))
        cache.save(key, code)
        path = Path(folder) / f"{key}.o"
        data = path.read_bytes()
        damaged = damaged_bytes(rng, data)
        path.write_bytes(damaged)
        cache._memory.clear()
        read = cache.load(key)
        assert read is None or damaged == data, "a damaged file was read"


def _use(load: Callable[[], Any], may_be_endless: bool) -> None:
    """Load a function and call it on ones; complain of all errors but refusals."""
    before = signal.getsignal(signal.SIGALRM)
    try:
        function = load()
        if sum(aval.size for aval in function.in_avals) > 10**7:
            return
        if any(aval.dtype.name in WIDE for aval in function.in_avals):
            return  # such arrays become narrow ones, which the function refuses
        args = [np.ones(aval.shape, aval.dtype) for aval in function.in_avals]
        if may_be_endless:
            signal.signal(signal.SIGALRM, _ring)
            signal.alarm(SECONDS)
        function(*args)
    except (*REFUSALS, Endless):
        return
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}") from error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _ring(number: int, frame: object) -> None:
    """End the loop."""
    raise Endless


@functools.cache
def _corpus(jax: ModuleType) -> list[tuple[Callable, tuple]]:
    """Return the functions whose modules are damaged."""
    found = cases(jax)
    del found["three_fry"]  # it is only loaded, never written
    return [found[name] for name in sorted(found)]


@functools.cache
def _written(jax: ModuleType, number: int) -> str:
    """Return the module of one function."""
    f, args = _corpus(jax)[number]
    return jax.jit(f).lower(*args).as_text()


def _text(jax: ModuleType, rng: random.Random) -> str:
    """Return the module of some function."""
    return _written(jax, rng.randrange(len(_corpus(jax))))


@functools.cache
def _exported(jax: ModuleType, number: int) -> bytes:
    """Return the file of an exported function."""
    jnp = jax.numpy
    f, args = [
        (lambda x: jnp.sin(x) * 2, (np.ones(3, np.float32),)),
        (lambda x, n: {"a": x @ x.T, "b": (n, None)}, (np.ones((2, 3), np.float32), np.int32(1))),
        (lambda t: jax.lax.scan(lambda c, k: (c * k, c), t["c"], t["ks"]),
         ({"c": np.float32(2), "ks": np.ones(4, np.float32)},)),
        (lambda x: jnp.sort(x.astype("bfloat16")), (np.arange(5, dtype=np.int8),)),
    ][number]  # fmt: skip
    return bytes(jax.export.export(jax.jit(f))(*args).serialize(vjp_order=1))
