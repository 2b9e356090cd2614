"""equinox: errors in compiled functions, and values that are looked at while tracing."""

import equinox as eqx
import jax
import jax.numpy as jnp


@eqx.filter_jit
def root(x):
    x = eqx.error_if(x, jnp.any(x < 0), "x must not be negative")
    return jnp.sqrt(x)


def outcome(function, *args):
    try:
        function(*args)
    except RuntimeError as error:
        return "x must not be negative" in str(error)
    return "passed"


@eqx.filter_jit
def branch(index, x):
    return eqx.branched_error_if(x, index > 0, index, ["zero", "one", "two"])


mapped = eqx.filter_jit(lambda x: jax.vmap(root)(x))
NUMBERS = {
    "root": root(jnp.array([1.0, 4.0])),
    "negative": outcome(root, jnp.array([1.0, -4.0])),
    "mapped": mapped(jnp.array([1.0, 9.0])),
    "gradient": eqx.filter_grad(lambda x: root(x).sum())(jnp.array([1.0, 4.0])),
    "branch": branch(jnp.array(0), jnp.array(2.0)),
    "message": outcome(root, jnp.array(-1.0)),
}
