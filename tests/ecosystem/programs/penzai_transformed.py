"""penzai: operations over named axes under jit and vmap."""

import jax
import jax.numpy as jnp
from penzai import pz


@jax.jit
def attend(queries, keys, values):
    scores = pz.nx.nmap(jnp.dot)(queries.untag("d"), keys.untag("d"))
    weights = pz.nx.nmap(jax.nn.softmax)(scores.untag("k")).tag("k")
    return pz.nx.nmap(jnp.dot)(weights.untag("k"), values.untag("k"))


data = jnp.sin(jnp.arange(24.0)).reshape(2, 4, 3)
queries = pz.nx.wrap(data[0], "q", "d")
keys, values = pz.nx.wrap(data[1], "k", "d"), pz.nx.wrap(jnp.cos(data[1]), "k", "e")
out = attend(queries, keys, values)
rows = jax.vmap(lambda row: (pz.nx.wrap(row, "a", "b") + pz.nx.arange("b", 3)).unwrap("a", "b"))
NUMBERS = {
    "attention": out.order_as("q", "e").unwrap("q", "e"),
    "gradient": jax.grad(lambda v: attend(queries, keys, v).untag("q", "e").unwrap().sum())(
        values
    ).unwrap("k", "e"),
    "rows": rows(data),
}
