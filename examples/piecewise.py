"""A function in pieces, in three ways: what `switch`, `select` and `where` do under `vmap`.

    python examples/piecewise.py

    f(x) = x^2 for x < 0,   sin x for 0 <= x < pi,   x - pi beyond

For one number `switch` runs one branch. Under `vmap` each row may take another one, so that the
program has all branches and a selection, like the program that was written with `select`. Its
gradient is still that of the branch taken, also where another branch has none: that is what tells
`switch` from `where`, in which an infinite slope times zero is not a number.

Shapes: all are scalars; `vmap` makes rows of them.
"""

import tapeless as jax
import tapeless.numpy as jnp


def by_switch(x):
    """Return f(x): the pieces are branches."""
    piece = jnp.where(x < 0, 0, jnp.where(x < jnp.pi, 1, 2))
    return jax.lax.switch(piece, [jnp.square, jnp.sin, lambda x: x - jnp.pi], x)


def by_select(x):
    """Return f(x): all pieces are computed."""
    return jnp.select([x < 0, x < jnp.pi], [x**2, jnp.sin(x)], x - jnp.pi)


def log_by_cond(x):
    """Return log x, or 0 where it is not defined: in branches."""
    return jax.lax.cond(x > 0, jnp.log, lambda x: 0.0, x)


def log_by_where(x):
    """Return the same, selected."""
    return jnp.where(x > 0, jnp.log(x), 0.0)


def main():
    """Print values, slopes and the primitives of the mapped program."""
    x = jnp.array([-2.0, -0.5, 0.3, 2.0, 3.5, 6.0])
    values, slopes = jax.vmap(by_switch)(x), jax.vmap(jax.grad(by_switch))(x)
    print("f ", values)
    print("f'", slopes)
    single = str(jax.make_jaxpr(by_switch)(0.3))
    mapped = str(jax.make_jaxpr(jax.vmap(by_switch))(x))
    print("one number: cond" if "cond[" in single else "one number: no cond", end="; ")
    print("a row: select_n" if "select_n" in mapped and "cond[" not in mapped else "a row: cond")
    at = jnp.array([-1.0, 0.0, 2.0])
    by_cond, by_where = (jax.vmap(jax.grad(f))(at) for f in (log_by_cond, log_by_where))
    print("slope of the logarithm at", at, "by cond", by_cond, "by where", by_where)
    return x, (values, by_select(x)), slopes, (single, mapped), (by_cond, by_where)


if __name__ == "__main__":
    main()
