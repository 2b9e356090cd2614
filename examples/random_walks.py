"""Ten thousand random walks: a function of one key, mapped over keys.

    python examples/random_walks.py

Random numbers are functions of a key. A walk takes a key and nothing else; `split` makes as many
keys as there are walks, and `vmap` walks them all at once. No walk depends on how many others there
are: each can be walked again alone.

The program compares the end points with what is known of them, and asks how often a walker who
starts with some money and stakes one piece a time is ruined: 1 - a / b, if he means to have b.

Shapes: key () -> walk (t,).
"""

import functools

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp

STEPS, WALKS = 400, 10_000
START, GOAL = 3, 10


@functools.partial(jax.jit, static_argnums=1)
def walk(key, steps=STEPS):
    """Return where a walk is after each of its steps, left or right."""
    return jnp.cumsum(jax.random.rademacher(key, (steps,)))


def game(key):
    """Return what a player has in the end, who stops at 0 or at GOAL."""

    def step(state):
        """Play one round."""
        money, key = state
        key, now = jax.random.split(key)
        return money + jax.random.rademacher(now, (), jnp.int32), key

    still_plays = lambda state: (state[0] > 0) & (state[0] < GOAL)  # noqa: E731
    return jax.lax.while_loop(still_plays, step, (jnp.int32(START), key))[0]


def main():
    """Walk, and play."""
    keys = jax.random.split(jax.random.key(0), WALKS)
    walks = jax.vmap(walk)(keys)
    ends = np.asarray(walks[:, -1])
    print(f"{WALKS} walks of {STEPS} steps: mean {ends.mean():.2f}, variance {ends.var():.0f}")
    again = bool((walk(keys[123]) == walks[123]).all())
    print("walk 123 alone is", "the same" if again else "another one")
    money = np.asarray(jax.jit(jax.vmap(game))(keys))
    ruined = float((money == 0).mean())
    print(f"ruined with {START} of {GOAL}: {ruined:.3f}; theory says {1 - START / GOAL:.3f}")
    return ends, again, money, ruined


if __name__ == "__main__":
    main()
