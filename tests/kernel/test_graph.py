"""Walking, replacing, collapsing and merging expressions."""

from __future__ import annotations

import numpy as np

from tapeless.kernel.graph import collapse, merge_reductions, replace, substitute, walk
from tapeless.kernel.ir import Buffer, Op, Reduce, Scalar
from tapeless.kernel.nodes import Nodes

F32 = np.dtype(np.float32)
X = Buffer((30, 40), F32, "input", "x")


def summed(b: Nodes, var: Scalar, element: Scalar) -> Scalar:
    """Return the sum of an element over 40 values of a variable."""
    return b.reduce(var, 40, (element,), (b.const(0, F32),), "add")[0]


def test_operands_come_before_users_and_once() -> None:
    b = Nodes()
    x = b.load(X, 3)
    y = b.op("exp", x)
    order = walk((b.add(y, b.mul(y, x)),))
    assert len(order) == len(set(order))
    assert order.index(x) < order.index(y) < len(order) - 1


def test_deep_expressions_need_no_recursion() -> None:
    b = Nodes()
    i = b.index("i", 1200)
    node = b.load(X, i)
    for _ in range(5000):
        node = b.op("sin", node)
    assert len(walk((node,))) > 5000
    (moved,) = substitute(b, (node,), {i: b.affine(7)})
    assert moved.free == frozenset()


def test_contiguous_loops_collapse() -> None:
    b = Nodes()
    i, j = b.index("i", 30), b.index("j", 40)
    flat = b.index_add(b.index_mul(i, 40), j)
    assert collapse((i, j), (30, 40), (b.load(X, flat),)) == [[0, 1]]
    assert collapse((i, j), (30, 40), (b.load(X, flat), b.load(X, i))) == [[0], [1]]
    assert collapse((i, j), (30, 40), (b.load(X, flat), b.convert(j, F32))) == [[0], [1]]


def test_a_replacement_may_wrap_what_it_replaces() -> None:
    b = Nodes()
    x = b.op("exp", b.load(X, 3))
    flag = b.lt(x, 1.0)
    total = b.add(x, 2.0)
    (new,) = replace(b, (total,), {id(x): b.rare(flag, x, 0.0)})
    assert new.args[0].name == "rare"
    assert new.args[0].args[1] is x


def test_sums_over_one_variable_become_one() -> None:
    b = Nodes()
    i, r = b.index("i", 30), b.index("r", 40)
    x = b.load(X, b.index_add(b.index_mul(i, 40), r))
    roots = (summed(b, r, x), summed(b, r, b.mul(x, x)))
    first, second = merge_reductions(b, roots)
    assert first.group is second.group
    assert len(first.elements) == 2
    assert {first.which, second.which} == {0, 1}


def test_a_sum_that_needs_another_stays_apart() -> None:
    b = Nodes()
    i, r = b.index("i", 30), b.index("r", 40)
    x = b.load(X, b.index_add(b.index_mul(i, 40), r))
    mean = b.mul(summed(b, r, x), 1 / 40)
    centred = b.sub(x, mean)
    variance = summed(b, r, b.mul(centred, centred))
    (new,) = merge_reductions(b, (b.add(variance, mean),))
    reductions = [node for node in walk((new,)) if isinstance(node, Reduce)]
    assert [len(node.elements) for node in reductions] == [1, 1]


def test_sums_behind_branches_stay_apart() -> None:
    b = Nodes()
    i, r = b.index("i", 30), b.index("r", 40)
    x = b.load(X, b.index_add(b.index_mul(i, 40), r))
    flag = b.lt(b.load(X, i), 0.0)
    one = b.rare(flag, summed(b, r, x), 0.0)
    other = b.rare(b.not_(flag), summed(b, r, b.mul(x, x)), 0.0)
    (new,) = merge_reductions(b, (b.add(one, other),))
    assert isinstance(new, Op)
    assert all(len(n.elements) == 1 for n in walk((new,)) if isinstance(n, Reduce))
