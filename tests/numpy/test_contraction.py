"""`einsum` is NumPy's, for random texts and for each form of call."""

import random

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import check, normal

EXTENTS = dict(zip("abcd", (2, 3, 4, 5), strict=True))


def random_text(seed: int) -> str:
    """Draw a text of one to three terms."""
    draw = random.Random(seed)
    terms = ["".join(draw.choices("abcd", k=draw.randint(0, 3))) for _ in range(draw.randint(1, 3))]
    letters = sorted(set("".join(terms)))
    draw.shuffle(letters)
    return ",".join(terms) + "->" + "".join(letters[: draw.randint(0, len(letters))])


@pytest.mark.parametrize("seed", range(25))
def test_random_texts(seed):
    text = random_text(seed)
    terms = text.split("->")[0].split(",")
    operands = [
        normal(*(EXTENTS[name] for name in term), seed=number) for number, term in enumerate(terms)
    ]
    check("einsum", text, *operands, tolerance=1e-4)


def test_ellipsis_lists_and_missing_outputs():
    x, y = normal(7, 2, 3), normal(3, 4)
    check("einsum", "...ij,jk->...ik", x, y)
    check("einsum", "...ij,jk", x, y)
    check("einsum", y, [0, 1], y, [0, 2], [1, 2])
    check("einsum", "ba", y)


def test_extents_of_one_stretch():
    check("einsum", "ij,jk->ik", normal(3, 1), normal(4, 5))
    check("einsum", "ij,ij->i", normal(3, 1), normal(3, 4))


@pytest.mark.parametrize("optimize", [True, False, "greedy", "optimal", [(0, 1), (0, 1)]])
def test_order_of_contractions_changes_nothing(optimize):
    x, y, z = normal(2, 3), normal(3, 4), normal(4, 5)
    expected = x @ y @ z
    found = jnp.einsum("ij,jk,kl->il", x, y, z, optimize=optimize)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_path_of_a_chain_starts_at_the_cheap_end():
    path, report = jnp.einsum_path("ij,jk,k", jnp.ones((9, 9)), jnp.ones((9, 9)), jnp.ones(9))
    assert path == [(1, 2), (0, 1)]
    assert report.naive_cost > report.opt_cost


def test_truth_values_are_joined_by_or():
    x = np.array([[True, False], [False, False]])
    np.testing.assert_array_equal(jnp.einsum("ij->i", x), [True, False])


def test_gradient():
    x, y = normal(2, 3), normal(3, 4, seed=1)
    dx = jax.grad(lambda x: jnp.einsum("ij,jk->", x, y))(x)
    np.testing.assert_allclose(dx, np.broadcast_to(y.sum(1), (2, 3)), rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ij,jk->il", "Output character 'l' did not appear"),
        ("ij,jk", "Size of label 'j'"),
        ("ij", "Number of einsum subscripts"),
    ],
)
def test_wrong_texts(text, message):
    with pytest.raises(ValueError, match=message):
        jnp.einsum(text, jnp.ones((2, 3)), jnp.ones((2, 3)))
