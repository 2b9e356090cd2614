"""Every primitive is tested by a record, or is excused here; rules have their slot's signature.

A record covers the primitives that its call and its derivatives bind, and those of the programs
that they become.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import tapeless as jax
from tapeless.config import enable_x64
from tapeless.core.jaxpr import Jaxpr, subjaxprs
from tapeless.core.primitive import Primitive, registry
from tapeless.core.trace import Value
from tests.support.harness import smooth
from tests.support.records import Record

ROOT = Path(__file__).parents[2]

# Primitives without a record, and why; there are five, and no others.
EXCUSED = {
    "multiply_panels": "the compiler writes it, no trace binds it: tests/compiler/test_packs.py",
    "pack_panels": "the compiler writes it, no trace binds it: tests/compiler/test_packs.py",
    "random_gamma": "its derivative is that of its distribution, not of its draw: tests/random",
    "rows_on_demand": "the compiler writes it, no trace binds it: tests/compiler/test_demand.py",
    "while_by_rows": "the compiler writes it, no trace binds it: tests/compiler/test_byrows.py",
}
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
SLOTS = ("jvp", "transpose", "batch", "batch_collective", "split", "dce", "stage", "lower", "hlo")


def dotted(path: Path) -> str:
    """Return the name under which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@functools.cache
def primitives() -> dict[str, Primitive]:
    """Return the registry, with every file of the package read."""
    for path in (ROOT / "tapeless").rglob("*.py"):
        name = dotted(path)
        if path.name != "__main__.py":
            importlib.import_module(name.removesuffix(".__init__"))
    return {name: prim for name, prim in registry.items() if is_ours(prim)}


def is_ours(prim: Primitive) -> bool:
    """Tell whether a primitive is of the package, and not of a test."""
    return type(prim).__module__.startswith("tapeless.")


def names_in(jaxpr: Jaxpr) -> set[str]:
    """Return the names of the primitives in a program and in those that it contains."""
    names = set()
    for eqn in jaxpr.eqns:
        names.add(eqn.primitive.name)
        for inner in subjaxprs(eqn.params):
            names |= names_in(inner)
    return names


def records() -> list:
    """Return the records of all test files."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if "RECORDS" in path.read_text() and path != Path(__file__):
            found += getattr(importlib.import_module(dotted(path)), "RECORDS", [])
    return found


def with_tangents(outs: Sequence[Value]) -> list[Value]:
    """Return the inexact ones of some results."""
    return [out for out in outs if jax.numpy.issubdtype(out.dtype, jax.numpy.inexact)]


def programs(record: Record) -> Iterator[Jaxpr]:
    """Yield the programs of a record, and those that compute its tangent and its gradient."""
    for dtype in record.dtypes:
        yield jax.make_jaxpr(record.call)(*record.arguments(dtype))
    function, args = smooth(record)

    def pulled_back(*xs: Value) -> tuple:
        """Pull the results themselves back; those that have tangents."""
        outs, pull = jax.vjp(lambda *xs: with_tangents(function(*xs)), *xs)
        return pull(outs)

    if "jvp" not in record.without:
        yield jax.make_jaxpr(lambda *xs: jax.jvp(function, xs, xs))(*args)
    if not {"transpose", "second"} <= set(record.without):
        yield jax.make_jaxpr(pulled_back)(*args)


def covered(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the names of the primitives that records bind, or that stand in their programs."""
    names: set[str] = set()
    bind = Primitive.bind

    def noted(self: Primitive, *args: Value, **params: Any) -> tuple[Value, ...]:
        """Note the name, and bind."""
        names.add(self.name)
        return bind(self, *args, **params)

    monkeypatch.setattr(Primitive, "bind", noted)
    with enable_x64(True):
        for record in records():
            names.update(*map(names_in, programs(record)))
    return names


def test_every_primitive_has_a_record(capsys, monkeypatch):
    names = set(primitives())
    bare = names - covered(monkeypatch)
    with capsys.disabled():
        print(
            f"\n{len(records())} records; {len(names)} primitives, {len(names - bare)} with records"
            f", without: {EXCUSED}"
        )
    assert bare == set(EXCUSED)


def n_positional(rule: Callable) -> int:
    """Return how many arguments a rule takes by position, or a negative number if any number."""
    kinds = [parameter.kind for parameter in inspect.signature(rule).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return -1
    return sum(kind in POSITIONAL for kind in kinds)


@pytest.mark.parametrize("slot", [slot for slot in SLOTS if hasattr(Primitive, slot)])
def test_rules_take_what_their_slot_gives(slot):
    expected = n_positional(getattr(Primitive, slot))
    rules = {prim: getattr(type(prim), slot) for prim in primitives().values()}
    wrong = [prim for prim, rule in rules.items() if n_positional(rule) not in (-1, expected)]
    assert expected > 1
    assert not wrong
