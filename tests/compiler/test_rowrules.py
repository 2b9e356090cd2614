"""Which operations have a program for one row, and why others have none; branches with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tapeless as jax
from tapeless import lax
from tapeless import numpy as jnp
from tapeless.compiler import rowrules, unbatch
from tapeless.compiler.fuse import plan_program
from tapeless.core.primitive import registry
from tapeless.prims.common import Elementwise

N = 100
X = np.random.default_rng(0).uniform(0.1, 1.0, size=(N, 64)).astype(np.float32)
KERNEL = np.ones((1, 1, 3, 3), np.float32) / 9

# Operations without a rule, by the reason.
INLINED = (
    "composite custom_jvp_call custom_vjp_call custom_linear_solve jit linear_call remat2 stage"
)
OF_TRANSFORMATIONS = "custom_lin custom_vmap_call empty empty2"
OF_NAMED_AXES = "all_gather all_to_all axis_index pbroadcast pmax pmin ppermute psum reduce_scatter"
WITH_EFFECTS = "check debug_callback debug_print io_callback progress_tick"
OF_REFERENCES = "addupdate freeze get new_ref swap"
FOR_ALL_AT_ONCE = "pure_callback rng_bit_generator"
OF_THE_COMPILER = "multiply_panels pack_panels rows_on_demand while_by_rows"


def square(x: jax.Array) -> jax.Array:
    """Return a well-conditioned matrix."""
    return x.reshape(8, 8) + 8 * jnp.eye(8)


BRANCHES = {
    "conv_general_dilated": lambda x: lax.conv_general_dilated(
        x.reshape(1, 1, 8, 8), KERNEL, (1, 1), "SAME"
    ).reshape(64),
    "cumsum": lambda x: jnp.cumsum(jnp.cumsum(jnp.exp(x))),
    "fft": lambda x: jnp.fft.fft(x).real,
    "lu": lambda x: jnp.linalg.solve(square(x), x[:8])[0] * x,
    "cholesky": lambda x: jnp.linalg.cholesky(square(x) @ square(x).T)[0, 0] * x,
    "qr": lambda x: jnp.linalg.qr(square(x))[1][0, 0] * x,
    "svd": lambda x: jnp.linalg.svd(square(x))[1][0] * x,
    "eigh": lambda x: jnp.linalg.eigh(square(x) + square(x).T)[0][0] * x,
    "reduce_window_sum": lambda x: lax.reduce_window(x, 0.0, lax.add, (9,), (1,), "SAME"),
    "reduce_window_max": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (9,), (1,), "SAME"),
    "random_gamma": lambda x: jax.random.gamma(jax.random.key(0), x + 1),
    "sort": lambda x: jnp.sort(x),
    "top_k": lambda x: jnp.tile(lax.top_k(x, 8)[0], 8),
    "tridiagonal_solve": lambda x: lax.linalg.tridiagonal_solve(x, x + 9, x, x[:, None])[:, 0],
    "optimization_barrier": lambda x: jnp.cumsum(lax.optimization_barrier(jnp.sort(x))),
    "scan": lambda x: lax.fori_loop(0, 20, lambda i, y: jnp.sin(y) + x, x),
    "while": lambda x: lax.while_loop(lambda y: y[0] < 9, lambda y: y + x, x),
    "SearchSorted": lambda x: jnp.searchsorted(jnp.sort(x), x).astype(np.float32),
    "igamma": lambda x: lax.igamma(3 * x + 1, 5 * x),
    "igammac": lambda x: lax.igammac(3 * x + 1, 5 * x),
    "igamma_grad_a": lambda x: lax.igamma_grad_a(3 * x + 1, 5 * x),
    "random_gamma_grad": lambda x: lax.random_gamma_grad(3 * x + 1, 2 * x),
    "regularized_incomplete_beta": lambda x: lax.betainc(3 * x + 1, 2 * x + 1, x),
    "zeta": lambda x: lax.zeta(3 * x + 1.5, 5 * x),
    "polygamma": lambda x: lax.polygamma(2 * jnp.ones_like(x), 5 * x),
    "bessel_i0e": lambda x: jax.scipy.special.i0(x),
    "cg": lambda x: jax.scipy.sparse.linalg.cg(lambda v: 9 * v + x * v.sum() * 0.01, x, maxiter=5)[
        0
    ],
}


def test_every_operation_has_a_rule_or_a_reason() -> None:
    reasons = (
        INLINED,
        OF_TRANSFORMATIONS,
        OF_NAMED_AXES,
        WITH_EFFECTS,
        OF_REFERENCES,
        FOR_ALL_AT_ONCE,
        OF_THE_COMPILER,
    )
    with_rules = {*rowrules._RULES, *unbatch._PROGRAMS, "conv_general_dilated"}
    known = {*with_rules, "optimization_barrier", *" ".join(reasons).split()}
    ours = {
        name
        for name, prim in registry.items()
        if type(prim).__module__.startswith("tapeless.") and not isinstance(prim, Elementwise)
    }
    assert ours - known == set()


@pytest.mark.parametrize("name", BRANCHES)
def test_what_is_expensive_is_done_for_the_rows_that_want_it(name: str) -> None:
    expensive: Callable = BRANCHES[name]
    flags = np.zeros(N, bool)
    flags[::50] = True
    function = jax.vmap(lambda flag, x: lax.cond(flag, expensive, lambda x: x * 2, x))
    program = plan_program(jax.make_jaxpr(function)(flags, X).jaxpr, True).jaxpr
    found = [eqn for eqn in program.eqns if eqn.primitive.name == "rows_on_demand"]
    assert found and all(eqn.params["n_rows"] == N for eqn in found)
    assert name not in {eqn.primitive.name for eqn in program.eqns}
    one = jax.jit(expensive)
    wanted = np.stack([one(x) if flag else x * 2 for flag, x in zip(flags, X, strict=True)])
    np.testing.assert_allclose(jax.jit(function)(flags, X), wanted, rtol=2e-4, atol=2e-4)
