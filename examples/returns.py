"""Discounted returns of many episodes, by a scan that runs from the end to the beginning.

    python examples/returns.py

    G[t] = r[t] + gamma (1 - done[t]) G[t+1]

What a step is worth depends on what follows it, so that the scan goes in reverse. The recurrence is
linear: two steps together are a step of the same form, and `associative_scan` computes the same in
logarithmically many rounds.

Shapes: rewards (t,), done (t,) -> returns (t,).
"""

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp

GAMMA = 0.9


def returns(rewards, done):
    """Return what each step is worth, step by step."""

    def step(after, row):
        """Return the value of a step and of the ones after it, from that of the next."""
        reward, is_last = row
        value = reward + GAMMA * jnp.where(is_last, 0.0, after)
        return value, value

    return jax.lax.scan(step, 0.0, (rewards, done), reverse=True)[1]


def returns_by_pairs(rewards, done):
    """Return the same: G = a G' + b is composed with its neighbour, then pairs with pairs."""

    def join(later, earlier):
        """Compose two linear functions."""
        (a2, b2), (a1, b1) = later, earlier
        return a1 * a2, a1 * b2 + b1

    factors = GAMMA * (1.0 - done)
    return jax.lax.associative_scan(join, (factors, rewards), reverse=True)[1]


def main():
    """Compute the returns of a thousand episodes in three ways, and the gradient of one of them."""
    keys = jax.random.split(jax.random.key(0))
    rewards = jax.random.uniform(keys[0], (1000, 60))
    done = jax.random.bernoulli(keys[1], 0.1, (1000, 60))
    found = jax.jit(jax.vmap(returns))(rewards, done)
    expected, after = np.zeros((1000, 60)), np.zeros(1000)
    for t in reversed(range(60)):
        after = expected[:, t] = np.asarray(rewards[:, t]) + GAMMA * after * ~np.asarray(done[:, t])
    by_pairs = jax.jit(jax.vmap(returns_by_pairs))(rewards, done)
    apart = [float(np.max(np.abs(x - expected))) for x in (found, by_pairs)]
    print(f"largest differences to a Python loop: {apart[0]:.0e} by scan, {apart[1]:.0e} by pairs")
    flags = jnp.array([False, False, True, False])
    weights = jax.grad(lambda r: returns(r, flags)[0])(jnp.ones(4))
    print("the first return counts the rewards with weights", weights)
    return apart, np.asarray(weights)


if __name__ == "__main__":
    main()
