"""Selects with expensive sides become branches; the values stay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tapeless.compiler.emit import emit_program
from tapeless.compiler.program import Program
from tapeless.compiler.target import named_target
from tapeless.kernel.graph import walk
from tapeless.kernel.ir import Op, Store
from tests.compiler.programs import F32, aval, bind, broadcast, exp, lowered, run, statements, total

ROWS = (30, 40)  # fewer than choose in blocks
FLAGS = aval(30, dtype=bool)


def rares(program: Program) -> list[Op]:
    """Return the operations of a program that stand behind branches."""
    stores = [s for s in statements(program.body) if isinstance(s, Store)]
    nodes = walk([s.value for s in stores])
    return [node.args[1] for node in nodes if isinstance(node, Op) and node.name == "rare"]


def sums(p: object, x: object) -> tuple:
    """Choose, row by row, between two sums."""
    return (bind("select_n", p, total(exp(x), (1,)), total(bind("log", x, accuracy=None), (1,))),)


def scaled(p: object, x: object) -> tuple:
    """Choose, row by row, between x and x times its row's sum."""
    side = bind("mul", x, broadcast(total(exp(x), (1,)), ROWS, (0,)))
    return (bind("select_n", broadcast(p, ROWS, (0,)), x, side),)


def test_sums_that_not_every_row_needs_stand_behind_branches() -> None:
    found = rares(lowered(sums, FLAGS, aval(*ROWS)))
    assert len(found) == 2
    assert len({id(node.group) for node in found}) == 2


def test_what_a_row_needs_once_stands_behind_a_branch_of_its_own() -> None:
    (part,) = rares(lowered(scaled, FLAGS, aval(*ROWS)))
    assert part.extent == 40


def test_cheap_sides_are_computed() -> None:
    def function(p: object, x: object) -> tuple:
        """Choose between two elements."""
        return (bind("select_n", p, bind("neg", x), bind("sqrt", x, accuracy=None)),)

    assert rares(lowered(function, FLAGS, aval(30))) == []


def test_a_side_that_is_needed_elsewhere_is_computed() -> None:
    def function(p: object, x: object) -> tuple:
        """Return a sum, and a choice with it."""
        both = total(exp(x), (1,))
        return both, bind("select_n", p, both, bind("neg", both))

    assert rares(lowered(function, FLAGS, aval(*ROWS))) == []


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 1.0])
def test_values_do_not_change(share: float) -> None:
    rng = np.random.default_rng(3)
    flags = rng.uniform(size=30) < share
    x = rng.uniform(0.1, 1, ROWS).astype(F32)
    want = np.where(flags, np.log(x).sum(1), np.exp(x).sum(1))
    np.testing.assert_allclose(run(sums, flags, x)[0], want, rtol=1e-4)
    side = np.where(flags[:, None], x * np.exp(x).sum(1, keepdims=True), x)
    np.testing.assert_allclose(run(scaled, flags, x)[0], side, rtol=1e-5)


@pytest.mark.parametrize(
    "name", "exp log sin tan tanh asinh cbrt erf erf_inv lgamma digamma".split()
)
def test_one_recipe_is_enough_where_whole_rows_choose(name: str) -> None:
    parameters = {"accuracy": None} if name in ("exp", "log", "sin", "tan", "tanh", "cbrt") else {}

    def function(p: object, x: object) -> tuple:
        """Choose, row by row, between x and a function of it."""
        return (bind("select_n", broadcast(p, ROWS, (0,)), x, bind(name, x, **parameters)),)

    (part,) = rares(lowered(function, FLAGS, aval(*ROWS)))
    assert part.name == name


def test_one_recipe_is_enough_where_lanes_choose_on_their_own() -> None:
    def function(name: str, **params: object) -> Callable:
        """Return a choice between elements."""
        return lambda p, x: (bind("select_n", p, bind("neg", x), bind(name, x, **params)),)

    for name in ("exp", "sin", "tanh"):
        assert len(rares(lowered(function(name, accuracy=None), FLAGS, aval(30)))) == 1
    assert len(rares(lowered(function("lgamma"), FLAGS, aval(30)))) == 1


def test_what_a_side_uses_twice_is_behind_the_branch_with_it() -> None:
    def function(p: object, x: object) -> tuple:
        """Use a logarithm twice."""
        log = bind("log", x, accuracy=None)
        side = bind("mul", bind("tanh", log, accuracy=None), bind("add", log, x))
        return (bind("select_n", broadcast(p, ROWS, (0,)), x, side),)

    (part,) = rares(lowered(function, FLAGS, aval(*ROWS)))
    inside = {node.name for node in walk((part,)) if isinstance(node, Op)}
    assert {"log", "tanh", "mul"} <= inside


def test_values_and_derivatives_of_one_condition_are_looked_at_together() -> None:
    def function(p: object, x: object) -> tuple:
        """Choose between values, and between slopes, which need the values."""
        flags = broadcast(p, ROWS, (0,))
        power = bind("pow", x, x)
        log = bind("log", x, accuracy=None)
        slope = bind("mul", power, bind("add", log, bind("tanh", log, accuracy=None)))
        return bind("select_n", flags, x, power), bind("select_n", flags, x, slope)

    found = rares(lowered(function, FLAGS, aval(*ROWS)))
    assert {"pow"} < {node.name for node in walk(found) if isinstance(node, Op)}
    assert {"mul", "pow"} == {node.name for node in found}
    rng = np.random.default_rng(5)
    flags, x = rng.uniform(size=30) < 0.4, rng.uniform(0.1, 1, ROWS).astype(F32)
    power, slope = x**x, x**x * (np.log(x) + np.tanh(np.log(x)))
    for got, want in zip(run(function, flags, x), (power, slope), strict=True):
        np.testing.assert_allclose(got, np.where(flags[:, None], want, x), rtol=1e-5)


def test_a_part_of_the_row_is_behind_the_branch_of_what_needs_it() -> None:
    def function(p: object, x: object) -> tuple:
        """Divide functions of the elements by their sum, in some rows."""
        e = bind("tanh", bind("pow", x, x), accuracy=None)
        side = bind("mul", bind("log", x, accuracy=None), broadcast(total(e, (1,)), ROWS, (0,)))
        return (bind("select_n", broadcast(p, ROWS, (0,)), x, side),)

    found = rares(lowered(function, FLAGS, aval(*ROWS)))
    assert sorted(len(node.free) for node in found) == [1, 2]
    rng = np.random.default_rng(6)
    flags, x = rng.uniform(size=30) < 0.4, rng.uniform(0.1, 1, ROWS).astype(F32)
    side = np.log(x) * np.tanh(x**x).sum(1, keepdims=True)
    want = np.where(flags[:, None], side, x)
    np.testing.assert_allclose(run(function, flags, x)[0], want, rtol=1e-5)


def test_what_is_chosen_for_numbers_that_are_not_nan_is_computed() -> None:
    def function(x: object) -> tuple:
        """Return long functions: of what is not NaN, and of what is less than one."""
        long = bind("pow", bind("abs", x), bind("exp", x, accuracy=None))
        short = bind("neg", x)
        other = bind("pow", bind("abs", x), bind("log", x, accuracy=None))
        return (
            bind("select_n", bind("ne", x, x), long, short),
            bind("select_n", bind("lt", x, bind("neg", x)), other, short),
        )

    (part,) = rares(lowered(function, aval(30)))
    inside = {node.name for node in walk((part,)) if isinstance(node, Op)}
    assert {"pow", "log"} <= inside
    assert "exp" not in inside


def test_only_slow_ways_of_recipes_are_said_to_be_seldom() -> None:
    def function(p: object, x: object) -> tuple:
        """Choose, for each element, between x and a power of its sine."""
        sine = bind("sin", x, accuracy=None)
        return (bind("select_n", p, x, bind("pow", bind("abs", sine), sine)),)

    program = lowered(function, aval(64, dtype=bool), aval(64))
    assert len(rares(program)) == 1
    lines = emit_program(program, named_target("x86-64-v4")).text.splitlines()
    jumps = [lines[at + 1] for at, line in enumerate(lines) if "icmp ne i16 " in line]
    assert sorted("!prof" in jump for jump in jumps) == [False, True]
