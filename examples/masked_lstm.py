"""Sequences of different lengths in one batch: an LSTM that stands still where there is padding.

    python examples/masked_lstm.py

Arrays are rectangular, sequences are not. Short ones are padded and get a mask; where the mask is
false the step keeps its carry. So the last state of a padded sequence is the state at its own
end, and nothing that stands in the padding can change it: its gradient is exactly zero.

`checkpoint` around the step saves the carries alone and computes the gates again on the way back:
the same gradients from less memory.

Shapes: xs (b, t, d), mask (b, t), w {"W": (4n, d + n), "b": (4n,)}, h and c (n,).
"""

import functools

import tapeless as jax
import tapeless.numpy as jnp

INPUTS, WIDTH, LENGTHS = 3, 8, (5, 12, 9, 1)
LONGEST = max(LENGTHS)


def cell(w, carry, x):
    """Return the next carry."""
    h, c = carry
    i, f, g, o = jnp.split(w["W"] @ jnp.concatenate([x, h]) + w["b"], 4)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def last_state(w, xs, mask, saves_less=False):
    """Return the state at the end of a padded sequence.  xs: (t, d), mask: (t,) -> (n,)"""

    def step(carry, row):
        """Make one step where the mask is true."""
        x, goes_on = row
        new = cell(w, carry, x)
        return jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), new, carry), None

    start = (jnp.zeros(WIDTH), jnp.zeros(WIDTH))
    step = jax.checkpoint(step) if saves_less else step
    return jax.lax.scan(step, start, (xs, mask))[0][0]


def loss(w, xs, mask, saves_less=False):
    """Return a number that depends on all last states."""
    ends = jax.vmap(functools.partial(last_state, saves_less=saves_less), (None, 0, 0))(w, xs, mask)
    return jnp.sum(ends**2)


def data(key):
    """Return weights, padded sequences and their mask; the padding holds large numbers."""
    keys = jax.random.split(key)
    weights = 0.3 * jax.random.normal(keys[0], (4 * WIDTH, INPUTS + WIDTH))
    w = {"W": weights, "b": jnp.zeros(4 * WIDTH)}
    xs = jax.random.normal(keys[1], (len(LENGTHS), LONGEST, INPUTS))
    mask = jnp.arange(LONGEST) < jnp.array(LENGTHS)[:, None]
    return w, jnp.where(mask[..., None], xs, 1e4), mask


def temporaries(w, xs, mask, saves_less):
    """Return the bytes that the gradient needs besides its results."""
    gradient = jax.jit(jax.grad(functools.partial(loss, saves_less=saves_less)))
    return gradient.lower(w, xs, mask).compile().memory_analysis().temp_size_in_bytes


def main():
    """Compare with sequences of their own length, and print gradients and memory."""
    w, xs, mask = data(jax.random.key(0))
    padded = jax.jit(jax.vmap(last_state, (None, 0, 0)))(w, xs, mask)
    alone = [last_state(w, x[:n], jnp.ones(n, bool)) for x, n in zip(xs, LENGTHS, strict=True)]
    apart = float(jnp.max(jnp.abs(padded - jnp.stack(alone))))
    print(f"last states, padded and alone, differ by {apart:.1e}")
    slope = jax.grad(loss, 1)(w, xs, mask)
    leak = float(jnp.max(jnp.abs(jnp.where(mask[..., None], 0.0, slope))))
    print(f"largest gradient by what stands in the padding: {leak}")
    plain, checkpointed = (jax.grad(loss)(w, xs, mask, flag) for flag in (False, True))
    off = max(float(jnp.max(jnp.abs(plain[name] - checkpointed[name]))) for name in w)
    print(f"gradients with and without checkpoint differ by {off:.1e}")
    many, flags = jnp.tile(xs, (1, 50, 1)), jnp.tile(mask, (1, 50))
    memory = [temporaries(w, many, flags, flag) for flag in (False, True)]
    print(f"of long sequences they take {memory[0]:,} bytes, with checkpoint {memory[1]:,}")
    return apart, leak, off, memory


if __name__ == "__main__":
    main()
