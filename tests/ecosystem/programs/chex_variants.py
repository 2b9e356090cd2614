"""chex: one test run as it is, compiled, and put on devices (`variants`); fake jit and pmap."""

import unittest

import chex
import jax
import jax.numpy as jnp

OUT = {}


class Cases(chex.TestCase):
    @chex.variants(with_jit=True, without_jit=True, with_device=True, without_device=True)
    def test_product(self):
        @self.variant
        def product(x, y):
            return jnp.dot(x, jnp.sin(y))

        OUT[self.id().split(".")[-1]] = product(jnp.arange(3.0), jnp.arange(1.0, 4.0))

    @chex.variants(with_pmap=True)
    def test_mapped(self):
        OUT[self.id().split(".")[-1]] = self.variant(lambda x: x * 2)(jnp.arange(3.0))


result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(Cases).run(result)
traces = []
with chex.fake_jit():
    plain = jax.jit(lambda x: traces.append(isinstance(x, jax.core.Tracer)) or x + 1)
    once = plain(jnp.ones(2))
with chex.fake_pmap():
    mapped = jax.pmap(lambda x: x.sum(), axis_name="i")(jnp.arange(6.0).reshape(3, 2))
NUMBERS = {
    "outcome": [result.testsRun, len(result.failures), len(result.errors), len(result.skipped)],
    "values": {name: OUT[name] for name in sorted(OUT)},
    "fake": [once, mapped],
    "traced": [bool(x) for x in traces],
}
