"""`vectorize` maps over all axes but the core axes."""

import numpy as np
import pytest

import tapeless as jax
import tapeless.numpy as jnp
from tests.support.against_numpy import normal


def test_scalars_broadcast():
    x, y = normal(5), normal(4, 1)
    np.testing.assert_allclose(jnp.vectorize(lambda x, y: x * y)(x, y), x * y)


def test_core_axes_are_named():
    outer = jnp.vectorize(lambda x, y: x[:, None] * y, signature="(n),(m)->(n,m)")
    x, y = normal(6, 1, 2), normal(5, 3)
    expected = x[..., :, None] * y[..., None, :]
    np.testing.assert_allclose(outer(x, y), expected, rtol=1e-6)


def test_several_results():
    both = jnp.vectorize(lambda x: (x.max(), x), signature="(n)->(),(n)")
    high, same = both(normal(3, 4))
    assert high.shape == (3,) and same.shape == (3, 4)


def test_extent_one_is_not_copied():
    seen = []
    f = jnp.vectorize(lambda a, b: (seen.append(a.shape), a @ b)[1], signature="(n,n),(n)->(n)")
    text = str(jax.make_jaxpr(f)(jnp.ones((1, 2, 2)), jnp.ones((9, 2))))
    assert seen == [(2, 2)]
    assert "f32[9,2,2]" not in text


def test_excluded_arguments_are_passed_on():
    f = jnp.vectorize(lambda n, x: x * n, excluded={0})
    np.testing.assert_array_equal(f(3, jnp.arange(3)), [0, 3, 6])
    g = jnp.vectorize(lambda x, mode: x + (mode == "up"), excluded={"mode"})
    np.testing.assert_array_equal(g(jnp.arange(3), mode="up"), [1, 2, 3])


@pytest.mark.parametrize(
    ("signature", "shapes", "kind", "message"),
    [
        ("(n),(n)->()", [(2, 3), (2, 4)], ValueError, "inconsistent size for core dimension 'n'"),
        ("(n,m)->()", [(3,)], ValueError, "does not have enough dimensions"),
        ("(n)->()", [(3,), (3,)], TypeError, "wrong number of positional arguments"),
        ("(n)->(n),()", [(3,)], TypeError, "output must be a tuple"),
        ("(n)->(n,n)", [(3,)], ValueError, "does not match core dimensions"),
        ("(n->()", [(3,)], ValueError, "not a valid gufunc signature"),
    ],
)
def test_wrong_calls(signature, shapes, kind, message):
    f = jnp.vectorize(lambda *args: args[0], signature=signature)
    with pytest.raises(kind, match=message):
        f(*map(jnp.ones, shapes))


def test_one_result_for_two_outputs_is_refused():
    double = jnp.vectorize(lambda x: x, signature="(n)->(n),(n)")
    with pytest.raises(TypeError, match=r"multiple outputs are expected, got: .*\non vectorized"):
        double(jnp.ones(3))
