"""jraph: a graph network on a batch of two graphs."""

import jax.numpy as jnp
import jraph


def graph(n, senders, receivers):
    return jraph.GraphsTuple(
        nodes=jnp.arange(2.0 * n).reshape(n, 2), edges=jnp.ones((len(senders), 1)),
        senders=jnp.array(senders), receivers=jnp.array(receivers),
        n_node=jnp.array([n]), n_edge=jnp.array([len(senders)]), globals=jnp.ones((1, 1)),
    )  # fmt: skip


batch = jraph.batch([graph(3, [0, 1, 2], [1, 2, 0]), graph(2, [0, 1], [1, 0])])
network = jraph.GraphNetwork(
    update_edge_fn=lambda edge, sent, received, globals_: edge + sent.sum(-1, keepdims=True),
    update_node_fn=lambda node, sent, received, globals_: node + received,
    update_global_fn=lambda nodes, edges, globals_: globals_ + nodes.sum(-1, keepdims=True),
)
result = network(batch)
padded = jraph.pad_with_graphs(batch, 8, 8, 4)
NUMBERS = {
    "nodes": result.nodes, "edges": result.edges, "globals": result.globals,
    "padding": jraph.get_node_padding_mask(padded), "sizes": padded.n_node,
}  # fmt: skip
