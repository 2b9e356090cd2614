"""Special functions of scipy.special, and the incomplete ones, obey the laws of operations.

Their values over whole domains are compared in test_special.py and tests/control/test_igamma.py;
here the operations are applied inside their domains, where derivatives can be compared.
"""

from __future__ import annotations

from collections.abc import Callable

import tapeless as jax
from tapeless import lax
from tapeless.control.igamma import gamma_density, igamma_grad_a
from tapeless.control.incomplete_beta import beta_density
from tapeless.scipy import special
from tests.support.harness import laws
from tests.support.records import Maker, Record, between

DOUBLE = ("float32", "float64")
NO_SLOPE = "the derivative by a has no derivative in JAX either"


def expn_of_two(x: jax.Array) -> jax.Array:
    """Return the exponential integral of order 2."""
    return special.expn(2, x)


def record(name: str, call: Callable, *makers: Maker) -> Record:
    """Return the record of a function that computes in double precision."""
    return Record(name, call, makers, DOUBLE, ulps=64)


UNARY = {
    "cosine_integral": lambda x: special.sici(x)[1],
    "sine_integral": lambda x: special.sici(x)[0],
    "dawsn": special.dawsn,
    "erfcx": special.erfcx,
    "expi": special.expi,
    "expn": expn_of_two,
    "fresnel_c": lambda x: special.fresnel(x)[1],
    "fresnel_s": lambda x: special.fresnel(x)[0],
    "gamma": special.gamma,
    "log_ndtr": special.log_ndtr,
    "spence": special.spence,
}
RECORDS = [
    *(record(name, call, between(0.5, 2.5, 2, 3)) for name, call in UNARY.items()),
    record("erfcinv", special.erfcinv, between(0.2, 1.8, 2, 3)),
    record("ndtri", special.ndtri, between(0.2, 0.8, 2, 3)),
    record("betaln", special.betaln, between(0.5, 3, 2, 3), between(0.5, 3, 2, 3)),
    record("owens_t", special.owens_t, between(0.2, 2, 2, 3), between(0.2, 2, 2, 3)),
    record("hyp1f1", lambda x: special.hyp1f1(1.5, 2.5, x), between(-1, 1, 2, 3)),
    record("hyp2f1", lambda x: special.hyp2f1(1.5, 0.5, 2.5, x), between(-0.5, 0.5, 2, 3)),
    Record("wofz", special.wofz, (between(0.2, 2, 2, 3),), ("complex64", "complex128"), ulps=64),
    *(
        Record(name, call, 2 * (between(0.5, 3, 2, 3),), DOUBLE, {"second": NO_SLOPE}, ulps=64)
        for name, call in {"igamma": lax.igamma, "igammac": lax.igammac}.items()
    ),
    record("igamma-x", lambda x: lax.igamma(lax.full_like(x, 1.5), x), between(0.5, 3, 2, 3)),
    record("igammac-x", lambda x: lax.igammac(lax.full_like(x, 1.5), x), between(0.5, 3, 2, 3)),
    record("gamma_density", gamma_density, between(0.5, 3, 2, 3), between(0.5, 3, 2, 3)),
    Record(
        "igamma_grad_a",
        igamma_grad_a,
        2 * (between(0.5, 3, 2, 3),),
        ("float64",),
        dict.fromkeys(("jvp", "transpose", "second"), NO_SLOPE),
        ulps=1 << 22,  # the reference is a difference
    ),
    record(
        "betainc",
        lambda x: lax.betainc(lax.full_like(x, 1.5), lax.full_like(x, 2.5), x),
        between(0.2, 0.8, 2, 3),
    ),
    record(
        "beta_density",
        lambda x: beta_density(lax.full_like(x, 1.5), lax.full_like(x, 2.5), x),
        between(0.2, 0.8, 2, 3),
    ),
]
globals().update(laws(RECORDS))
