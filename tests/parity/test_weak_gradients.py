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

# Of these the gradient; their second derivatives are left alone.
LOOPS = """
lax.scan(lambda c, y: (c * y * x, c), jnp.float32(1), A)[0]
lax.scan(lambda c, y: (jnp.sin(c) * y, c + y), x, A)[1].sum()
lax.scan(lambda c, y: (jnp.sin(c) * y, c + y), x, A, reverse=True)[1].sum()
lax.scan(lambda c, y: (c * 2, c + y), x, A)[1].sum()
lax.scan(lambda c, y: (c * 2, (c + y) * y), x, A)[1].sum()
lax.scan(lambda c, y: (c * y, c + y), x, A)[1].sum()
lax.scan(lambda s, y: (s + x * y, s * x), x, A)[1].sum()
lax.scan(lambda s, y: (s + x * y, s * x), 0.0, A)[1].sum()
lax.scan(lambda s, y: (s * y * x, s), x, A)[0]
lax.scan(lambda s, y: (s * y * 2, s), x * 2, A)[0]
lax.scan(lambda s, y: (s * 1.5, s * y), x, A)[0]
lax.scan(lambda s, y: (s * 1.5, s * y), x, A, unroll=True)[0]
lax.scan(lambda s, y: (jnp.sin(s) * y, s * y), x, A, unroll=2)[0]
lax.scan(lambda s, y: (s * 2 + y * x, s), x * jnp.float32(2), A)[0]
lax.scan(lambda s, _: (s * x, None), 1.0, None, length=3)[0]
lax.scan(lambda s, _: ((s[0] * x, s[1] + s[0]), s[1]), (x, jnp.float32(1)), None, 3)[1].sum()
lax.map(lambda y: y * x, A).sum()
lax.map(lambda y: jnp.sin(y * x) * x, A).sum()
lax.fori_loop(0, 3, lambda i, v: v * x, jnp.float32(1))
lax.fori_loop(0, 3, lambda i, v: v * x, 1.0)
lax.scan(lambda c, y: (lax.cond(y > 1, lambda c: c * x, jnp.sin, c), c), x, A)[0]
lax.switch(1, [lambda v: v, lambda v: v * x, jnp.sin], x)
lax.cond(x > 0, lambda v: jnp.sin(v) * x, lambda v: v * 3 * x, A).sum()
""".strip().splitlines()

BRANCHES = """
lax.cond(x > 0, jnp.sin, jnp.cos, x)
lax.cond(x > 0, lambda c: c * 2, lambda c: c * 3, x)
lax.cond(x > 0, jnp.sin, lambda c: c * 3, x)
lax.cond(x > 0, lambda c: c * jnp.float32(2), lambda c: jnp.float32(3) * c, x)
lax.cond(x > 0, lambda: jnp.sin(x), lambda: jnp.cos(x))
lax.cond(x > 0, lambda c: lax.cond(c > 1, jnp.sin, jnp.cos, c), jnp.cos, x)
lax.switch(1, [jnp.sin, jnp.cos], x)
jit(jnp.sin)(x)
jit(lambda c: c * 2)(x)
""".strip().splitlines()

# Loops whose carry alone has a tangent: its cotangent is strong where it begins so.
CARRIES = """
lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=3)[0]
lax.scan(lambda c, _: (c * c, c), x, None, length=3)[0]
lax.scan(lambda c, y: (jnp.sin(c) * y, c), x, A)[0]
lax.scan(lambda c, _: (lax.cond(c > 0, jnp.sin, jnp.cos, c), None), x, None, length=2)[0]
lax.scan(lambda c, _: (lax.fori_loop(0, 2, lambda i, v: v * v, c), None), x, None, length=2)[0]
lax.fori_loop(0, 3, lambda i, v: jnp.sin(v) * 2, x)
""".strip().splitlines()

JACOBIANS = """
jnp.stack([x, x])[0]
jnp.stack([x, x * x])
jnp.broadcast_to(x * x, (3,))[0]
vmap(lambda y: x * x * 2)(A)
lax.associative_scan(jnp.multiply, jnp.stack([x, x * x]))[1]
x * jnp.float32(2)
x * jnp.float16(2)
x ** 3
lax.scan(lambda c, y: (jnp.sin(c) * y, c), x, A)[0]
lax.fori_loop(0, 3, lambda i, v: v * x, x)
lax.cond(x > 0, jnp.sin, jnp.cos, x)
lax.switch(1, [lambda v: v, lambda v: v * x, jnp.sin], x)
lax.platform_dependent(x, cpu=lambda c: lax.fori_loop(0, 3, lambda i, v: v * x, c))
checkpoint(lambda c: jnp.sin(c) * c)(x)
""".strip().splitlines()


def function_of(system, expression):
    """Return the function of x that an expression is, in the words of one of the two systems."""
    arange = system.numpy.arange(1.0, 4.0)
    names = {"jnp": system.numpy, "lax": system.lax, "jit": system.jit, "A": arange}
    names |= {"vmap": system.vmap, "checkpoint": system.checkpoint}
    return eval(f"lambda x: {expression}", names)


def weak_types(system, expression):
    """Return the dtype and weakness of the gradient, eager and compiled, and of the second one."""
    first = system.grad(function_of(system, expression))
    found = [first(0.7), system.jit(first)(0.7), system.grad(first)(0.7)]
    return [(str(x.dtype), x.weak_type) for x in found]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_gradient_is_weak_where_that_of_jax_is(expression):
    import jax as reference

    assert weak_types(jax, expression) == weak_types(reference, expression)


@pytest.mark.parametrize("expression", LOOPS)
def test_gradient_of_a_loop_is_weak_where_that_of_jax_is(expression):
    import jax as reference

    found, expected = [
        system.grad(function_of(system, expression))(1.0) for system in (jax, reference)
    ]
    assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)


@pytest.mark.parametrize("expression", JACOBIANS)
@pytest.mark.parametrize("transform", ["jacrev", "jacfwd", "hessian"])
def test_jacobian_is_weak_where_that_of_jax_is(expression, transform):
    import jax as reference

    kinds = []
    for system in (jax, reference):
        jacobian = getattr(system, transform)(function_of(system, expression))
        found = [jacobian(0.7), system.jit(jacobian)(0.7), jacobian(system.numpy.float32(0.7))]
        kinds.append([(str(x.dtype), x.shape, x.weak_type) for x in found])
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("expression", BRANCHES + CARRIES)
@pytest.mark.parametrize("strong", [False, True])
def test_pullback_is_weak_by_its_cotangent(expression, strong):
    import jax as reference

    kinds = []
    for system in (jax, reference):
        cotangent = system.numpy.float32(1) if strong else 1.0
        (found,) = system.vjp(function_of(system, expression), 1.0)[1](cotangent)
        kinds.append((str(found.dtype), found.weak_type))
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize(("part", "expected"), [("real", 1.0), ("imag", -1.0j)])
def test_pullback_of_a_part(part, expected):
    import jax as reference

    for system in (jax, reference):
        (found,) = system.vjp(getattr(system.numpy, part), 3.0 + 4.0j)[1](1.0)
        assert found == expected and not found.weak_type
