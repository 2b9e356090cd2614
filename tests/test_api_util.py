"""`jax.api_util`: which arguments are fixed, donated or mapped; the expected values are JAX's."""

import pytest

import tapeless as jax
from tapeless import api_util
from tapeless.extend.linear_util import wrap_init

NESTED = jax.tree.structure(((1, (2, 3)), {"k": 4, "l": (5, 6)}))


def three(x, y, z):
    """Return the arguments."""
    return x, y, z


@pytest.mark.parametrize(
    ("numbers", "dynamic", "result"),
    [
        (0, (1,), (10, 2, 3)),
        ((0, 2), (1, 3), (10, 2, 20)),
        ((0, -1), (1, 3), (10, 2, 20)),
        ((2, 0), (3, 1), (20, 2, 10)),
        ((), (), (1, 2, 3)),
    ],
)
def test_argnums_partial_fixes_the_other_arguments(numbers, dynamic, result):
    f, found = api_util.argnums_partial(wrap_init(three), numbers, (1, 2, 3))
    assert found == dynamic
    assert f.call_wrapped(*[10, 20][: len(found)]) == result


def test_argnums_partial_refuses_what_cannot_be_fixed():
    with pytest.raises(ValueError, match=r"index 1\) of type <class 'list'> for function three"):
        api_util.argnums_partial(wrap_init(three), 0, (1, [2], 3))
    f, _ = api_util.argnums_partial(wrap_init(three), 0, (1, [2], 3), False)
    assert f.call_wrapped(5) == (5, [2], 3)
    with pytest.raises(ValueError, match=r"got value 5 for len\(args\) == 3"):
        api_util.argnums_partial(wrap_init(three), 5, (1, 2, 3))


@pytest.mark.parametrize(
    ("numbers", "names", "marks"),
    [
        ((), (), "000000"),
        ((0,), (), "100000"),
        ((1,), ("l",), "011011"),
        ((0, 1), ("k", "l"), "111111"),
        ((5, -1), ("z",), "000000"),
    ],
)
def test_donation_vector_marks_leaves(numbers, names, marks):
    assert api_util.donation_vector(numbers, names, NESTED) == tuple(m == "1" for m in marks)


def test_donation_vector_of_positional_arguments():
    tree = jax.tree.structure((1, (2, 3)))
    assert api_util.donation_vector((0,), (), tree, kws=False) == (True, False, False)
    empty = jax.tree.structure(((1,), {}))
    assert api_util.donation_vector((0,), (), empty) == (True,)


def test_rebased_numbers_leave_fixed_arguments_out():
    assert api_util.rebase_donate_argnums({3, 4}, [0, 1]) == (1, 2)
    assert api_util.rebase_donate_argnums((3, 1), (0,)) == (0, 2)
    with pytest.raises(ValueError, match=r"\[0, 2\] and `donate_argnums` \[1, 2, 3\] cannot"):
        api_util.rebase_donate_argnums((1, 2, 3), (0, 2))


def test_axes_are_flattened_against_a_structure():
    tree = jax.tree.structure({"a": 1, "b": (2, 3)})
    assert api_util.flatten_axes("in_axes", tree, {"a": None, "b": (1, None)}) == [None, 1, None]
    with pytest.raises(ValueError, match="in_axes specification must be a tree prefix"):
        api_util.flatten_axes("in_axes", tree, {"a": None, "c": 1})
