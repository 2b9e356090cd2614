"""einops: gradients through attention that is written with einsum."""

import jax
from einops import einsum, rearrange


def attention(w, x):
    q, k, v = rearrange(x @ w, "b t (three h d) -> three b h t d", three=3, h=2)
    scores = jax.nn.softmax(einsum(q, k, "b h i d, b h j d -> b h i j"))
    return rearrange(einsum(scores, v, "b h i j, b h j d -> b h i d"), "b h t d -> b t (h d)")


w = jax.random.normal(jax.random.key(0), (4, 12))
x = jax.random.normal(jax.random.key(1), (2, 5, 4))
NUMBERS = {"value": attention(w, x), "gradient": jax.grad(lambda w: attention(w, x).sum())(w)}
