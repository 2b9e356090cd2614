"""Functions of the library that are programs of their own: special functions, images and more."""

from typing import Any

import numpy as np

from dev.bench.programs import arrays
from dev.bench.registry import workload

__all__ = []


def below(jax: Any, bound: int, *shape: int) -> Any:
    """Return random integers below a bound."""
    return jax.numpy.asarray(np.random.default_rng(0).integers(0, bound, shape), "int32")


def probabilities(jax: Any) -> tuple:
    """Return 10^6 numbers between 0.05 and 0.95."""
    draw = np.random.default_rng(0).uniform(0.05, 0.95, 10**6)
    return (jax.numpy.asarray(draw, "float32"),)


@workload(family="special functions")
def erf(jax: Any):
    """The error function of 10^6 floats."""
    return jax.jit(jax.lax.erf), tuple(arrays(jax, (10**6,), scale=1.0))


@workload(family="special functions")
def gelu(jax: Any):
    """GELU, by the hyperbolic tangent, of 10^6 floats."""
    return jax.jit(jax.nn.gelu), tuple(arrays(jax, (10**6,), scale=1.0))


@workload(family="special functions")
def normal_quantiles(jax: Any):
    """Quantiles of the normal distribution for 10^6 probabilities."""
    return jax.jit(jax.scipy.special.ndtri), probabilities(jax)


@workload(family="special functions")
def bessel_i0(jax: Any):
    """The modified Bessel function of order 0 of 10^6 floats."""
    return jax.jit(jax.scipy.special.i0), probabilities(jax)


@workload(family="polynomial")
def polynomial(jax: Any):
    """A polynomial of degree 7 at 10^6 places."""
    return jax.jit(jax.numpy.polyval), tuple(arrays(jax, (8,), (10**6,)))


@workload(family="log-sum-exp")
def logsumexp_columns(jax: Any):
    """log-sum-exp of columns, 1000x1000."""
    f = jax.jit(lambda x: jax.nn.logsumexp(x, axis=0))
    return f, tuple(arrays(jax, (1000, 1000), scale=1.0))


@workload(family="repetition")
def tile(jax: Any):
    """A 250x250 array four times along both axes."""
    return jax.jit(lambda x: jax.numpy.tile(x, (4, 4))), tuple(arrays(jax, (250, 250)))


@workload(family="repetition")
def kronecker_product(jax: Any):
    """The Kronecker product of two 30x30 matrices."""
    return jax.jit(jax.numpy.kron), tuple(arrays(jax, (30, 30), (30, 30)))


@workload(family="gather")
def gather_pairs(jax: Any):
    """10^5 elements of a 1000x1000 array by two indices."""
    (table,) = arrays(jax, (1000, 1000))
    return jax.jit(lambda x, i, j: x[i, j]), (table, *below(jax, 1000, 2, 10**5))


@workload(family="image")
def bilinear_sampling(jax: Any):
    """A 512x512 image at 10^5 places between its points."""
    (image,) = arrays(jax, (512, 512))
    places = jax.numpy.asarray(np.random.default_rng(0).uniform(0, 500, (2, 10**5)), "float32")
    sample = jax.scipy.ndimage.map_coordinates
    return jax.jit(lambda x, at: sample(x, [at[0], at[1]], order=1)), (image, places)


@workload(family="scatter")
def scatter_max(jax: Any):
    """Maxima of 10^5 floats at 1,000 places."""
    (updates,) = arrays(jax, (10**5,))
    f = jax.jit(lambda i, u: jax.numpy.zeros(1000).at[i].max(u))
    return f, (below(jax, 1000, 10**5), updates)


@workload(family="search")
def top_k_64(jax: Any):
    """The 64 largest of each row, 100x10000."""
    return jax.jit(lambda x: jax.lax.top_k(x, 64)), tuple(arrays(jax, (100, 10_000)))


@workload(family="random")
def split_keys(jax: Any):
    """Split a key into 10^5."""
    f = jax.jit(lambda key: jax.random.key_data(jax.random.split(key, 10**5)))
    return f, (jax.random.key(0),)


@workload(family="conv gradient")
def conv_depthwise_gradient(jax: Any):
    """Gradient of a depthwise convolution by its weights, 4 images of 64 channels, 28x28."""

    def loss(w, x):
        numbers = ("NHWC", "HWIO", "NHWC")
        y = jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=64
        )
        return jax.numpy.sum(y * y)

    return jax.jit(jax.grad(loss)), tuple(arrays(jax, (3, 3, 1, 64), (4, 28, 28, 64)))


@workload(family="fft")
def fft_256(jax: Any):
    """FFT of 256 complex numbers."""
    real, imaginary = arrays(jax, (256,), (256,))
    return jax.jit(jax.numpy.fft.fft), (real + 1j * imaginary,)


@workload(family="fft")
def fft_3d(jax: Any):
    """FFT of 64x64x64 complex numbers."""
    real, imaginary = arrays(jax, (64, 64, 64), (64, 64, 64))
    return jax.jit(jax.numpy.fft.fftn), (real + 1j * imaginary,)


@workload(family="fft")
def rfft_rows(jax: Any):
    """FFT of 1,000 rows of 1,024 floats."""
    return jax.jit(jax.numpy.fft.rfft), tuple(arrays(jax, (1000, 1024)))


@workload()
def hamming(jax: Any):
    """The nearest of 512 codes of 256 bits, for each of 256."""
    jnp = jax.numpy

    def f(a, b):
        differ = jax.lax.population_count(a[:, None] ^ b[None]).sum(-1)
        return differ, jnp.argmin(differ, 1)

    draw = np.random.default_rng(0)
    codes = [draw.integers(0, 2**32, (n, 8), dtype=np.uint32) for n in (256, 512)]
    return jax.jit(f), tuple(map(jnp.asarray, codes))
