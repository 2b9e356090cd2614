"""Row loops are joined when that is legal and pays, and only then."""

from __future__ import annotations

import numpy as np

from tests.compiler.programs import F32, aval, bind, broadcast, exp, lowered, nests, run, total

ROWS = (90, 70)


def softmax(x: object) -> tuple:
    """Divide the exponentials of each row by their sum."""
    rest = exp(bind("sub", x, broadcast(total(x, (1,), "reduce_max"), ROWS, (0,))))
    return (bind("div", rest, broadcast(total(rest, (1,)), ROWS, (0,))),)


def test_softmax_is_one_loop_over_rows() -> None:
    assert nests(lowered(softmax, aval(*ROWS))) == [((90, 70, 70), 2)]
    x = np.random.default_rng(0).standard_normal(ROWS).astype(F32)
    rest = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(run(softmax, x)[0], rest / rest.sum(1, keepdims=True), rtol=1e-5)


def test_a_row_that_needs_other_rows_waits_for_all() -> None:
    def function(x: object) -> tuple:
        """Store rows, then add up columns of them, row by row."""
        rest = exp(x)
        return rest, bind("mul", x, broadcast(total(rest, (0,)), ROWS, (1,)))

    x = np.random.default_rng(0).standard_normal(ROWS).astype(F32)
    rest, product = run(function, x)
    np.testing.assert_allclose(rest, np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(product, x * np.exp(x).sum(0), rtol=1e-4)


def test_a_mirrored_row_is_another_row() -> None:
    def function(x: object) -> tuple:
        """Normalise rows by the sums of the mirrored ones."""
        rest = exp(bind("sub", x, broadcast(total(x, (1,), "reduce_max"), ROWS, (0,))))
        mirrored = bind("rev", rest, dimensions=(0,))
        return rest, bind("div", rest, broadcast(total(mirrored, (1,)), ROWS, (0,)))

    x = np.random.default_rng(0).standard_normal(ROWS).astype(F32)
    want = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(run(function, x)[1], want / want[::-1].sum(1)[:, None], rtol=1e-5)
    assert len(nests(lowered(function, aval(*ROWS)))) == 2


def test_sums_of_columns_stay_alone() -> None:
    def function(x: object, y: object) -> tuple:
        """Sum columns, and multiply rows of another array by row sums."""
        return total(x, (0,)), bind("mul", y, broadcast(total(y, (1,)), (70, 90), (0,)))

    found = nests(lowered(function, aval(90, 70), aval(70, 90)))
    assert sorted(found) == [((70,), 1), ((70, 90), 1)]


def test_plain_loops_are_left_to_the_builder() -> None:
    def function(x: object) -> tuple:
        """Return values that the nest's limit separates."""
        return tuple(bind("add", x, F32(i + 1)) for i in range(12))

    assert [extents for extents, _ in nests(lowered(function, aval(*ROWS)))] == [(6300,), (6300,)]
