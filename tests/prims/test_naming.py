"""The identity with a name obeys the laws of `tests/support/harness.py`."""

from __future__ import annotations

import numpy as np

import tapeless as jax
from tapeless.prims.naming import name
from tests.support.harness import laws
from tests.support.records import NUMBERS, Record, normal

RECORDS = [Record("name", lambda x: name(x, "hidden"), (normal(2, 3),), NUMBERS)]
globals().update(laws(RECORDS))


def test_the_name_is_in_the_program_and_not_in_its_transpose():
    x = np.ones(3, np.float32)
    (eqn,) = jax.make_jaxpr(lambda x: name(x, "hidden"))(x).eqns
    assert eqn.params["name"] == "hidden"
    pullback = jax.make_jaxpr(lambda x: jax.vjp(lambda x: name(x, "hidden"), x)[1](x))(x)
    assert "hidden" not in str(pullback.eqns[1:])
