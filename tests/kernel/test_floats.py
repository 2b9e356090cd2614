"""Building blocks of the recipes: constants in parts, and polynomials that wait for less."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tapeless.kernel.floats import FLOAT32, FLOAT64, polynomial, polynomial_by_pairs
from tapeless.kernel.ir import Buffer, Op, Scalar
from tapeless.kernel.nodes import Nodes
from tests.kernel.evaluate import evaluate

F64 = np.dtype(np.float64)
_HALF_PI = "1.57079632679489661923132169163975144209858469968755291048747229615390820314310449"


def depth(node: Scalar) -> int:
    """Return how many operations wait for each other."""
    return 1 + max(map(depth, node.args)) if isinstance(node, Op) else 0


@pytest.mark.parametrize("n", range(2, 14))
def test_pairs_have_the_value_of_all_terms(n):
    """Numbers are so small that nothing is rounded."""
    b = Nodes()
    x = b.load(Buffer((), F64, "input"), 0)
    coefficients = [float((7 * k) % 5 - 2) or 3.0 for k in range(n)]
    points = np.arange(-4.0, 5.0)
    found = evaluate(polynomial_by_pairs(b, x, coefficients), {x: points})
    np.testing.assert_array_equal(np.polyval(coefficients[::-1], points), found)
    if n > 4:
        steps = depth(polynomial_by_pairs(b, x, coefficients))
        assert steps <= n // 2 + 2 <= depth(polynomial(b, x, coefficients))


@pytest.mark.parametrize("form", [FLOAT32, FLOAT64], ids=["float32", "float64"])
def test_parts_of_one_sign_are_positive_and_nearly_all(form):
    exact, parts = Fraction(_HALF_PI), form.parts_of_one_sign(_HALF_PI, 3)
    assert all(part > 0 and form.dtype.type(part) == part for part in parts)
    rest = exact - sum(map(Fraction, parts))
    assert 0 <= rest < Fraction(parts[2]) / 2**form.mantissa
