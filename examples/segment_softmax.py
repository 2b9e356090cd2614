"""Attention over the neighbours in a graph: a softmax within each segment of an array.

    python examples/segment_softmax.py

The edges of a graph are a list, sorted or not, with the node that each one enters. The weights of
the edges that enter a node shall add up to one. With `segment_max`, `segment_sum` and indexing that
takes four lines, is stable for large scores, and can be mapped and differentiated.

Shapes: scores (e,), ids (e,), values (e, d) -> weights (e,), messages (n, d).
"""

import functools

import numpy as np

import tapeless as jax
import tapeless.numpy as jnp


@functools.partial(jax.jit, static_argnames="num_segments")
def segment_softmax(scores, ids, num_segments):
    """Return the weights of the edges: exp(score), divided by the sum of those of its segment."""
    largest = jax.ops.segment_max(scores, ids, num_segments)
    weights = jnp.exp(scores - largest[ids])
    return weights / jax.ops.segment_sum(weights, ids, num_segments)[ids]


def messages(scores, ids, values, num_segments):
    """Return what each node hears: the mean of the values on its edges."""
    weights = segment_softmax(scores, ids, num_segments=num_segments)
    return jax.ops.segment_sum(weights[:, None] * values, ids, num_segments)


def main():
    """Weigh the edges of a random graph, with scores that would overflow without care."""
    nodes, edges = 150, 400
    keys = jax.random.split(jax.random.key(0), 3)
    ids = jax.random.randint(keys[0], (edges,), 0, nodes)
    scores = 300.0 * jax.random.normal(keys[1], (edges,))
    weights = segment_softmax(scores, ids, num_segments=nodes)
    totals = jax.ops.segment_sum(weights, ids, nodes)
    entered = np.unique(ids)
    least, most = float(totals[entered].min()), float(totals[entered].max())
    print(f"weights of {edges} edges add up to {least:.6f} .. {most:.6f}")
    values = jax.random.normal(keys[2], (edges, 4))
    heard = messages(scores, ids, values, nodes)
    silent = np.setdiff1d(np.arange(nodes), entered)
    print(f"{len(silent)} nodes have no edge, and hear {float(jnp.abs(heard[silent]).sum())}")
    slope = jax.grad(lambda s: messages(s, ids, values, nodes)[:, 0].sum())(scores / 300)
    balance = float(jnp.max(jnp.abs(jax.ops.segment_sum(slope, ids, nodes))))
    print(f"raising all scores of a node changes nothing: {balance:.0e}")
    return scores, ids, weights, heard, balance


if __name__ == "__main__":
    main()
