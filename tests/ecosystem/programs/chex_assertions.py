"""chex: assertions on shapes, types and trees, and a dataclass that is a tree."""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class Point:
    x: chex.Array
    y: chex.Array


def message(check, *args, **kwargs):
    try:
        check(*args, **kwargs)
    except AssertionError as error:
        return str(error).splitlines()[0][:60]
    return "passed"


x = jnp.arange(6.0).reshape(2, 3)
point = Point(x=x, y=x[0])
doubled = jax.tree.map(lambda leaf: 2 * leaf, point)
NUMBERS = {
    "shape": message(chex.assert_shape, x, (2, 4)),
    "same shape": message(chex.assert_shape, x, (None, 3)),
    "rank": message(chex.assert_rank, x, 3),
    "type": message(chex.assert_type, x, int),
    "close": message(chex.assert_trees_all_close, point, doubled),
    "equal": message(chex.assert_trees_all_equal, point, point),
    "finite": message(chex.assert_tree_all_finite, {"a": x / 0.0}),
    "doubled": [doubled.x, doubled["y"]],
    "replaced": point.replace(y=x[1]).y,
}
