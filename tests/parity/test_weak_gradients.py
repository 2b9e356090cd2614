"""Gradients by weakly typed numbers are weakly typed where JAX's are."""

import pytest

import tapeless as jax

pytestmark = pytest.mark.oracle

EXPRESSIONS = """
jnp.stack([x, x])[0]
jnp.concatenate([x[None], x[None]])[1]
lax.dynamic_slice(x[None], (0,), (1,))[0]
lax.dynamic_update_slice(jnp.stack([x, x]), x[None], (1,)).sum()
lax.pad(x[None], 0.0, ((1, 1, 0),))[1]
jnp.take(x[None], 0)
jnp.zeros(2).at[0].add(x)[0]
x * jnp.float16(2)
jnp.sort(jnp.stack([x, 2 * x]))[0]
jnp.cumsum(jnp.stack([x, 2 * x]))[0]
jnp.roll(jnp.stack([x, x]), 1)[0]
lax.top_k(jnp.stack([x, 2 * x]), 1)[0][0]
jnp.minimum(x, 2.0)
jnp.real(jnp.exp(1j * x))
jnp.select([x > 0], [x], 0.0)
x ** 3
x ** 2.5
x ** x
lax.fori_loop(0, 3, lambda i, c: c * 2, x)
lax.scan(lambda c, _: (jnp.sin(c) * x, c), x, None, length=3)[0]
lax.scan(lambda c, a: (jnp.sin(c) * a, c * x), x, jnp.arange(3.0))[1].sum()
""".strip().splitlines()


def weak_types(system, expression):
    """Return the dtype and weakness of the gradient, eager and compiled, and of the second one."""
    names = {"jnp": system.numpy, "lax": system.lax}
    f = eval(f"lambda x: {expression}", names)
    first = system.grad(f)
    found = [first(0.7), system.jit(first)(0.7), system.grad(first)(0.7)]
    return [(str(x.dtype), x.weak_type) for x in found]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_gradient_is_weak_where_that_of_jax_is(expression):
    import jax as reference

    assert weak_types(jax, expression) == weak_types(reference, expression)


@pytest.mark.parametrize(("part", "expected"), [("real", 1.0), ("imag", -1.0j)])
def test_pullback_of_a_part(part, expected):
    import jax as reference

    for system in (jax, reference):
        (found,) = system.vjp(getattr(system.numpy, part), 3.0 + 4.0j)[1](1.0)
        assert found == expected and not found.weak_type
